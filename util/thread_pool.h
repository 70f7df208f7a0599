/* SPDX-License-Identifier: Apache-2.0
 *
 * A few threads for blocking work in the background: asynchronous sessions, long polls, the second stream
 * of a large transfer. A pool starts no thread before its first job, and no more threads than it has jobs.
 *
 * Threads of the pool block all signals, so that the process's handlers run in the process's own threads. The
 * exception is SIGSEGV, which only the faulting thread can handle: memory that a job uses may be guarded
 * (client/data/guard.h). */
#ifndef UTIL_THREAD_POOL_H
#define UTIL_THREAD_POOL_H

#include "util/error.h"
#include <stdbool.h>

struct thread_pool;

/* Lies in its owner's struct, so that submitting cannot fail without memory. All zero: not queued. It may
 * be submitted again as soon as `run` has begun, and `run` may free it. */
struct thread_job {
    struct thread_job *next;
    void (*run)(void *arg);
    void *arg;
};

/* Creates a pool of at most `threads` threads. */
enum esp_status thread_pool_create(unsigned threads, struct thread_pool **pool, struct esp_error *error);

/* Waits for all jobs, including those they submit, and ends the threads. NULL is ignored. */
void thread_pool_destroy(struct thread_pool *pool);

/* Queues a job. Any thread. False: the pool has no thread and cannot create one; nothing was queued. */
bool thread_pool_submit(struct thread_pool *pool, struct thread_job *job);

/* Removes a job that has not begun: true; false: it has begun (or ended). Any thread. */
bool thread_pool_withdraw(struct thread_pool *pool, struct thread_job *job);

/* Returns how many jobs wait for a thread. Any thread; a hint. */
unsigned thread_pool_waiting(struct thread_pool *pool);

#endif
