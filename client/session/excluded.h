/* SPDX-License-Identifier: Apache-2.0
 *
 * The servers that a session does not want any more: they declined it, or were not there. Used by its runner.
 */
#ifndef CLIENT_EXCLUDED_H
#define CLIENT_EXCLUDED_H

#include "client/session/session.h"

/* No agent shall offer it again to this session. The first reason stays. */
void exclude(struct session *session, const char *server, enum esp_status why);

/* Whether there are some and all of them were gone when they were tried, and none declined. */
bool excluded_are_absent(const struct session *session);

/* Whether that server is among them. */
bool excluded_has(const struct session *session, const char *server);

/* Whether one of them declined it for that reason. */
bool excluded_for(const struct session *session, enum esp_status why);

/* They may be offered again. */
void excluded_forget(struct session *session);

/* Whether a server has had its turn: that tells more than that no other is left. */
bool excluded_has_cause(const struct session *session);

/* No other server takes it: session->error tells what the last one did, with the others that were tried, and
 * what became of looking for one more (`status`, `search`) where that was not just that none is left. */
void excluded_explain(struct session *session, enum esp_status status, const struct esp_error *search);

#endif
