/* SPDX-License-Identifier: Apache-2.0
 *
 * A few threads for what blocks behind the caller's back: asynchronous sessions, long polls, the second
 * stream of a large transfer. A pool starts no thread before its first job, and no more than it has jobs.
 *
 * Its threads have all signals blocked: the process's handlers run in the process's own threads.
 */
#ifndef CLIENT_POOL_H
#define CLIENT_POOL_H

#include "util/error.h"
#include <stdbool.h>

struct pool;

/* Lies in its owner's struct, so that submitting cannot fail for memory. All zero: not queued. It may be
 * submitted again as soon as `run` has begun, and `run` may free it. */
struct pool_job {
    struct pool_job *next;
    void (*run)(void *arg);
    void *arg;
};

/* At most `threads` threads. */
enum esp_status pool_create(unsigned threads, struct pool **pool, struct esp_error *error);

/* Waits for all jobs, those they submit included, and ends the threads. NULL is nothing to do. */
void pool_destroy(struct pool *pool);

/* Queues a job. Any thread. False: there is not one thread and none can be made; nothing was queued. */
bool pool_submit(struct pool *pool, struct pool_job *job);

/* Takes a job back that has not begun: true; false: it has begun (or ended). Any thread. */
bool pool_withdraw(struct pool *pool, struct pool_job *job);

/* How many jobs wait for a thread. Any thread; a hint. */
unsigned pool_waiting(struct pool *pool);

#endif
