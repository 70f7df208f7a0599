/* SPDX-License-Identifier: Apache-2.0
 *
 * Promises: sessions that agents have placed on this server and that have not called yet. Forecasts count a
 * promise as load until its session calls, or its lease ends. Marks note how many placements of each master
 * agent have come, so that agents know which of their placements a report counts.
 *
 * All functions are called under the endpoint's lock.
 */
#ifndef SED_PROMISES_H
#define SED_PROMISES_H

#include "core/message/message.h"
#include "util/timer.h"

#define PROMISES_MOST       10000
#define PROMISES_MOST_MARKS 64

struct promises;

struct promises_options {
    const struct clock *clock; /* borrowed, as is `timers` */
    struct timers *timers;
    /* There are `n` promises from now on. */
    void (*changed)(void *arg, uint32_t n);
    /* A lease has ended; the promise of so many seconds is dropped next. */
    void (*expired)(void *arg, double seconds);
    void *arg;
};

/* False without memory. */
bool promises_create(const struct promises_options *options, struct promises **promises);
/* NULL is nothing to do. */
void promises_destroy(struct promises *promises);
uint32_t promises_count(const struct promises *promises);
/* Adds a promise, instead of an earlier one for the same session. Drops the oldest one if there are
 * PROMISES_MOST. Without memory nothing is promised. */
void promises_add(struct promises *promises, const struct placement *placement);
/* The session has called: drops its promise, if there is one. */
void promises_keep(struct promises *promises, const struct session_id *id);
/* The seconds of all promises, in the order in which they came: use() is called with each. */
void promises_each(const struct promises *promises, void (*use)(void *arg, double seconds), void *arg);
/* Placement `number` of that master agent has come; master 0 is nothing to do. */
void promises_mark(struct promises *promises, uint64_t master, uint64_t number);
/* The marks of the latest PROMISES_MOST_MARKS master agents. */
const struct placement_mark *promises_marks(const struct promises *promises, uint32_t *n);

#endif
