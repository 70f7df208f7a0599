/* SPDX-License-Identifier: Apache-2.0
 *
 * How much strangers may hold: connections in all and per host, and time without a complete request.
 */
#ifndef ORB_LIMITS_H
#define ORB_LIMITS_H

/* Seconds after which a connection on which no request was completed is closed, here and at the other end.
 * The asking side goes first, so that an idle connection is not closed under a request. */
#define IDLE_INCOMING_S 90
#define IDLE_OUTGOING_S 60
/* Seconds within which a request that has begun to arrive must be complete, and a reply taken. */
#define STALLED_S 120

/* From now on. Call it once the ORB is there, and limits_stop() before it goes. */
void limits_start(unsigned connections, unsigned connections_per_peer);
void limits_stop();

#endif
