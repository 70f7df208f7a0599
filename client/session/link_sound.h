/* SPDX-License-Identifier: Apache-2.0
 *
 * Sounding links: before its first great request a client that has not made a transfer to a server yet
 * measures its link there by a greeting with ballast, so that the way of the agents is not taken for its own.
 */
#ifndef CLIENT_LINK_SOUND_H
#define CLIENT_LINK_SOUND_H

#include "client/session/session.h"

/* Requests of so many bytes, both ways, are great: their transfer may decide where they go. */
#define LINK_GREAT_BYTES (4 << 20)

/* Measures what is not known of the links to the best servers for the request (a MESSAGE_SUBMIT, whose
 * extensions stay as they are), as the agents forecast it; at most LINK_SOUND_MOST of them, in
 * LINK_SOUND_MOST_S about, and once in LINK_SOUND_AGAIN_S. Nothing happens for small requests, for one server
 * that is named, and on loopback. What cannot be measured stays unknown. Any thread. */
#define LINK_SOUND_MOST    8
#define LINK_SOUND_MOST_S  2
#define LINK_SOUND_AGAIN_S 60
void links_sound(struct engine *engine, const struct message *submit);

#endif
