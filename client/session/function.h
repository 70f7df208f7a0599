/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions: problems as the client has learned them, each asked for once and kept.
 */
#ifndef CLIENT_FUNCTION_H
#define CLIENT_FUNCTION_H

#include "client/session/route.h"
#include "core/message/message.h"
#include "core/problem/problem.h"
#include <stdatomic.h>

/* A problem's signature. Immutable but for the count of its users. */
struct function {
    struct problem_set *set;
    const struct problem *problem; /* in the set */
    uint64_t digest;               /* as the hierarchy names the signature */
    uint32_t servers;              /* that had it when it was asked for; 0: not told */
    char *signatures; /* which servers have this signature, and which another one; NULL: all have this one */
    atomic_uint users;
};

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

/* A function of what an agent or a server said, or once said. ESP_SYNTAX, ESP_PROTOCOL: it is no description
 * of that problem. */
enum esp_status function_create(const char *name, const struct describe_reply *described,
                                struct function **function, struct esp_error *error);

/* Adds to an error about the arguments of a call which servers have another signature of that name. Returns
 * error->status. */
enum esp_status function_tell_signatures(const struct function *function, struct esp_error *error);

struct function *function_use(struct function *function);
void function_release(struct function *function); /* NULL is nothing to do */

#endif
