/* SPDX-License-Identifier: Apache-2.0
 *
 * A few threads for what blocks behind the caller's back: asynchronous sessions, long polls, the second
 * stream of a large transfer. A pool starts no thread before its first job, and no more than it has jobs.
 *
 * Its threads have all signals blocked: the process's handlers run in the process's own threads. But for
 * SIGSEGV, which nobody else could take: memory that a job uses may be guarded (client/data/guard.h).
 */
#ifndef UTIL_THREAD_POOL_H
#define UTIL_THREAD_POOL_H

#include "util/error.h"
#include <stdbool.h>

struct thread_pool;

/* Lies in its owner's struct, so that submitting cannot fail for memory. All zero: not queued. It may be
 * submitted again as soon as `run` has begun, and `run` may free it. */
struct thread_job {
    struct thread_job *next;
    void (*run)(void *arg);
    void *arg;
};

/* At most `threads` threads. */
enum esp_status thread_pool_create(unsigned threads, struct thread_pool **pool, struct esp_error *error);

/* Waits for all jobs, those they submit included, and ends the threads. NULL is nothing to do. */
void thread_pool_destroy(struct thread_pool *pool);

/* Queues a job. Any thread. False: there is not one thread and none can be made; nothing was queued. */
bool thread_pool_submit(struct thread_pool *pool, struct thread_job *job);

/* Takes a job back that has not begun: true; false: it has begun (or ended). Any thread. */
bool thread_pool_withdraw(struct thread_pool *pool, struct thread_job *job);

/* How many jobs wait for a thread. Any thread; a hint. */
unsigned thread_pool_waiting(struct thread_pool *pool);

#endif
