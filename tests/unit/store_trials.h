/* SPDX-License-Identifier: Apache-2.0
 *
 * A store whose life ends at random, again and again: tests try it some times, the benchmark many times.
 */
#ifndef TESTS_STORE_TRIALS_H
#define TESTS_STORE_TRIALS_H

#include <stdint.h>

struct trial {
    uint64_t ends;    /* how often its life ended */
    uint64_t kept;    /* data that were looked at after a start and had been acknowledged before */
    uint64_t lost;    /* acknowledged, and not there */
    uint64_t wrong;   /* a wrong byte */
    uint64_t risen;   /* deleted, and there again */
    uint64_t strange; /* there, and never put; a file that was set aside; a start that failed */
};

/* The power goes at random operations of the disk, which loses what was not synced; about so many of a
 * thousand operations fail besides. Adds to the trial. */
void trial_power_cuts(uint64_t seed, unsigned ends, unsigned faults_per_mille, struct trial *trial);

/* A process that puts, gets and deletes in four threads, over real files in `folder` (empty at first), is
 * killed at random times. */
void trial_kills(const char *folder, uint64_t seed, unsigned ends, struct trial *trial);

#endif
