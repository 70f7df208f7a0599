/* SPDX-License-Identifier: Apache-2.0
 *
 * The entry object: one servant for all endpoints of the process. Which endpoint is meant tells the port at
 * which the connection came in.
 */
#ifndef ORB_ENTRY_H
#define ORB_ENTRY_H

#include "orb/transport.h"

/* Activates the entry object, so that endpoints can be added. Throws. */
void entry_activate(OrbTransport &transport);

/* The same back, before the ORB goes. */
void entry_deactivate();

/* Takes the port ("host:port", port 0: any free one) and fills endpoint.port and .server. ESP_SYSTEM when it
 * is not to be had. */
enum esp_status entry_listen(OrbTransport &transport, const char *listen, Endpoint &endpoint,
                             struct esp_error *error);
/* From now on requests come in. */
void entry_start(Endpoint &endpoint);
/* Stops listening and closes the endpoint's connections. */
void entry_stop(Endpoint &endpoint);

#endif
