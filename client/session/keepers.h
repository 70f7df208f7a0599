/* SPDX-License-Identifier: Apache-2.0
 *
 * Servers that keep, or may keep, copies of the states that a call saves: EXTENSION_KEEPERS.
 */
#ifndef CLIENT_KEEPERS_H
#define CLIENT_KEEPERS_H

#include "client/session/session.h"

/* Candidates, the next ones first, join those of session->keepers that earlier calls named; who is called now
 * is one, too, but only for others. Where there is nobody else, servers below other master agents are looked
 * for, once in a session: a second or so at most. Best effort: without memory, or without an answer, there
 * are fewer. By the session's runner. */
void keepers_note(struct session *session);

#endif
