/* SPDX-License-Identifier: Apache-2.0
 *
 * What a master agent answered to the question where a session may go.
 */
#ifndef CLIENT_CHOICE_H
#define CLIENT_CHOICE_H

#include "client/session/session.h"

/* Copies the answer. False without memory: *choice is empty then. */
bool choice_of(const struct submit_reply *reply, struct choice *choice);
/* The same, for a session that was placed ahead with it: the candidate of that number before all others. The
 * placement is that of the session that asked. */
bool choice_copy(const struct choice *from, uint32_t first, struct choice *to);
void choice_release(struct choice *choice);

#endif
