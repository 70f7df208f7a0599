/* SPDX-License-Identifier: Apache-2.0
 *
 * The rate of a link, by what its last transfers and calls have told (client/session/link.h), for so many
 * bytes. All of it with the link's lock.
 */
#ifndef CLIENT_LINK_RATES_H
#define CLIENT_LINK_RATES_H

#include "client/session/link.h"
#include "core/choice/aggregate.h"

/* A rate is wrong that is exceeded so many times. */
#define RATE_MORE 1.2

/* Calls tell of requests of so many times their bytes; of longer ones, the least that the rate may be: a part
 * of what they took was none of the link. */
#define CALLS_REACH 4

/* What calls tell of so many bytes (0: of the longest one's). */
struct called_rate {
    double bps;     /* 0: nothing */
    uint64_t bytes; /* of the longest one that told it */
    bool is_least;  /* it may be more */
};

#endif
