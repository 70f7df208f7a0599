/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches connections between requests: of clients that move data piece by piece (between two pieces no
 * thread of the ORB reads the connection), and of nodes that post here. When the connection closes, the
 * node learns of it at once (endpoint_ops.parted, endpoint_ops.hung_up). */
#ifndef ORB_PRESENCE_H
#define ORB_PRESENCE_H

#include "orb/transport.h"

/* Called on the thread that serves the connection. */

/* A piece of that session has arrived on it. */
void presence_note_mover(Endpoint &endpoint, omni::giopConnection *connection,
                         const struct session_id &session);
/* A client waits on it for an answer about its sessions. When its machine is disconnected, or the client
 * closes the connection, endpoint_ops.parted is called with sequence 0: for the client, and none of its
 * sessions. */
void presence_note_asker(Endpoint &endpoint, omni::giopConnection *connection,
                         const struct session_id &session);
/* Posts of that incarnation of the node arrive on it. */
void presence_note_speaker(Endpoint &endpoint, omni::giopConnection *connection, const struct envelope &from);

/* Stops reporting. Call it before the ORB ends. */
void presence_stop();

#endif
