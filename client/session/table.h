/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of asynchronous sessions under GridRPC's integer ids: which have ended, were waited for, or
 * failed.
 *
 * A session is running, then ended, then reported (a wait function has returned it to its caller). The
 * newest TABLE_HISTORY reported sessions are stored with handle and information. Of earlier ones only the
 * result is known. Ids are consecutive numbers: an id that was drawn and is neither here nor among the
 * failures (client/session/failures.h) belongs to a session that succeeded, for which nothing is stored.
 */
#ifndef CLIENT_TABLE_H
#define CLIENT_TABLE_H

#include "client/session/past.h"
#include "grpc.h"
#include <time.h>

#define TABLE_HISTORY 4096 /* as in grpc.h */

struct table;

enum esp_status table_create(struct table **table, struct esp_error *error);
/* Called after all sessions have ended and the engine is gone. */
void table_destroy(struct table *table);

/* Adds a session, which the table then owns, and starts it. get_handle returns `handle` (or NULL). On
 * failure the session is destroyed. */
enum esp_status table_start(struct table *table, struct session *session, grpc_function_handle_t *handle,
                            grpc_sessionid_t *id, struct esp_error *error);

/* The functions of grpc.h. If they return GRPC_SESSION_FAILED, or get_error finds a failure, `error` is
 * the session's. Any thread. */
grpc_error_t table_probe(struct table *table, grpc_sessionid_t id);
grpc_error_t table_probe_or(struct table *table, const grpc_sessionid_t *ids, size_t n, grpc_sessionid_t *id);
grpc_error_t table_wait(struct table *table, grpc_sessionid_t id, struct esp_error *error);
grpc_error_t table_wait_and(struct table *table, const grpc_sessionid_t *ids, size_t n,
                            struct esp_error *error);
grpc_error_t table_wait_or(struct table *table, const grpc_sessionid_t *ids, size_t n, grpc_sessionid_t *id,
                           struct esp_error *error);
grpc_error_t table_wait_all(struct table *table, struct esp_error *error);
grpc_error_t table_wait_any(struct table *table, grpc_sessionid_t *id, struct esp_error *error);
grpc_error_t table_cancel(struct table *table, grpc_sessionid_t id);
void table_cancel_all(struct table *table);
grpc_error_t table_get_error(struct table *table, grpc_sessionid_t id, struct esp_error *error);
grpc_sessionid_t table_next_failed(struct table *table);
/* The pointer that the session was started with, and the number of the handle that was behind it then; for
 * stored sessions. */
grpc_error_t table_get_handle(struct table *table, grpc_sessionid_t id, grpc_function_handle_t **handle,
                              uint64_t *number);

/* Calls `look` with the session, which exists until the call returns, or, once it was reported, with
 * session NULL and the stored information. Returns false if there is no such id, or if its information was
 * dropped. */
bool table_look(struct table *table, grpc_sessionid_t id,
                void (*look)(struct session *session, const struct past *past, void *arg), void *arg);

/* Waits until no session runs (they were cancelled), or until that time (CLOCK_REALTIME). Returns whether
 * none runs.
 */
bool table_drain(struct table *table, const struct timespec *until);

/* GridRPC's code for how a session ended. ESP_PENDING: GRPC_NOT_COMPLETED. */
grpc_error_t outcome_code(enum esp_status status);

#endif
