/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions on a server that has fallen silent: stopped, frozen, or cut off. It may go on at any time with all
 * that it has, so they wait for it, unless agents have lost it, too, and know another one for what may be
 * executed again. Then they are given up there and called elsewhere, as other sessions: what the silent one
 * makes of them reaches nobody. When it is heard of again it is told so (EXTENSION_GIVEN_UP).
 */
#ifndef CLIENT_GIVEN_UP_H
#define CLIENT_GIVEN_UP_H

#include "client/session/session.h"

/* How long an answer may take that a server in good order gives within `patience_ms`, when so many requests
 * in a row were not answered in time. The first ones soon show who is silent; behind a slow line, or from a
 * busy machine, one of the later ones arrives. answer_patience 0: call_timeout. */
int64_t given_up_answer_ms(const struct engine *engine, unsigned unanswered, int64_t patience_ms);

/* Whether agents have lost that server, or know it at another address. False: it is there, or none of them
 * can tell. May block for a moment. */
bool given_up_is_lost(struct engine *engine, const char *server, const char *address);

/* The agents have lost its silent server. Whether it is to go elsewhere, which session->lost says then: its
 * description lets it, another server would take it, and what it takes is not on the silent one only. By its
 * runner; may block. */
bool given_up_leaves(struct session *session);

/* Nothing of a piece of its arguments or results has moved for a while. Whether it had better go elsewhere:
 * its server says nothing until agents have lost it, and the rest as there. Changes nothing: by any of its
 * threads. May block, for call_timeout at most. */
bool given_up_in_transfer(struct session *session);

/* The server that has the session did not answer in time: looks at it until it answers (false), or until the
 * session is lost there, or has to end (true). By its runner. */
bool given_up_watch(struct session *session);

/* That server may still have this session of the engine's, which is called elsewhere: is told when it answers
 * again. */
void given_up_note(struct engine *engine, struct link *link, const struct session_id *id);

/* Nobody is told any more. */
void given_up_clear(struct engine *engine);

#endif
