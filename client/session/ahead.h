/* SPDX-License-Identifier: Apache-2.0
 *
 * Placements that a master agent has made ahead for this client (core/choice/ahead.h): a stream of small
 * equal calls asks once for many. Calls are equal if they cost a server the same: one signature, the same
 * work, memory and sizes. Each function may be called from any thread.
 */
#ifndef CLIENT_AHEAD_H
#define CLIENT_AHEAD_H

#include "client/session/session.h"
#include "core/choice/ahead.h"

struct ahead;

/* Returns NULL without memory. */
struct ahead *ahead_create(void);
void ahead_destroy(struct ahead *ahead);

/* Takes the next placement for a session like this one. Returns false if there is none; then the agent
 * must be asked. The caller owns *choice. */
bool ahead_take(struct session *session, struct choice *choice);

/* Returns what to ask for with this session's request. Only one session of a stream asks at a time. If the
 * wish is more than none, ahead_keep() must follow, with the reply, or with NULL if there is no reply. */
struct ahead_wish ahead_wanted(struct session *session);
void ahead_keep(struct session *session, const struct submit_reply *reply);

/* Notes the computing time of a session that has its results: it decides how many placements of its stream
 * may be made ahead. */
void ahead_ended(const struct session *session);
/* A server did not take the session: drops the stream's placements, so that its sessions ask again. */
void ahead_forget(const struct session *session);

#endif
