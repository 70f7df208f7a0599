/* SPDX-License-Identifier: Apache-2.0
 *
 * From a handle and an invocation to a session, for both interfaces.
 */
#ifndef CLIENT_START_H
#define CLIENT_START_H

#include "client/library.h"

/* When a session of the handle that begins now is over, for invocation_find_data(). `options` may be NULL. */
int64_t start_until_ns(const struct library *library, struct handle *handle,
                       const struct esp_call_options *options);

/* Runs the session to its end, as a step of `whole` unless that is NULL; returns how it ended, with the text
 * in `error`. *session is the caller's, NULL when there was none. Takes the invocation over. `options` may be
 * NULL. */
enum esp_status start_blocking(struct library *library, struct handle *handle, struct invocation *invocation,
                               const struct esp_call_options *options, struct session *whole,
                               struct session **session, struct esp_error *error);

/* Starts it. `given` is the caller's struct of the handle. */
enum esp_status start_asynchronous(struct library *library, struct handle *handle,
                                   grpc_function_handle_t *given, struct invocation *invocation,
                                   const struct esp_call_options *options, grpc_sessionid_t *id,
                                   struct esp_error *error);

#endif
