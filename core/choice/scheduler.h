/* SPDX-License-Identifier: Apache-2.0
 *
 * How an agent ranks the servers for a request: a registry with one row for each scheduler. Rows have the
 * public type, so that a scheduler from a site's library (services/scheduler_library.h) is one more row. */
#ifndef CORE_SCHEDULER_H
#define CORE_SCHEDULER_H

#include "espalier_scheduler.h"

#include <stdbool.h>
#include <stddef.h>

/* Times of one server for one request, before they are combined. */
struct schedule_times {
    double wait_s;      /* until a slot is free */
    double link_wait_s; /* until the bytes sent there before have arrived */
    double compute_s;
    double in_s, out_s; /* time of the arguments and of the results */
};

/* Fills the times of a view. Arguments travel while other sessions compute: the computation starts when
 * both the slot and the arguments are ready. No member falls when one of `times` grows. */
void scheduler_view_times(struct esp_server_view *view, const struct schedule_times *times);

/* Returns the score; NaN counts as infinity. */
double scheduler_score(const struct esp_scheduler *scheduler, const struct esp_server_view *view);

/* Returns the scheduler of that name, the default for NULL or ""; NULL when there is none. */
const struct esp_scheduler *scheduler_find(const char *name);
/* Returns all schedulers, the default first. */
const struct esp_scheduler *scheduler_table(size_t *n);

#endif
