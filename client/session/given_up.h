/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions on a silent server: one that is stopped, frozen or cut off. It may continue at any time with
 * all its sessions, so the sessions wait for it. If agents have lost the server, too, and know another
 * server for a session that may be executed again, the session is given up on the silent server and called
 * elsewhere under a new identity. Results of the old one are not used. When the silent server answers
 * again, the client sends it EXTENSION_GIVEN_UP.
 */
#ifndef CLIENT_GIVEN_UP_H
#define CLIENT_GIVEN_UP_H

#include "client/session/session.h"

/* Returns how long an answer may take that a working server gives within `patience_ms`, after `unanswered`
 * requests in a row without an answer in time. The first answers have a short limit, which soon shows a
 * silent server. Later ones have a longer limit, because behind a slow line or on a busy machine one of
 * them still arrives. With answer_patience 0 the limit is call_timeout. */
int64_t given_up_answer_ms(const struct engine *engine, unsigned unanswered, int64_t patience_ms);

/* Whether agents have lost that server, or know it at another address. False: it is there, or no agent can
 * tell. May block for a moment. */
bool given_up_is_lost(struct engine *engine, const char *server, const char *address);

/* The agents have lost the session's silent server. Returns whether the session goes to another server,
 * and sets session->lost then: its description allows it, another server would take it, and its data are
 * not on the silent server only. Called by its runner; may block. */
bool given_up_leaves(struct session *session);

/* No byte of a piece of the session's arguments or results has moved for a while. Returns whether the
 * session should go to another server: its server is silent, agents have lost it, and the conditions of
 * given_up_leaves() hold. Changes nothing, so any thread of the session may call it. May block, for
 * call_timeout at most. */
bool given_up_in_transfer(struct session *session);

/* The server that has the session did not answer in time. Asks the server until it answers (returns
 * false), or until the session is lost there or must end (returns true). Called by its runner. */
bool given_up_watch(struct session *session);

/* The silent server may still have this session, which is called elsewhere: the server is informed when it
 * answers again. */
void given_up_note(struct engine *engine, struct link *link, const struct session_id *id);

/* Drops all entries. */
void given_up_clear(struct engine *engine);

#endif
