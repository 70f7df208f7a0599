/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that the client knows: each is asked for once and kept.
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

/* The function of that name, from memory or asked for: from the agents, or, unless `address` is NULL, from
 * that server, whose signature may be another. On success the caller has a use of it (function_release()).
 * While the redirector knows no master agent, or one that may know it (or nodes that an agent has lost)
 * cannot be reached, agents are asked again for agent_patience_ms; while one that is asked says nothing, for
 * silence_patience_ms, where that is longer. ESP_UNKNOWN_PROBLEM: all that could know
 * it were asked; ESP_NO_SERVER: not all; or why nobody answered. Any thread. */
enum esp_status functions_get(struct functions *functions, const char *name, const char *address,
                              struct function **function, struct esp_error *error);

/* As functions_get() from the agents, for who can do without: those that answer are enough, and who may know
 * more and cannot be reached is not waited for. Any thread. */
enum esp_status functions_get_soon(struct functions *functions, const char *name, struct function **function,
                                   struct esp_error *error);

/* What is remembered of it may be wrong: ask again next time. Any thread. */
void functions_forget(struct functions *functions, const struct function *function);

#endif
