/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of disjoint ranges: the bytes of an argument that have arrived. Chunks that overlap or come twice
 * count once. */
#ifndef UTIL_RANGES_H
#define UTIL_RANGES_H

#include "util/error.h"
#include <stdbool.h>
#include <stdint.h>

#define RANGES_MOST 4096 /* most ranges with gaps between them: chunks come roughly in order */

struct range {
    uint64_t from, to; /* to: after the last byte */
};

/* All zero: nothing has arrived. */
struct ranges {
    struct range *items; /* ascending, disjoint, with gaps */
    uint32_t n, capacity;
};

/* Adds [from, to). ESP_LIMIT when there are too many ranges, ESP_NO_MEMORY; the set is unchanged then. */
enum esp_status ranges_add(struct ranges *ranges, uint64_t from, uint64_t to, struct esp_error *error);

/* Whether all of [0, total) is in the set; else sets *gap to the first gap. */
bool ranges_cover(const struct ranges *ranges, uint64_t total, struct range *gap);

/* Frees the ranges; the set is empty. */
void ranges_clear(struct ranges *ranges);

#endif
