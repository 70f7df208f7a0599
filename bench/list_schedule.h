/* SPDX-License-Identifier: Apache-2.0
 *
 * What schedules are measured against: list scheduling by somebody who knows all jobs before the first comes,
 * and all times exactly. The next job of a list goes where it ends first; the best of several lists counts.
 */
#ifndef BENCH_LIST_SCHEDULE_H
#define BENCH_LIST_SCHEDULE_H

#include "core/forecast/path.h"
#include "tests/inproc/platform.h"

#define LIST_SERVERS 16

/* Servers of one slot each, whose links carry one transfer after the other each way. */
struct list_site {
    int servers; /* at most LIST_SERVERS */
    const double *speed_flops;
    const struct path *links;
};

/* Seconds from the beginning until the last result is back. */
double list_schedule(const struct list_site *site, const struct platform_job *jobs, int n);
/* The same with each job on the server behind that of the one before. */
double list_in_turn(const struct list_site *site, const struct platform_job *jobs, int n);
/* No schedule of jobs that are all there at once takes less: the work, spread as if it were divisible over
 * servers that begin when the least of all inputs is there, and end when the least of all results can still
 * come back. */
double list_bound(const struct list_site *site, const struct platform_job *jobs, int n);

#endif
