/* SPDX-License-Identifier: Apache-2.0
 *
 * Binds arguments of calls to data: data of grpc_data.h, data by identity, and arrays of a sequence. Most of
 * these functions are operations of struct call_hooks; client/arguments/hooks.h says when each is called.
 */
#ifndef CLIENT_BINDING_H
#define CLIENT_BINDING_H

#include "client/arguments/invocation.h"
#include "client/session/engine.h"

/* ---- operations of struct call_hooks ---- */

enum esp_status hold_take_data(struct value *value, const struct argument *argument, void *given,
                               bool *is_data, struct esp_error *error);
enum esp_status hold_check(struct value *value, const struct problem *problem, const struct number *scope,
                           const struct shape *shape, struct esp_error *error);
enum esp_status hold_check_strings(struct value *value, const struct problem *problem,
                                   const struct number *scope, const struct shape *shape,
                                   struct esp_error *error);
enum esp_status hold_check_result(struct value *value, const struct problem *problem,
                                  const struct number *scope, const struct shape *shape,
                                  struct esp_error *error);
enum esp_status hold_leave(struct invocation *invocation, struct engine *engine, const char *server,
                           const char *address, struct esp_error *error);
enum esp_status hold_results(struct invocation *invocation, struct engine *engine, const char *server,
                             const char *address, struct esp_error *error);
enum esp_status invocation_find_again(struct invocation *invocation, struct engine *engine,
                                      struct esp_error *error);
bool hold_bring_home(struct invocation *invocation);
void hold_release(struct value *value);

/* ---- for higher rooms ---- */

/* Finds the servers that have the call's data, so that the call's server knows where to fetch them. The
 * time of the session begins here and ends at `until_ns` (session_until_ns()). Returns ESP_NOT_FOUND or
 * ESP_TIMEOUT on failure. Blocks.
 */
enum esp_status invocation_find_data(struct invocation *invocation, struct engine *engine, int64_t until_ns,
                                     struct esp_error *error);

/* Called before the call begins: its input array is the value of `holding`, and stays on the call's
 * server. */
enum esp_status hold_array(struct value *value, struct holding *holding, const struct datum_shape *shape,
                           struct esp_error *error);

/* The call is to be a job: another process may fetch its results. ESP_INVALID: a result cannot stay on a
 * server, because it is an array of strings or the problem is abstract. */
enum esp_status hold_for_job(struct invocation *invocation, struct esp_error *error);

/* hold_results() of an abstract problem. Results that are to stay and were made by the client (`received`)
 * are put on that server. */
enum esp_status hold_put_results(struct invocation *invocation, struct engine *engine, const char *server,
                                 struct esp_error *error);

#endif
