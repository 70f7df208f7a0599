/* SPDX-License-Identifier: Apache-2.0
 *
 * Sounding links: before its first great request a client that has not made a transfer to a server yet
 * measures its link there by a greeting with ballast; before one of many bytes, its way to the agent.
 */
#ifndef CLIENT_LINK_SOUND_H
#define CLIENT_LINK_SOUND_H

#include "client/session/session.h"

/* Requests of so many bytes, both ways, are great: their transfer may decide where they go. */
#define LINK_GREAT_BYTES (4 << 20)
/* With so many it is worth to glance at the way to the agent first (client/session/access.h). */
#define LINK_MANY_BYTES (256 << 10)

/* Before a great request (a MESSAGE_SUBMIT, whose extensions stay as they are): measures what is not known of
 * the links to the best servers for it, as the agents forecast it; at most LINK_SOUND_MOST of them, in
 * LINK_SOUND_MOST_S about, and once in LINK_SOUND_AGAIN_S. Nothing happens for small requests, for one server
 * that is named; on loopback the rate of this host's memory is enough, which calls of fewer bytes than that
 * do without. What cannot be measured stays unknown. Any thread. */
#define LINK_SOUND_MOST    8
#define LINK_SOUND_MOST_S  2
#define LINK_SOUND_AGAIN_S 60
void links_sound(struct engine *engine, const struct message *submit);

/* A glance (client/session/sounding.h) at the link to that address. */
bool link_glance(struct engine *engine, const char *address, double most_s, double *trip_s, double *rate_bps);
bool link_is_loopback(const char *address);

#endif
