/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside an invocation: client/arguments/invocation.c gathers the arguments of grpc_call(),
 * client/arguments/invocation.c those of esp_call(), and client/arguments/invocation.c checks
 * both against the description.
 */
#ifndef CLIENT_INVOCATION_BIND_H
#define CLIENT_INVOCATION_BIND_H

#include "client/arguments/invocation.h"

/* What follows from scalar inputs. */
struct binding {
    const void *inputs[PROBLEM_MAX_ARGUMENTS]; /* scalar inputs by the description's index */
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
};

/* ---- client/arguments/invocation.c ---- */

/* A value for each argument that callers pass, with nothing in it yet. */
enum esp_status invocation_begin(struct invocation *invocation, struct function *function,
                                 struct esp_error *error);

/* After that: contents, cost. As room_check() first. */
enum esp_status invocation_bind(struct invocation *invocation, struct binding *binding,
                                const struct room *room, struct esp_error *error);

#endif
