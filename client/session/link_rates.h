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
struct called_rate rate_of_calls(const struct link *link, double bytes);

/* The median of the last transfers in that direction: one that shared the link with others does not count for
 * more. Long ones tell better than short ones, but the longest is not to decide alone. 0: there was none. */
double rate_of_transfers(const struct link *link, bool there);

/* What is slower is held up by a link, which has one rate for all sizes. */
bool rate_depends_on_size(double rate_bps);
/* That rate, or the one of such sizes, where it depends on them. */
double rate_at_size(double rate_bps, const struct size_rates *sizes, uint64_t bytes);
/* Gives the path the rates for so many bytes, where these depend on that. */
void rates_fit(struct path *path, const struct size_rates sizes[2], const struct request_bytes *bytes);

#endif
