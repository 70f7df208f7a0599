/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a call waits for ranks that follow each other. Pure; any thread.
 */
#ifndef SED_RANKS_WAIT_H
#define SED_RANKS_WAIT_H

#include <stdint.h>

/* Ranks that are with a call for so long yet. */
struct busy {
    uint32_t first, n;
    double left_s;
};

/* In how many seconds any `wanted` of `ranks` ranks that follow each other are free; INFINITY: there are not
 * so many. None of the n spans has a rank of another one. */
double ranks_wait_s(const struct busy *busy, uint32_t n, uint32_t ranks, uint32_t wanted);

#endif
