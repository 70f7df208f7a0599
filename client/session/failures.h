/* SPDX-License-Identifier: Apache-2.0
 *
 * Remembers asynchronous sessions that failed while the library is initialized: 8 bytes for each, 4 more
 * until the program has asked for it, and each different text once.
 *
 * Not thread-safe: called under the lock of the table of sessions.
 */
#ifndef CLIENT_FAILURES_H
#define CLIENT_FAILURES_H

#include "grpc.h"
#include "util/error.h"

#include <stdbool.h>

#define FAILURES_MOST 1048576 /* beyond, the older half is dropped with all ids up to there */

struct failures;

enum esp_status failures_create(struct failures **failures, struct esp_error *error);
/* Accepts NULL. */
void failures_destroy(struct failures *failures);

/* Adds a session that failed. `forgotten`: ids up to this one are unknown from now on (0: none). Returns
 * false without memory; then nothing is added. */
bool failures_add(struct failures *failures, grpc_sessionid_t id, const struct esp_error *why,
                  grpc_sessionid_t *forgotten);

/* Returns how that session failed; ESP_OK if it is not here. If its text was dropped, the status's text is
 * used. */
enum esp_status failures_find(const struct failures *failures, grpc_sessionid_t id, struct esp_error *why);

/* Drops all, because ids begin anew. */
void failures_clear(struct failures *failures);

/* Returns the next failure that was not returned yet, in the order in which they were added;
 * GRPC_SESSIONID_VOID: none. */
grpc_sessionid_t failures_next(struct failures *failures);

#endif
