/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures links. Before its first large request, a client that has not made a transfer to a server yet
 * measures its link to it by a greeting with ballast. Before a request of medium size it measures its way
 * to the agent.
 */
#ifndef CLIENT_LINK_SOUND_H
#define CLIENT_LINK_SOUND_H

#include "client/session/session.h"

/* Requests of so many bytes, both ways, are large: their transfer may decide the choice of the server. */
#define LINK_GREAT_BYTES (4 << 20)
/* For requests of so many bytes, a short measurement of the way to the agent is worth it
 * (client/session/access.h). */
#define LINK_MANY_BYTES (256 << 10)

/* Called before a large request (a MESSAGE_SUBMIT, whose extensions stay unchanged): measures unknown
 * links to the best servers by the agents' forecast. Measures at most LINK_SOUND_MOST links, for about
 * LINK_SOUND_MOST_S, and once in LINK_SOUND_AGAIN_S. Does nothing for small requests, and for requests
 * that name one server. On loopback it takes the rate of this host's memory, unless the request has fewer
 * bytes than that matters for. A link that cannot be measured stays unknown. Any thread. */
#define LINK_SOUND_MOST    8
#define LINK_SOUND_MOST_S  2
#define LINK_SOUND_AGAIN_S 60
void links_sound(struct engine *engine, const struct message *submit);

/* Measures the link to that address briefly (client/session/sounding.h). */
bool link_glance(struct engine *engine, const char *address, double most_s, double *trip_s, double *rate_bps);
bool link_is_loopback(const char *address);

#endif
