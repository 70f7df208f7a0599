/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers: from the operating system for identities and secrets, and from a seeded generator that
 * is passed in, so that a simulation can be repeated.
 */
#ifndef UTIL_RANDOM_H
#define UTIL_RANDOM_H

#include "util/error.h"
#include <stddef.h>
#include <stdint.h>

/* Fills `bytes` bytes with unpredictable numbers. ESP_SYSTEM when the system has none. Any thread. */
enum esp_status random_bytes(void *data, size_t bytes, struct esp_error *error);

/* xoshiro256** (Blackman and Vigna, 2018): fast and repeatable, never for secrets. A plain value; one
 * thread at a time. */
struct random {
    uint64_t state[4];
};

/* Any seed works, including 0 (the state is filled by splitmix64). */
void random_seed(struct random *random, uint64_t seed);

uint64_t random_next(struct random *random);
/* Returns a uniform number in 0 <= x < bound, without bias; 0 when bound is 0. */
uint64_t random_below(struct random *random, uint64_t bound);
/* Returns a uniform number in 0 <= x < 1, with 53 bits. */
double random_real(struct random *random);

#endif
