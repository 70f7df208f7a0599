/* SPDX-License-Identifier: Apache-2.0 */
#include "core/choice/scheduler.h"

#include <math.h>
#include <string.h>

/* Minimum completion time. */
static double score_mct(const struct esp_server_view *view)
{
    return view->complete_s;
}

/* TOO_LATE exceeds any price, so that servers that finish too late follow all others. Within either group
 * the end decides between equals, with a weight TINY that cannot outweigh a price difference. */
#define TOO_LATE 1e12
#define TINY     1e-9

static double score_cheapest(const struct esp_server_view *view)
{
    if (view->complete_s > view->deadline_s)
        return TOO_LATE + view->complete_s;
    return view->price + TINY * view->complete_s;
}

static double score_round_robin(const struct esp_server_view *view)
{
    return (double)view->turn;
}

/* Idle servers have the same load: the tiny weight of the computation puts the fastest one first. */
static double score_least_loaded(const struct esp_server_view *view)
{
    return view->wait_s + TINY * view->compute_s;
}

static double score_nothing(const struct esp_server_view *view)
{
    (void)view;
    return 0;
}

#define ROW(name, text, score, flags)                                                                        \
    {                                                                                                        \
        ESP_SCHEDULER_VERSION, flags, name, text, score                                                      \
    }

static const struct esp_scheduler table[] = {
    ROW("mct", "where the result is expected first", score_mct, 0),
    ROW("cheapest", "the lowest price among those that end before the deadline, else the soonest end",
        score_cheapest, 0),
    ROW("round-robin", "the server that was chosen longest ago", score_round_robin, 0),
    ROW("random", "any capable server", score_nothing, ESP_SCHEDULER_RANDOM),
    ROW("least-loaded", "the server that can start first", score_least_loaded, 0),
};

void scheduler_view_times(struct esp_server_view *view, const struct schedule_times *times)
{
    const double start_s = fmax(times->wait_s, times->link_wait_s + times->in_s);
    view->wait_s = times->wait_s;
    view->compute_s = times->compute_s;
    view->transfer_s = times->in_s + times->out_s;
    view->complete_s = start_s + times->compute_s + times->out_s;
}

double scheduler_score(const struct esp_scheduler *scheduler, const struct esp_server_view *view)
{
    const double score = scheduler->score(view);
    return isnan(score) ? HUGE_VAL : score;
}

const struct esp_scheduler *scheduler_find(const char *name)
{
    if (!name || !*name)
        return &table[0];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

const struct esp_scheduler *scheduler_table(size_t *n)
{
    *n = sizeof table / sizeof *table;
    return table;
}
