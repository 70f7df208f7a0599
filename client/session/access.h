/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's way to the master agent that it asks first. What the client does not know of its way to a server
 * is that way, and on through the agents: the shortest path over what was measured. How long it is tell all
 * answers of the agent; its rate, greetings with some ballast before the first request of many bytes.
 */
#ifndef CLIENT_ACCESS_H
#define CLIENT_ACCESS_H

#include "client/session/session.h"

/* What the way adds to a request is told from here on. */
#define ACCESS_WORTH_S 1e-3

/* What is known of it; a rate of 0 is not. Unknown: the agent has not answered yet. Any thread. */
struct path access_path(struct engine *engine);

/* Tells it in a request of so many bytes there and back (core/forecast/told_links.h), where it adds anything
 * to them, or where that is compared with links that are told (`compared`). False without memory. Costs a
 * small call of a client that is near nothing. Any thread. */
bool access_tell(struct engine *engine, struct request *request, bool compared, struct arena *arena);

/* Looks for the rate, if it is not known: in ACCESS_SOUND_MOST_S about, or as long as one greeting takes on a
 * slow way; once in ACCESS_SOUND_AGAIN_S. On loopback that is the rate at which this host moves data within
 * its memory (services/nws/host_rate.h). Any thread. */
#define ACCESS_SOUND_MOST_S  0.3
#define ACCESS_SOUND_AGAIN_S 60
void access_sound(struct engine *engine);

#endif
