/* SPDX-License-Identifier: Apache-2.0
 *
 * The entry object: one servant for all endpoints of the process. The port of the incoming connection
 * selects the endpoint. */
#ifndef ORB_ENTRY_H
#define ORB_ENTRY_H

#include "orb/transport.h"

/* Activates the entry object, so that endpoints can be added. Throws. */
void entry_activate(OrbTransport &transport);

/* Deactivates it, before the ORB ends. */
void entry_deactivate();

/* Opens the port ("host:port", port 0: any free one) and fills endpoint.port and .server. ESP_SYSTEM when
 * that fails. */
enum esp_status entry_listen(OrbTransport &transport, const char *listen, Endpoint &endpoint,
                             struct esp_error *error);
/* Starts accepting requests. */
void entry_start(Endpoint &endpoint);
/* Stops listening and closes the endpoint's connections. */
void entry_stop(Endpoint &endpoint);

#endif
