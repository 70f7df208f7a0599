/* SPDX-License-Identifier: Apache-2.0
 *
 * A call whose arguments are gathered: the common part of grpc_call(), esp_call() and their asynchronous
 * forms.
 */
#ifndef CLIENT_CALL_H
#define CLIENT_CALL_H

#include "client/session/library.h"

/* Finds the call's data, and runs the call to its end. Takes over the invocation. `options` may be NULL.
 * *info, unless `info` is NULL, describes the session, for esp_session_info_free(). */
enum esp_status call_blocking(struct library *library, struct handle *handle, struct invocation *invocation,
                              const struct esp_call_options *options, struct esp_session_info **info,
                              struct esp_error *error);

/* Finds the call's data, and starts its session. Takes over the invocation. `given` is the program's
 * struct of the handle; `options` may be NULL. */
enum esp_status call_asynchronous(struct library *library, struct handle *handle,
                                  grpc_function_handle_t *given, struct invocation *invocation,
                                  const struct esp_call_options *options, grpc_sessionid_t *id,
                                  struct esp_error *error);

#endif
