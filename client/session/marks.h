/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks: which sequence numbers of this client servers may forget.
 *
 * Each call carries the lowest number that this client may still use at the server. A session counts for
 * all servers until one has accepted it, then for that server only. A session that must begin again draws
 * a new number, so that servers can distinguish the two. All functions use the engine's marks lock; any
 * thread.
 */
#ifndef CLIENT_MARKS_H
#define CLIENT_MARKS_H

#include "client/session/engine.h"
#include "core/message/open_sessions.h"

/* Gives the session a fresh identity. Returns ESP_SYSTEM if there are no random numbers. */
enum esp_status marks_draw(struct engine *engine, struct session *session, struct esp_error *error);
/* The server behind `link` has accepted the session. */
void marks_settle(struct engine *engine, struct session *session, struct link *link);
/* The session's number is not used any more. */
void marks_retire(struct engine *engine, struct session *session);
/* The lowest number that may still be used at that server. */
uint64_t marks_oldest(struct engine *engine, const struct link *link);
/* Lists the sessions beyond the oldest one that the server must still know, for EXTENSION_OPEN. Returns
 * false if the oldest one is so young that the list gains nothing. *open is empty before; the caller
 * clears it. */
bool marks_open(struct engine *engine, const struct link *link, struct open_sessions *open);

#endif
