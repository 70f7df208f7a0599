/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks: which sequence numbers of this client servers may forget.
 *
 * Each call tells the server the lowest number that this client may still use there. A session counts for all
 * servers until one has accepted it, then for that server only. A session that must begin again draws a new
 * number, so that its old self can be told from its new one. All under the engine's marks lock; any thread.
 */
#ifndef CLIENT_MARKS_H
#define CLIENT_MARKS_H

#include "client/session/engine.h"
#include "core/message/open_sessions.h"

/* Gives the session a fresh identity. ESP_SYSTEM: there are no random numbers. */
enum esp_status marks_draw(struct engine *engine, struct session *session, struct esp_error *error);
/* The server behind `link` has accepted the session. */
void marks_settle(struct engine *engine, struct session *session, struct link *link);
/* The session's number is not used any more. */
void marks_retire(struct engine *engine, struct session *session);
/* The lowest number that may still be used at that server. */
uint64_t marks_oldest(struct engine *engine, const struct link *link);
/* Lists the sessions that the server must still know beside the oldest, for EXTENSION_OPEN. Returns false
 * when the oldest one is so young that nothing is gained. *open is empty before; the caller clears it. */
bool marks_open(struct engine *engine, const struct link *link, struct open_sessions *open);

#endif
