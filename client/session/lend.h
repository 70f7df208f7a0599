/* SPDX-License-Identifier: Apache-2.0
 *
 * Lends arguments and results in memory of esp_alloc() to a server of the same user on this host, which uses
 * them in place. What the server does not take travels as usual. By the session's runner.
 */
#ifndef CLIENT_LEND_H
#define CLIENT_LEND_H

#include "client/session/session.h"

/* Whether memory is to be lent for results of the session to the server at that address. The server then
 * waits for `run` (EXTENSION_LENDS). */
bool lend_is_wanted(const struct session *session, const char *address);
/* Offers the server all that can be lent, after it has reserved memory. Sets value.lent of what the server
 * took; that does not travel. */
void lend_values(struct session *session);
/* Takes back what was lent when the session has ended (`well`: with success) or begins anew. A server that
 * may still compute does not write into the program's memory any more. */
void lend_end(struct invocation *invocation, bool well);

#endif
