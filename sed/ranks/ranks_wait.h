/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes how long a call waits for consecutive ranks. Pure; any thread. */
#ifndef SED_RANKS_WAIT_H
#define SED_RANKS_WAIT_H

#include <stdint.h>

/* A span of ranks that are busy for that much longer. */
struct busy {
    uint32_t first, n;
    double left_s;
};

/* Returns the seconds until any `wanted` consecutive ranks of `ranks` are free; INFINITY: there are not so
 * many. The n spans do not overlap. */
double ranks_wait_s(const struct busy *busy, uint32_t n, uint32_t ranks, uint32_t wanted);

#endif
