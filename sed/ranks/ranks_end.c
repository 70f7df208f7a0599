/* SPDX-License-Identifier: Apache-2.0
 *
 * How a call on ranks ends: answered, stopped, or lost with its job.
 */
#include "sed/ranks/ranks_pool.h"

#include <stdio.h>
#include <string.h>

bool ranks_is_answered(const struct gang *gang)
{
    return (atomic_load_explicit(&gang->ring->reply, memory_order_acquire) & ~RING_WAITERS) == RING_DONE;
}

static void release(struct rank_pool *pool, struct gang *gang)
{
    if (gang->promised)
        atomic_fetch_sub(&gang->ring->attended, 1);
    gang->promised = gang->used = false;
    for (uint32_t i = gang->first; i < gang->first + gang->n; i++)
        pool->busy[i] = false;
}

static void describe_timeout(const struct gang *gang, uint64_t may_have, struct esp_error *error)
{
    const uint64_t refused = atomic_load(&gang->ring->gang.refused);
    error_set(error, ESP_TIMEOUT, "%s was stopped after its time limit of %.3g s",
              gang->handoff.job.implementation->symbol, (double)gang->handoff.job.time_limit_ms / 1e3);
    if (refused > 0)
        handoff_append_refusal("rank", refused, may_have, error->text, sizeof error->text);
}

static void describe_verdict(const struct rank_pool *pool, const struct gang *gang, struct job_end *end)
{
    *end = (struct job_end){.compute_s = (double)(ranks_now_ns() - gang->started_ns) / 1e9};
    if (gang->verdict == ESP_TIMEOUT)
        describe_timeout(gang, pool->options.memory, &end->error);
    else if (gang->verdict == ESP_FAILED)
        error_set(&end->error, ESP_FAILED, "%s; the ranks are started again", gang->why);
    else
        error_set(&end->error, ESP_CANCELLED, "cancelled while it was running");
}

/* One that was given up, and has ended by itself while others were waited for, is as any other. */
static bool was_stopped(const struct gang *gang)
{
    return gang->verdict != ESP_OK && (gang->verdict != ESP_FAILED || !ranks_is_answered(gang));
}

static void report(struct rank_pool *pool, uint64_t job_id, const struct job_end *end)
{
    if (pool->workers.ended)
        pool->workers.ended(pool->workers.arg, job_id, end);
}

/* A rank without memory would fail the next call too: a limit of its own stays, and so does what its
 * libraries hold. Calls that are under way go on, others wait for the new job. */
static void replace_starved(struct rank_pool *pool, const struct gang *gang, struct esp_error *error)
{
    static const char next[] = "; the ranks are started again";
    if (!atomic_load(&gang->ring->gang.starved) || error->status == ESP_OK)
        return;
    snprintf(pool->worn, sizeof pool->worn, "a call found no memory on a rank: %.240s", error->text);
    const size_t length = strlen(error->text);
    snprintf(error->text + length, sizeof error->text - length, "%s", next);
}

void ranks_collect(struct rank_pool *pool, struct gang *gang)
{
    struct job_end end = {0};
    bool unused;
    pthread_mutex_lock(&pool->lock);
    bool mine = gang->used && !gang->claimed && ranks_is_answered(gang);
    if (mine)
        gang->claimed = true;
    pthread_mutex_unlock(&pool->lock);
    if (!mine)
        return;
    uint64_t job_id = gang->job_id;
    int64_t now = ranks_now_ns();
    handoff_read(gang->ring, &gang->handoff, now - gang->started_ns, NULL, &end, &unused);
    pthread_mutex_lock(&pool->lock);
    if (end.error.status == ESP_OK) {
        ranks_profile_learn(pool, gang, now);
        ranks_know(pool, gang);
    }
    replace_starved(pool, gang, &end.error);
    if (was_stopped(gang))
        describe_verdict(pool, gang, &end);
    end.first_rank = gang->first;
    release(pool, gang);
    ranks_end_when_wanted(pool);
    pthread_mutex_unlock(&pool->lock);
    report(pool, job_id, &end);
}

/* An array that each rank has whole is computed with where it is. */
static bool is_written_in_place(const struct job *job)
{
    for (uint32_t i = 0; i < job->problem->n_arguments; i++)
        if (job->problem->arguments[i].mode == MODE_INOUT && job->problem->arguments[i].n_dims > 0 &&
            job->implementation->spreads[i].kind == SPREAD_WHOLE)
            return true;
    return false;
}

/* By nothing that it did, as far as can be seen: the job has ended for a rank of another call, or of none. */
static bool is_blameless(const struct rank_pool *pool, const struct gang *gang)
{
    const bool has_part = pool->culprit >= gang->first && pool->culprit < gang->first + gang->n;
    return pool->outside || (pool->culprit != RANKS_NOBODY && !has_part);
}

/* Before it, ranks of this host wait for each other; not where each is known to be able to make it. */
static bool was_waited_for(const struct gang *gang)
{
    const struct ring *ring = gang->ring;
    return !ring->job.sure && !ring->job.apart && atomic_load(&ring->gang.prepared) < gang->n;
}

static void describe_lost(const struct rank_pool *pool, const struct gang *gang, struct job_end *end)
{
    error_set(&end->error, ESP_CRASHED, "%s on a grid of %u x %u ranks was lost: %s",
              gang->handoff.job.implementation->symbol, gang->handoff.job.grid.rows,
              gang->handoff.job.grid.cols, pool->trouble);
    end->lost = is_blameless(pool, gang);
    end->unbegun = was_waited_for(gang);
    end->intact = !atomic_load(&gang->ring->gang.touched) && !is_written_in_place(&gang->handoff.job);
}

static void describe_loss(const struct rank_pool *pool, const struct gang *gang, struct job_end *end)
{
    bool unused;
    if (was_stopped(gang))
        describe_verdict(pool, gang, end);
    else if (ranks_is_answered(gang))
        handoff_read(gang->ring, &gang->handoff, ranks_now_ns() - gang->started_ns, NULL, end, &unused);
    else
        describe_lost(pool, gang, end);
}

void ranks_bury_calls(struct rank_pool *pool)
{
    for (uint32_t i = 0; i < pool->n_gangs; i++) {
        struct gang *gang = &pool->gangs[i];
        struct job_end end = {0};
        pthread_mutex_lock(&pool->lock);
        bool mine = gang->used && !gang->claimed;
        uint64_t job_id = gang->job_id;
        if (mine) {
            gang->claimed = true;
            describe_loss(pool, gang, &end);
            end.first_rank = gang->first;
            release(pool, gang);
            atomic_store(&gang->ring->reply, RING_DONE); /* whoever waits for it waits in vain */
            ring_wake(&gang->ring->reply);
        }
        pthread_mutex_unlock(&pool->lock);
        if (mine)
            report(pool, job_id, &end);
    }
}
