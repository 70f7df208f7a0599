/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the attempts of a session: attempt_choose.c looks for candidates, attempt.c offers the session to
 * them, attempt_recover.c goes on when a server is lost.
 */
#ifndef CLIENT_ATTEMPT_PARTS_H
#define CLIENT_ATTEMPT_PARTS_H

#include "client/session/attempt.h"

#define MOST_TRIES 4   /* of one request, when connections break */
#define GRACE_MS   300 /* for an answer, behind the deadline that the server knows too */

/* Whether to go on asking a server that has the session and did not answer in time: no other may have it, and
 * it may be stopped. */
bool attempt_waits(const struct session *session, struct patience *patience, enum esp_status status);

/* Whether agents know another server that would take the session. Nothing is placed. May block. */
bool attempt_knows_other(struct session *session);

/* Before the attempt of that number: 0, 20, 80, 320, then 1280 ms each. A server that is being restarted, a
 * router that hiccups. */
void attempt_pause(const struct session *session, unsigned attempt);

/* The connection may be to blame, and the request have arrived or not. */
bool attempt_is_uncertain(enum esp_status status);

/* Cuts what is too long. (printf would be a visible part of a small call.) */
void attempt_copy_text(char *to, size_t size, const char *from);

/* The server that has it, or NULL. `server` may be session->server. */
void attempt_set_server(struct session *session, struct link *link, const char *server);

/* A new identity: the old one may still be computing somewhere. False: it has ended (no random numbers). */
bool attempt_begin_again(struct session *session);

/* For those who look at its way afterwards: why the session is to begin again (`server`, and what of it), and
 * that in a message about the next one. False without memory. */
void attempt_note_again(struct session *session, const char *server, const char *why);
bool attempt_tell_again(const struct session *session, struct extensions *extensions, struct arena *arena);

#endif
