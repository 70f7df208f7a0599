/* SPDX-License-Identifier: Apache-2.0
 *
 * Bays: memory in a worker's ring where each small array of a call has its own pages, with unmapped memory
 * before and after them. They are mapped once, when the worker starts, so a call only pays for the fence
 * in the unused part of its bays.
 *
 * There are BAYS_TOTAL bytes of bays of each size, from 4 KiB on, each size twice the one before. Arrays
 * of BAYS_TOTAL bytes in all find places, unless many fill little more than half of their bays. */
#ifndef SED_BAYS_H
#define SED_BAYS_H

#include "sed/pool/workers.h"

#define BAY_LEAST_BYTES 4096
#define BAYS_TOTAL      WORKERS_INLINE_BYTES           /* of each size: the largest bay has all */
#define BAYS_OF_LEAST   (BAYS_TOTAL / BAY_LEAST_BYTES) /* a power of 2 */
#define BAYS            (2 * BAYS_OF_LEAST - 1)        /* 63: a word has a bit for each */
#define BAYS_BYTES      (BAYS_TOTAL * (uint64_t)BAYS_SIZES)
#define BAYS_SIZES      6
_Static_assert(BAYS_OF_LEAST == 1 << (BAYS_SIZES - 1), "the largest bay is one");

/* Return the bytes of bay `i` < BAYS, and its offset from the first one. */
uint32_t bay_bytes(uint32_t i);
uint32_t bay_offset(uint32_t i);

/* Takes the smallest free bay for that many bytes and marks it in *used (a bit each). -1: there is none,
 * or the pages of this machine are larger than the least bay. */
int32_t bay_take(uint64_t *used, uint64_t bytes);

#endif
