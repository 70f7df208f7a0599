/* SPDX-License-Identifier: Apache-2.0 */
#include "core/scheduler.h"

#include <string.h>

/* Minimum completion time. */
static double score_mct(const struct scheduler_view *view)
{
    return view->wait_s + view->transfer_s + view->compute_s;
}

static double score_round_robin(const struct scheduler_view *view)
{
    return (double)view->turn;
}

/* Idle servers are alike in their load: the tiny share of the computation makes the fastest one come first.
 */
static double score_least_loaded(const struct scheduler_view *view)
{
    return view->wait_s + 1e-9 * view->compute_s;
}

static double score_nothing(const struct scheduler_view *view)
{
    (void)view;
    return 0;
}

static const struct scheduler table[] = {
    {"mct", "where the result is expected first", score_mct, false},
    {"round-robin", "the server that was chosen longest ago", score_round_robin, false},
    {"random", "any capable server", score_nothing, true},
    {"least-loaded", "the server that can start first", score_least_loaded, false},
};

const struct scheduler *scheduler_find(const char *name)
{
    if (!name || !*name)
        return &table[0];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

const struct scheduler *scheduler_table(size_t *n)
{
    *n = sizeof table / sizeof *table;
    return table;
}
