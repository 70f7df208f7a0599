/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/list_schedule.h"

#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>

struct plan {
    double slot_s[LIST_SERVERS], in_s[LIST_SERVERS], out_s[LIST_SERVERS]; /* when each is free */
};

/* When the job's results are back if it goes there; `place`: it does. */
static double end_there(const struct list_site *site, struct plan *plan, int server,
                        const struct platform_job *job, bool place)
{
    const struct path *link = &site->links[server];
    double sent_s = fmax(job->at_s, plan->in_s[server]);
    double whole_s = sent_s + path_seconds(link, job->bytes_in);
    double done_s = fmax(whole_s, plan->slot_s[server]) + job->work_flop / site->speed_flops[server];
    double back_s = fmax(done_s, plan->out_s[server]);
    if (place) {
        plan->in_s[server] = sent_s + (double)job->bytes_in / link->bandwidth_bps;
        plan->slot_s[server] = done_s;
        plan->out_s[server] = back_s + (double)job->bytes_out / link->bandwidth_bps;
    }
    return back_s + path_seconds(link, job->bytes_out);
}

static double end_of(const struct list_site *site, const struct platform_job *const *list, int n)
{
    struct plan plan = {0};
    double last_s = 0;
    for (int i = 0; i < n; i++) {
        int best = 0;
        for (int server = 1; server < site->servers; server++)
            if (end_there(site, &plan, server, list[i], false) < end_there(site, &plan, best, list[i], false))
                best = server;
        last_s = fmax(last_s, end_there(site, &plan, best, list[i], true));
    }
    return last_s;
}

static int largest_first(const void *a, const void *b)
{
    const double x = (*(const struct platform_job *const *)a)->work_flop;
    const double y = (*(const struct platform_job *const *)b)->work_flop;
    return (x < y) - (x > y);
}

/* Windows of jobs as they come, the largest of each first: with one window it is the classic list. */
double list_schedule(const struct list_site *site, const struct platform_job *jobs, int n)
{
    double best_s = HUGE_VAL;
    const struct platform_job **list = calloc((size_t)n + 1, sizeof *list);
    if (!list)
        bench_fail("no memory for a list of %d jobs", n);
    for (int window = 1; window < 2 * n; window *= 2) {
        for (int i = 0; i < n; i++)
            list[i] = &jobs[i];
        for (int i = 0; i < n; i += window)
            qsort(list + i, (size_t)(i + window < n ? window : n - i), sizeof *list, largest_first);
        best_s = fmin(best_s, end_of(site, list, n));
    }
    free(list);
    return best_s;
}

double list_in_turn(const struct list_site *site, const struct platform_job *jobs, int n)
{
    struct plan plan = {0};
    double last_s = 0;
    for (int i = 0; i < n; i++)
        last_s = fmax(last_s, end_there(site, &plan, i % site->servers, &jobs[i], true));
    return last_s;
}

/* What no job can do without there: the way of the least of them, both ways. */
static double least_travel_s(const struct path *link, const struct platform_job *jobs, int n)
{
    double in_s = HUGE_VAL, out_s = HUGE_VAL;
    for (int i = 0; i < n; i++) {
        in_s = fmin(in_s, path_seconds(link, jobs[i].bytes_in));
        out_s = fmin(out_s, path_seconds(link, jobs[i].bytes_out));
    }
    return in_s + out_s;
}

static double done_within(const struct list_site *site, const double *travel_s, double seconds)
{
    double work = 0;
    for (int i = 0; i < site->servers; i++)
        work += site->speed_flops[i] * fmax(seconds - travel_s[i], 0);
    return work;
}

double list_bound(const struct list_site *site, const struct platform_job *jobs, int n)
{
    double travel_s[LIST_SERVERS], work = 0, low_s = 0, high_s = 1;
    for (int i = 0; i < site->servers; i++)
        travel_s[i] = least_travel_s(&site->links[i], jobs, n);
    for (int i = 0; i < n; i++)
        work += jobs[i].work_flop;
    while (done_within(site, travel_s, high_s) < work)
        high_s *= 2;
    for (int i = 0; i < 60; i++) {
        const double middle_s = (low_s + high_s) / 2;
        if (done_within(site, travel_s, middle_s) < work)
            low_s = middle_s;
        else
            high_s = middle_s;
    }
    return high_s;
}
