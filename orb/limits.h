/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits the resources that unknown peers can occupy: connections in all and per host, and time without a
 * complete request.
 *
 * When all places are taken, a new connection replaces the least active connection of the host with the
 * most connections: one without any valid request, else the one silent for longest. If all are being
 * served, the new one is refused. A peer whose idle connection was closed reconnects unnoticed. */
#ifndef ORB_LIMITS_H
#define ORB_LIMITS_H

#include <stdint.h>

/* Seconds after which a connection without a completed request is closed, on the accepting and on the
 * connecting side. The connecting side closes first, so that no request meets a connection that is being
 * closed. */
#define IDLE_INCOMING_S 90
#define IDLE_OUTGOING_S 60

struct limits {
    unsigned connections, per_peer;
    /* Time for the first request of a connection to arrive (8 kB of it, if it is longer). */
    int64_t first_message_ms;
    /* Time for a request that has begun to arrive completely, and for a reply to be read. */
    int64_t stalled_ms;
};

/* Returns how many of the wanted connections are possible. Without free descriptors, the accepting thread
 * would loop, and no worker, file or connection could be opened. Raises the process's own limit as far as
 * needed and allowed; logs when that is not enough. */
unsigned limits_places(unsigned connections);

/* Applies the limits from now on. Call it once the ORB exists, and limits_stop() before it ends. Closed or
 * refused connections are logged, a few lines per second. */
void limits_start(const struct limits &limits);
void limits_stop();

#endif
