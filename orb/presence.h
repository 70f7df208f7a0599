/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is at the other end of a connection, while nothing comes on it: who moves data here piece by piece, for
 * whom no thread of the ORB waits between two pieces, and which node posts here. When the connection closes
 * the node hears of it at once (endpoint_ops.parted, endpoint_ops.hung_up).
 */
#ifndef ORB_PRESENCE_H
#define ORB_PRESENCE_H

#include "orb/transport.h"

/* On the thread that serves the connection. */

/* A piece of that session has come on it. */
void presence_note_mover(Endpoint &endpoint, omni::giopConnection *connection,
                         const struct session_id &session);
/* A client waits on it for an answer about its sessions. When its machine is cut off, or the client closes
 * the connection, endpoint_ops.parted is told with sequence 0: of the client, and of none of its sessions. */
void presence_note_asker(Endpoint &endpoint, omni::giopConnection *connection,
                         const struct session_id &session);
/* Posts of that node, that incarnation of it, come on it. */
void presence_note_speaker(Endpoint &endpoint, omni::giopConnection *connection, const struct envelope &from);

/* Nobody is told any more. Before the ORB goes. */
void presence_stop();

#endif
