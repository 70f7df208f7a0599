/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/data_strings.h"

#include "client/library.h"
#include "core/problem/texts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static enum esp_status pack(const char *const *strings, int64_t n, void **value, uint64_t *bytes,
                            struct esp_error *error)
{
    if (n < 0 || n > TEXTS_MOST)
        return error_set(error, ESP_LIMIT, "expected an array of at most %d strings, found one of %lld",
                         TEXTS_MOST, (long long)n);
    struct text_item *items = calloc(n ? (size_t)n : 1, sizeof *items);
    enum esp_status status = items ? ESP_OK : error_no_memory(error, "an array of strings");
    for (int64_t i = 0; status == ESP_OK && i < n; i++) {
        if (strings && strings[i])
            items[i] = (struct text_item){.bytes = strings[i], .length = strlen(strings[i])};
        else
            status =
                error_set(error, ESP_INVALID, "expected %lld strings, found a null pointer as number %lld",
                          (long long)n, (long long)i + 1);
    }
    if (status == ESP_OK)
        status = texts_pack(items, (uint64_t)n, value, bytes, error);
    free(items);
    return status;
}

enum esp_status data_put_strings(struct engine *engine, const char *server, const char *const *strings,
                                 int64_t n, enum esp_data_mode mode, struct data_told told, char *id,
                                 struct esp_error *error)
{
    char address[CAP_ADDRESS + 1];
    void *value = NULL;
    struct datum_info datum = {
        .type = TYPE_STRING, .dims = &n, .n_dims = 1, .mode = mode, .created_s = (int64_t)time(NULL)};
    enum esp_status status = pack(strings, n, &value, &datum.bytes, error);
    if (status == ESP_OK)
        status = engine_await_name(engine, server, address, error);
    if (status == ESP_OK)
        status = data_put(engine, server, address, &datum, value, told, id, error);
    free(value);
    return status;
}

/* The pointers, and behind them what they lead to. */
static char **unpack(const void *value, uint64_t bytes, uint64_t n)
{
    struct text_item item = {0};
    char **strings = malloc((size_t)((n + 1) * sizeof *strings + bytes));
    char *at = (char *)(strings + n + 1);
    for (uint64_t i = 0; strings && i < n; i++) {
        texts_next(value, i, &item);
        strings[i] = memcpy(at, item.bytes, (size_t)item.length + 1);
        at += item.length + 1;
    }
    if (strings)
        strings[n] = NULL;
    return strings;
}

enum esp_status esp_data_get_strings(const char *id, char ***strings, size_t *n)
{
    struct esp_error *error = library_error();
    void *value = NULL;
    uint64_t bytes, count = 0;
    if (!id || !strings || !n)
        return error_set(error, ESP_INVALID, "expected an identity and places for the strings, found NULL");
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status = data_get_strings(library->engine, id, &value, &bytes, &count, error);
    if (status == ESP_OK && !(*strings = unpack(value, bytes, count)))
        status = error_no_memory(error, "an array of strings");
    if (status == ESP_OK)
        *n = (size_t)count;
    free(value);
    library_leave(status == ESP_OK);
    return status;
}
