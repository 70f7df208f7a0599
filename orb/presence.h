/* SPDX-License-Identifier: Apache-2.0
 *
 * Who moves data here, piece by piece: between two pieces no thread of the ORB waits for the mover. When its
 * connection closes the node hears of it within a second (endpoint_ops.parted).
 */
#ifndef ORB_PRESENCE_H
#define ORB_PRESENCE_H

#include "orb/transport.h"

/* A piece of that session has come, or went, on this connection. */
void presence_note(Endpoint &endpoint, cdrStream &stream, const struct session_id &session);
/* Nobody is told any more. Before the ORB goes. */
void presence_stop();

#endif
