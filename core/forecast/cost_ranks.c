/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/cost_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_digest(const void *a, const void *b)
{
    const struct cost_ranks *x = a, *y = b;
    return (x->digest > y->digest) - (x->digest < y->digest);
}

enum esp_status cost_set_ranks(struct cost_set *set, struct cost_ranks *ranks, uint32_t n,
                               struct esp_error *error)
{
    if (n > 1)
        qsort(ranks, n, sizeof *ranks, by_digest);
    if (n > set->n_ranks) {
        struct cost_ranks *copy = arena_alloc(&set->arena, n * sizeof *copy);
        if (!copy)
            return error_no_memory(error, "the forecasts for ranks");
        set->ranks = copy;
    }
    if (n)
        memcpy(set->ranks, ranks, n * sizeof *ranks);
    set->n_ranks = n;
    cost_set_bound(set);
    return ESP_OK;
}

static double interpolate(const struct cost_ranks *of, double work_flop)
{
    uint32_t i = 1;
    while (i < of->n && of->work_flop[i] < work_flop)
        i++;
    if (i == of->n)
        return (double)of->seconds[i - 1] * work_flop / (double)of->work_flop[i - 1];
    const double low = log((double)of->work_flop[i - 1]), high = log((double)of->work_flop[i]);
    const double at = (log(work_flop) - low) / (high - low), from = log((double)of->seconds[i - 1]);
    return exp(from + at * (log((double)of->seconds[i]) - from));
}

struct cost_ranks *cost_ranks_find(const struct cost_set *set, uint64_t digest)
{
    const struct cost_ranks key = {.digest = digest};
    return set->n_ranks ? bsearch(&key, set->ranks, set->n_ranks, sizeof key, by_digest) : NULL;
}

struct process_grid cost_ranks_grid(const struct cost_ranks *ranks, double work_flop)
{
    uint32_t i = 0; /* points lie evenly by their logarithms */
    while (i + 1 < ranks->n &&
           (double)ranks->work_flop[i] * (double)ranks->work_flop[i + 1] < work_flop * work_flop)
        i++;
    return ranks->n > 0 ? ranks->grids[i] : (struct process_grid){0};
}

double cost_ranks_s(const struct cost_set *set, uint64_t digest, double work_flop)
{
    const struct cost_ranks *of = cost_ranks_find(set, digest);
    if (!of || of->n == 0 || !(work_flop > 0))
        return HUGE_VAL;
    if (work_flop <= (double)of->work_flop[0])
        return (double)of->seconds[0]; /* of less work what it takes to wake ranks is all there is */
    return interpolate(of, work_flop);
}

double cost_ranks_bound(const struct cost_set *set)
{
    double least = HUGE_VAL;
    for (uint32_t i = 0; i < set->n_ranks; i++)
        for (uint32_t k = 0; k < set->ranks[i].n; k++)
            least = fmin(least, (double)set->ranks[i].seconds[k] / (double)set->ranks[i].work_flop[k]);
    return least;
}
