/* SPDX-License-Identifier: Apache-2.0
 *
 * The rate of a link for a given size, by its last transfers and calls (client/session/link.h). All
 * functions are called with the link's lock.
 */
#ifndef CLIENT_LINK_RATES_H
#define CLIENT_LINK_RATES_H

#include "client/session/link.h"
#include "core/choice/aggregate.h"

/* A rate that a transfer exceeds by this factor is wrong. */
#define RATE_MORE 1.2

/* Calls give rates for sizes up to so many times their own. For larger sizes the rate is a lower bound,
 * because part of a call's time was not the link's. */
#define CALLS_REACH 4

/* The rate by calls for so many bytes (0: for the size of the longest one). */
struct called_rate {
    double bps;     /* 0: not known */
    uint64_t bytes; /* of the longest call that gave it */
    bool is_least;  /* it is a lower bound */
};

#endif
