/* SPDX-License-Identifier: Apache-2.0
 *
 * How an agent ranks the servers that could take a request: a registry with one row for each way. The rows
 * are of the public type, so that one from a site's library (services/scheduler_library.h) is like any other.
 */
#ifndef CORE_SCHEDULER_H
#define CORE_SCHEDULER_H

#include "espalier_scheduler.h"

#include <stdbool.h>
#include <stddef.h>

/* Times of one server for one request, before they are put together. */
struct schedule_times {
    double wait_s;      /* until a slot is free */
    double link_wait_s; /* until what was sent there before is through */
    double compute_s;
    double in_s, out_s; /* arguments there, results back */
};

/* Fills the times of a view. The arguments travel while others compute: the computation begins when both the
 * slot and the arguments are there. No member falls when one of `times` grows. */
void scheduler_view_times(struct esp_server_view *view, const struct schedule_times *times);

/* The score, a number in any case: NaN counts as infinity. */
double scheduler_score(const struct esp_scheduler *scheduler, const struct esp_server_view *view);

/* The row of that name, the default for NULL or ""; NULL when there is none. */
const struct esp_scheduler *scheduler_find(const char *name);
/* All rows, the default first. */
const struct esp_scheduler *scheduler_table(size_t *n);

#endif
