/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads for work that blocks, beside the server's state machine: reading and writing files of data,
 * fetching data from other servers. The threads are behind one operation, so that tests can run errands when
 * they like.
 */
#ifndef SED_ERRANDS_H
#define SED_ERRANDS_H

#include "util/thread_pool.h"

struct errands {
    /* Has job->run(job->arg) called by another thread, without the lock. False: no thread can. Any thread may
     * call it. */
    bool (*submit)(struct errands *errands, struct thread_job *job);
    /* The threads behind `submit`, for the second stream of a transfer; NULL: there are none. */
    struct thread_pool *helpers;
};

/* Makes errands with at most `threads` threads of their own. */
enum esp_status errands_create(unsigned threads, struct errands **errands, struct esp_error *error);
/* Waits for errands under way. NULL is nothing to do. */
void errands_destroy(struct errands *errands);

#endif
