/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's way to the master agent that it asks first. If the client does not know its way to a
 * server, it takes the way to the agent and from there the shortest measured path. The length of the way
 * follows from all answers of the agent. Its rate is measured by greetings with ballast before the first
 * large request.
 */
#ifndef CLIENT_ACCESS_H
#define CLIENT_ACCESS_H

#include "client/session/session.h"

/* A way that adds at least this to a request is sent with the request. */
#define ACCESS_WORTH_S 1e-3

/* Returns what is known of the way. A rate of 0 is unknown; the whole path is unknown until the agent has
 * answered. Any thread. */
struct path access_path(struct engine *engine);

/* Adds the way to a request that moves `bytes` to the server and back (core/forecast/told_links.h). Adds
 * it only if it makes a difference for such a request, or if it is compared with links that the request
 * carries (`compared`). Returns false without memory. For a client near the agent the cost is negligible.
 * Any thread. */
bool access_tell(struct engine *engine, struct request *request, bool compared, struct arena *arena);

/* Measures the rate if it is not known: for about ACCESS_SOUND_MOST_S, or as long as one greeting takes on
 * a slow way, once in ACCESS_SOUND_AGAIN_S. On loopback the rate is that of this host's memory
 * (services/nws/host_rate.h). Any thread. */
#define ACCESS_SOUND_MOST_S  0.3
#define ACCESS_SOUND_AGAIN_S 60
void access_sound(struct engine *engine);

#endif
