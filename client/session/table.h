/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of asynchronous sessions under GridRPC's integer ids: who has ended, who was waited for, who
 * failed.
 *
 * A session is running, then ended, then reported (a wait function has told its caller). The newest
 * TABLE_HISTORY reported ones are kept with handle and information. Of those before them it stays known how
 * they ended: ids are numbers in a row, so all that were drawn and are neither here nor among the failures
 * (client/session/failures.h) ended well, and nothing is kept of them.
 */
#ifndef CLIENT_TABLE_H
#define CLIENT_TABLE_H

#include "client/session/past.h"
#include "grpc.h"
#include <time.h>

#define TABLE_HISTORY 4096 /* as grpc.h says */

struct table;

enum esp_status table_create(struct table **table, struct esp_error *error);
/* After all sessions have ended and the engine is gone. */
void table_destroy(struct table *table);

/* Puts a session in, which the table then owns, and starts it. `handle` (or NULL) is what get_handle gives
 * back. On failure the session is destroyed. */
enum esp_status table_start(struct table *table, struct session *session, grpc_function_handle_t *handle,
                            grpc_sessionid_t *id, struct esp_error *error);

/* The functions of grpc.h. Where they return GRPC_SESSION_FAILED and where get_error finds a failure, `error`
 * is the session's. Any thread. */
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
/* The pointer it was started with, and the number of the handle that was behind it then; of sessions that are
 * kept. */
grpc_error_t table_get_handle(struct table *table, grpc_sessionid_t id, grpc_function_handle_t **handle,
                              uint64_t *number);

/* Calls `look` with the session, which stays as long, or, once it was reported (session NULL), with what is
 * kept of it. False: no such id, or it is kept no more. */
bool table_look(struct table *table, grpc_sessionid_t id,
                void (*look)(struct session *session, const struct past *past, void *arg), void *arg);

/* Waits until no session runs (they were cancelled), or it is that time (CLOCK_REALTIME). Whether none runs.
 */
bool table_drain(struct table *table, const struct timespec *until);

/* GridRPC's code for how a session ended. ESP_PENDING: GRPC_NOT_COMPLETED. */
grpc_error_t outcome_code(enum esp_status status);

#endif
