/* SPDX-License-Identifier: Apache-2.0
 *
 * The servers that a session excludes, because they declined it or were absent. Used by the session's
 * runner.
 */
#ifndef CLIENT_EXCLUDED_H
#define CLIENT_EXCLUDED_H

#include "client/session/session.h"

/* Excludes the server: agents do not offer it to this session again. The first reason is kept. */
void exclude(struct session *session, const char *server, enum esp_status why);

/* Whether servers are excluded, all of them because they were absent, and none because it declined. */
bool excluded_are_absent(const struct session *session);

/* Whether the server is excluded. */
bool excluded_has(const struct session *session, const char *server);

/* Whether a server is excluded for that reason. */
bool excluded_for(const struct session *session, enum esp_status why);

/* Lets agents offer all excluded servers again. */
void excluded_forget(struct session *session);

/* Whether a server was tried and failed; its error says more than that there is no other server. */
bool excluded_has_cause(const struct session *session);

/* No other server takes the session. Makes session->error from the last server's error, the names of the
 * other servers that were tried, and the failure to find one more (`status`, `search`), unless that only
 * says that there is none. */
void excluded_explain(struct session *session, enum esp_status status, const struct esp_error *search);

#endif
