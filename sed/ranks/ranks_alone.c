/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that do not end: a rank was refused memory in the routine and has returned, and others wait in it for
 * a message of that rank. Nobody dies, so that no channel tells of it, and MPI waits for ever.
 */
#include "sed/ranks/ranks_pool.h"

#include "util/log.h"

#include <stdio.h>

#define ALONE_NS (5 * NS_PER_S)

/* Whether a rank was refused memory, and others are still in the routine. */
static bool is_alone(const struct gang *gang)
{
    const struct ring_gang *all = &gang->ring->gang;
    return atomic_load(&all->refused) > 0 && atomic_load(&all->left) > 0 && !ranks_is_answered(gang);
}

/* A routine that goes on without that memory has no rank that is through long before the others. */
static int64_t patience_of(const struct rank_pool *pool, const struct gang *gang, int64_t now)
{
    const int64_t least = pool->options.alone_ns > 0 ? pool->options.alone_ns : ALONE_NS;
    const uint64_t took = atomic_load(&gang->ring->gang.compute_ns); /* as ranks say */
    const uint64_t most = (uint64_t)(now - gang->started_ns);
    const int64_t own = (int64_t)(took < most ? took : most);
    return own > least ? own : least;
}

static void describe(const struct rank_pool *pool, struct gang *gang, int64_t now)
{
    const struct job *job = &gang->handoff.job;
    const uint32_t place = atomic_load(&gang->ring->gang.refuser) - 1;
    char who[140] = "one of them";
    if (place < gang->n) {
        const uint32_t number = gang->first + place;
        const struct rank *rank = &pool->ranks[number];
        snprintf(who, sizeof who, "rank %u of %u (process %d on %s)", number, pool->options.ranks, rank->pid,
                 rank->host);
    }
    snprintf(gang->why, sizeof gang->why,
             "%.60s on a grid of %u x %u ranks was stopped, as others were still in it %.3g s after %s had "
             "returned",
             job->implementation->symbol, job->grid.rows, job->grid.cols,
             (double)(now - gang->alone_ns) / NS_PER_S, who);
    handoff_append_refusal("rank", atomic_load(&gang->ring->gang.refused), pool->options.memory, gang->why,
                           sizeof gang->why);
}

static void look_at(const struct rank_pool *pool, struct gang *gang, int64_t now)
{
    if (!is_alone(gang)) {
        gang->alone_ns = 0;
        return;
    }
    if (gang->alone_ns == 0)
        gang->alone_ns = now;
    if (now - gang->alone_ns < patience_of(pool, gang, now))
        return;
    describe(pool, gang, now);
    gang->verdict = ESP_FAILED;
    gang->held_up = true;
    log_warning("%s", gang->why);
}

void ranks_look_for_alone(struct rank_pool *pool, int64_t now)
{
    for (uint32_t i = 0; i < pool->n_gangs; i++) {
        struct gang *gang = &pool->gangs[i];
        if (gang->used && !gang->claimed && gang->verdict == ESP_OK)
            look_at(pool, gang, now);
    }
}
