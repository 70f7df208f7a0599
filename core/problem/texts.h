/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of strings and of files as one value on the wire: their number, the length of each, and their
 * bytes, each followed by a 0 that its length does not count.
 *
 *   uint64 count | uint64 length[count] | bytes 0 | bytes 0 | ... */
#ifndef CORE_TEXTS_H
#define CORE_TEXTS_H

#include "util/error.h"
#include <stdbool.h>
#include <stdint.h>

#define TEXTS_MOST       (1 << 20)  /* elements of one array */
#define TEXTS_MOST_BYTES (64 << 20) /* of an array that a routine returns */

struct text_item {
    const char *bytes; /* followed by a 0 */
    uint64_t length;
};

/* Packs n items; the caller frees *value. ESP_LIMIT, ESP_SYSTEM (memory). */
enum esp_status texts_pack(const struct text_item *items, uint64_t n, void **value, uint64_t *bytes,
                           struct esp_error *error);

/* Checks that the value has n elements, and (`strings`) that none of them contains a byte 0. ESP_INVALID
 * says what was expected and found; callers put the argument's name in front. */
enum esp_status texts_check(const void *value, uint64_t bytes, uint64_t n, bool strings,
                            struct esp_error *error);

/* Iterates over a checked value: call it with index 0 and a zeroed item, then with 1 and so on and the
 * item of the call before. */
void texts_next(const void *value, uint64_t index, struct text_item *item);

#endif
