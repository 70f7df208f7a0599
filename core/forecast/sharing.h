/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes how long a transfer would have taken alone on a link that it shared with others: a clock that
 * runs slower the more transfers are active. (Two transfers at a time, each taking the time of both, do
 * not make the link half as fast.) Not thread-safe: the owner's lock. */
#ifndef CORE_SHARING_H
#define CORE_SHARING_H

#include <stdint.h>

/* All-zero: no transfer. */
struct sharing {
    double own_ns; /* reading of the slowed clock */
    int64_t since_ns;
    unsigned n; /* under way */
};

/* Starts a transfer; returns the clock's reading, for sharing_end(). */
double sharing_begin(struct sharing *sharing, int64_t now_ns);
/* Ends a transfer; returns the seconds it would have taken alone. */
double sharing_end(struct sharing *sharing, int64_t now_ns, double begun_ns);

#endif
