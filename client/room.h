/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether any server can hold a call: asked of master agents before a large call reads or makes its arrays.
 */
#ifndef CLIENT_ROOM_H
#define CLIENT_ROOM_H

#include "core/problem/problem.h"

struct engine;
struct function;

#define ROOM_LARGE_BYTES (UINT64_C(64) << 20) /* smaller calls are not worth a request */

/* What a call is about to take, for invocation_from_list() and invocation_from_vector(). */
struct room {
    struct engine *engine;
    const char *server; /* by name, that the call is bound to; NULL: any */
};

/* Scalars and shapes by the description's index. ESP_NO_SERVER: every server that solves the problem has less
 * memory than the call takes, which the text says of the largest. ESP_OK: some server may hold the call, the
 * call is small, or no agent answers: the call itself tells what is wrong then. */
enum esp_status room_check(const struct room *room, const struct function *function,
                           const struct number *scope, const struct shape *shapes, struct esp_error *error);

/* The same for scalars only, with all of a problem's size arguments known. ESP_OK also outside
 * grpc_initialize() .. grpc_finalize(), and for abstract problems. */
enum esp_status room_check_scalars(const char *problem, const struct number *scope, struct esp_error *error);

#endif
