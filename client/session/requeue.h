/* SPDX-License-Identifier: Apache-2.0
 *
 * A session that waits in a server's queue longer than the placement promised. The session asks the agents
 * for a server on which it ends much sooner. If there is one, the client asks the present server to give the
 * session back, which the server does only if it has not begun the session. So the session is never computed
 * twice, and a problem that may not be repeated moves, too. After each try, the session waits twice as long
 * until the next one.
 */
#ifndef CLIENT_REQUEUE_H
#define CLIENT_REQUEUE_H

#include "client/session/session.h"

/* Looks for another server, and moves the session there if it ends much sooner there. Returns whether the
 * session has left its server, or has ended. Called by its runner; may block for about a second. */
bool requeue_try(struct session *session);

#endif
