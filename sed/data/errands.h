/* SPDX-License-Identifier: Apache-2.0
 *
 * Who does what blocks, beside the server's state machine: reading and writing files of data, fetching data
 * from other servers. A table of one operation, so that tests run errands when it suits them.
 */
#ifndef SED_ERRANDS_H
#define SED_ERRANDS_H

#include "util/thread_pool.h"

struct errands {
    /* Has job->run(job->arg) called by another thread, without the lock. False: nobody can. Any thread. */
    bool (*submit)(struct errands *errands, struct thread_job *job);
    /* The same threads, for the second stream of a transfer; NULL: there are none. */
    struct thread_pool *helpers;
};

/* With threads of its own, at most so many. */
enum esp_status errands_create(unsigned threads, struct errands **errands, struct esp_error *error);
/* Waits for those under way. NULL is nothing to do. */
void errands_destroy(struct errands *errands);

#endif
