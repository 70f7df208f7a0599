/* SPDX-License-Identifier: Apache-2.0
 *
 * Servers that have, or may have, copies of the states that a call saves: EXTENSION_KEEPERS.
 */
#ifndef CLIENT_KEEPERS_H
#define CLIENT_KEEPERS_H

#include "client/session/session.h"

/* Adds candidates, the next ones first, to those of session->keepers that earlier calls named. The server
 * that is called is a copy holder only for the others. If there are no other candidates, servers below
 * other master agents are looked for, once in a session, for about a second at most. Best effort: without
 * memory or without an answer there are fewer. Called by the session's runner. */
void keepers_note(struct session *session);

#endif
