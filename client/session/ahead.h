/* SPDX-License-Identifier: Apache-2.0
 *
 * Placements that a master agent has made ahead for this client (core/choice/ahead.h): a stream of small
 * equal calls asks once for many. Equal are calls that cost a server the same: of one signature, with the
 * same work, memory and sizes. Every function from any thread.
 */
#ifndef CLIENT_AHEAD_H
#define CLIENT_AHEAD_H

#include "client/session/session.h"
#include "core/choice/ahead.h"

struct ahead;

/* NULL without memory. */
struct ahead *ahead_create(void);
void ahead_destroy(struct ahead *ahead);

/* The next placement for a session like this one. False: there is none, and the agent is to be asked. *choice
 * is the caller's. */
bool ahead_take(struct session *session, struct choice *choice);

/* What to ask for with this session's request, for one session of a stream at a time: when it is more than
 * none, ahead_keep() must follow, with the reply or, when there is none, NULL. */
struct ahead_wish ahead_wanted(struct session *session);
void ahead_keep(struct session *session, const struct submit_reply *reply);

/* It has its results: how long it computed tells how many of its stream may be decided ahead. */
void ahead_ended(const struct session *session);
/* A server did not take it: others of its stream ask again. */
void ahead_forget(const struct session *session);

#endif
