/* SPDX-License-Identifier: Apache-2.0
 *
 * How much strangers may hold: connections in all and per host, and time without a complete request.
 *
 * When all places are taken, a newcomer gets that of the connection that does least for the host that has
 * most: one that has never said anything sensible, else the one that has been silent for longest. Only when
 * all of them are being served is the newcomer refused. Whose idle connection is closed dials again and does
 * not notice.
 */
#ifndef ORB_LIMITS_H
#define ORB_LIMITS_H

#include <stdint.h>

/* Seconds after which a connection on which no request was completed is closed, here and at the other end.
 * The asking side goes first, so that an idle connection is not closed under a request. */
#define IDLE_INCOMING_S 90
#define IDLE_OUTGOING_S 60

struct limits {
    unsigned connections, per_peer;
    /* Within which the first request of a connection must be there (8 kB of it, if it is longer). */
    int64_t first_message_ms;
    /* Within which a request that has begun to arrive must be complete, and a reply taken. */
    int64_t stalled_ms;
};

/* How many of so many connections can be: with no descriptor left, the thread that accepts them would turn in
 * vain, and no worker, file or question to others could be opened. Raises the process's own limit as far as
 * it needs and may; where that is not enough the log says so. */
unsigned limits_places(unsigned connections);

/* From now on. Call it once the ORB is there, and limits_stop() before it goes. What is closed or refused is
 * logged, a few lines in each second. */
void limits_start(const struct limits &limits);
void limits_stop();

#endif
