/* SPDX-License-Identifier: Apache-2.0
 *
 * Lends arguments and results in memory of esp_alloc() to a server of the same user on this host, which
 * uses them in place. Values that the server does not take travel as usual. Called by the session's
 * runner.
 */
#ifndef CLIENT_LEND_H
#define CLIENT_LEND_H

#include "client/session/session.h"

/* Whether memory should be lent for results of the session to the server at that address. The server then
 * waits for `run` (EXTENSION_LENDS). */
bool lend_is_wanted(const struct session *session, const char *address);
/* Offers the server all values that can be lent, after it has reserved memory. Sets value.lent for the
 * values that the server took; these do not travel. */
void lend_values(struct session *session);
/* Takes lent memory back when the session has ended (`well`: with success) or begins anew. A server that
 * still computes no longer writes into the program's memory then. */
void lend_end(struct invocation *invocation, bool well);

#endif
