/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that is done on several machines: side by side, as each takes as long as ssh and a daemon's start
 * take, and in its order on one of them, where `espalier admin add` is alone.
 */
#ifndef COMMAND_MACHINES_H
#define COMMAND_MACHINES_H

#include "util/thread_pool.h"

#include <stdbool.h>

struct machine_work {
    const char *host;       /* NULL: nothing to do */
    void (*run)(void *arg); /* any thread */
    void *arg;
    /* Used by machines_begin(). */
    struct thread_job job;
    struct machine_work *next;
};

struct machines {
    struct thread_pool *pool; /* NULL: all is done already */
};

/* Begins all of it; `work` stays where it is until machines_end(), which waits for the end of it. */
void machines_begin(struct machines *machines, struct machine_work *work, size_t n);
void machines_end(struct machines *machines);

#endif
