/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/texts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t load(const void *value, uint64_t index)
{
    uint64_t number;
    memcpy(&number, (const char *)value + index * sizeof number, sizeof number);
    return number;
}

enum esp_status texts_pack(const struct text_item *items, uint64_t n, void **value, uint64_t *bytes,
                           struct esp_error *error)
{
    uint64_t size = sizeof size;
    if (n > TEXTS_MOST)
        return error_set(error, ESP_LIMIT, "an array has at most %d strings or files, this one has %" PRIu64,
                         TEXTS_MOST, n);
    for (uint64_t i = 0; i < n; i++)
        if (__builtin_add_overflow(size, items[i].length + 1 + sizeof size, &size) || size > INT64_MAX)
            return error_set(error, ESP_LIMIT, "strings of more bytes than 64 bits can count");
    char *made = malloc(size);
    if (!made)
        return error_no_memory(error, "an array of strings");
    memcpy(made, &n, sizeof n);
    char *at = made + (n + 1) * sizeof n;
    for (uint64_t i = 0; i < n; i++) {
        memcpy(made + (i + 1) * sizeof n, &items[i].length, sizeof n);
        if (items[i].length > 0)
            memcpy(at, items[i].bytes, items[i].length);
        at[items[i].length] = 0;
        at += items[i].length + 1;
    }
    *value = made;
    *bytes = size;
    return ESP_OK;
}

enum esp_status texts_check(const void *value, uint64_t bytes, uint64_t n, bool strings,
                            struct esp_error *error)
{
    uint64_t head = (n + 1) * sizeof n;
    if (n > TEXTS_MOST || bytes < sizeof n || load(value, 0) != n)
        return error_set(error, ESP_INVALID,
                         "expected %" PRIu64 " elements (at most %d), found %" PRIu64 " in %" PRIu64 " bytes",
                         n, TEXTS_MOST, bytes < sizeof n ? 0 : load(value, 0), bytes);
    if (bytes < head)
        return error_set(error, ESP_INVALID,
                         "the lengths of %" PRIu64 " elements take more than %" PRIu64 " bytes", n, bytes);
    const char *at = (const char *)value + head;
    uint64_t left = bytes - head;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t length = load(value, i + 1);
        if (length >= left || at[length] != 0)
            return error_set(error, ESP_INVALID,
                             "element %" PRIu64 " is said to have %" PRIu64 " bytes, %" PRIu64 " are left",
                             i + 1, length, left);
        if (strings && memchr(at, 0, length))
            return error_set(error, ESP_INVALID, "element %" PRIu64 " has a byte 0 in it", i + 1);
        at += length + 1;
        left -= length + 1;
    }
    return left == 0 ? ESP_OK
                     : error_set(error, ESP_INVALID, "%" PRIu64 " bytes behind the last element", left);
}

void texts_next(const void *value, uint64_t index, struct text_item *item)
{
    item->bytes = item->bytes ? item->bytes + item->length + 1
                              : (const char *)value + (load(value, 0) + 1) * sizeof(uint64_t);
    item->length = load(value, index + 1);
}
