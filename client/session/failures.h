/* SPDX-License-Identifier: Apache-2.0
 *
 * What is remembered of asynchronous sessions that failed, for as long as the library is initialized: 8 bytes
 * each, 4 more until the program has asked for it, and each different text once.
 *
 * Not thread-safe: the table of sessions has the lock.
 */
#ifndef CLIENT_FAILURES_H
#define CLIENT_FAILURES_H

#include "grpc.h"
#include "util/error.h"

#include <stdbool.h>

#define FAILURES_MOST 1048576 /* kept; then the older half is forgotten, with all ids up to there */

struct failures;

enum esp_status failures_create(struct failures **failures, struct esp_error *error);
/* NULL is nothing to do. */
void failures_destroy(struct failures *failures);

/* That session has failed. `forgotten`: ids up to this one are not known any more (0: none). False: without
 * memory, and not remembered. */
bool failures_add(struct failures *failures, grpc_sessionid_t id, const struct esp_error *why,
                  grpc_sessionid_t *forgotten);

/* How that session failed; ESP_OK: it is not among them. A text that is not kept any more is the status's. */
enum esp_status failures_find(const struct failures *failures, grpc_sessionid_t id, struct esp_error *why);

/* Numbers begin anew: forgets all. */
void failures_clear(struct failures *failures);

/* The next one that was not given yet, in the order in which they came; GRPC_SESSIONID_VOID: none. */
grpc_sessionid_t failures_next(struct failures *failures);

#endif
