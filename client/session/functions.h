/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that the client knows: each is asked for once and stored.
 */
#ifndef CLIENT_FUNCTIONS_H
#define CLIENT_FUNCTIONS_H

#include "client/arguments/function.h"
#include "client/session/route.h"

#include <stdatomic.h>

struct functions;

enum esp_status functions_create(struct transport *transport, struct route *route, int64_t call_timeout_ms,
                                 int64_t agent_patience_ms, int64_t silence_patience_ms,
                                 const atomic_bool *closing, struct functions **functions,
                                 struct esp_error *error);
void functions_destroy(struct functions *functions);

/* Returns the function of that name from memory, or asks for it: the agents, or, unless `address` is NULL,
 * that server, which may have another signature. On success the caller has a use of the function
 * (function_release()). Agents are asked again for agent_patience_ms while the redirector knows no master
 * agent, or while a node that may know the problem cannot be reached. They are asked again for
 * silence_patience_ms, if that is longer, while a node does not answer. Returns ESP_UNKNOWN_PROBLEM if all
 * nodes that may know the problem were asked, ESP_NO_SERVER if not all were. Any thread. */
enum esp_status functions_get(struct functions *functions, const char *name, const char *address,
                              struct function **function, struct esp_error *error);

/* functions_get() from the agents, without waiting for nodes that may know the problem and cannot be
 * reached. For callers that can do without the function. Any thread. */
enum esp_status functions_get_soon(struct functions *functions, const char *name, struct function **function,
                                   struct esp_error *error);

/* Drops the function, which may have changed; the next call asks for it again. Any thread. */
void functions_forget(struct functions *functions, const struct function *function);

#endif
