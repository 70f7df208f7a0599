/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of strings and of files as one value, as they travel: how many there are, the length of each, and
 * their bytes, each with a 0 behind it that its length does not count.
 *
 *   uint64 count | uint64 length[count] | bytes 0 | bytes 0 | ...
 */
#ifndef CORE_TEXTS_H
#define CORE_TEXTS_H

#include "util/error.h"
#include <stdbool.h>
#include <stdint.h>

#define TEXTS_MOST       (1 << 20)  /* elements of one array */
#define TEXTS_MOST_BYTES (64 << 20) /* of an array that a routine gives back */

struct text_item {
    const char *bytes; /* followed by a 0 */
    uint64_t length;
};

/* Makes the value of n items; *value is the caller's (free). ESP_LIMIT, ESP_SYSTEM (memory). */
enum esp_status texts_pack(const struct text_item *items, uint64_t n, void **value, uint64_t *bytes,
                           struct esp_error *error);

/* Whether the value is one of n elements, and (`strings`) none of them has a byte 0 in it. ESP_INVALID says
 * what was expected and found; callers put the argument's name in front. */
enum esp_status texts_check(const void *value, uint64_t bytes, uint64_t n, bool strings,
                            struct esp_error *error);

/* Goes through a value that was checked: with index 0 and an item of zeros, then 1 and so on with what the
 * call before left. */
void texts_next(const void *value, uint64_t index, struct text_item *item);

#endif
