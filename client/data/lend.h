/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments and results in memory of esp_alloc(), lent to a server of the same user on this host: it uses
 * them where they are. What a server does not take goes as it would without. By the session's runner.
 */
#ifndef CLIENT_LEND_H
#define CLIENT_LEND_H

#include "client/session/session.h"

/* Whether results of the session are to be lent memory for, at that address: the server has then to wait for
 * `run` (EXTENSION_LENDS). */
bool lend_is_wanted(const struct session *session, const char *address);
/* The server has reserved memory: offers it all that can be lent. What it took is value.lent, and does not
 * move. */
void lend_values(struct session *session);
/* The session has ended, `well` or not, or begins anew: a server that may still compute writes into the
 * program's memory no more. */
void lend_end(struct invocation *invocation, bool well);

#endif
