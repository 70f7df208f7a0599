/* SPDX-License-Identifier: Apache-2.0
 *
 * The question to master agents which servers may take a session, and the answer.
 */
#ifndef CLIENT_CHOICE_H
#define CLIENT_CHOICE_H

#include "client/session/session.h"

/* Copies the answer. Without memory returns false, and *choice is empty. */
bool choice_of(const struct submit_reply *reply, struct choice *choice);
/* Copies a choice for a session that was placed ahead with it. The candidate number `first` comes before
 * all others. The placement is not copied, because it belongs to the session that asked. */
bool choice_copy(const struct choice *from, uint32_t first, struct choice *to);
void choice_release(struct choice *choice);

/* Makes the request for servers that may take the session; its arrays lie in the message's arena. */
enum esp_status choice_request(const struct session *session, int64_t timeout_ms, struct message *request,
                               struct esp_error *error);
/* Whether agents know another server that would take the session. Nothing is placed. May block. */
bool choice_knows_other(struct session *session);

#endif
