/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries of the pool: whether a routine exists, which worker has a job. */
#include "sed/pool/processes_pool.h"

#include "util/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

#define SILENCE_S 30 /* longest silence of a spawner that loads libraries */

/* Asks the spawner and waits for its answer: about a library, or (NULL) about changed files. ESP_TIMEOUT,
 * ESP_SYSTEM, or the answer's status. Without the lock. */
static enum esp_status ask_spawner(struct pool *pool, const struct spawner_check *check,
                                   struct esp_error *error)
{
    static uint32_t last_id;
    struct timespec until;
    int late = 0;
    pthread_mutex_lock(&pool->lock);
    while (pool->checking)
        pthread_cond_wait(&pool->checked, &pool->lock);
    if (++last_id == 0)
        last_id = 1;
    if (!pool->link)
        pool_refill(pool, true);
    pool->checking = true;
    pool->check = (struct check){.id = last_id, .link = pool->link ? pool->link->number : 0};
    enum esp_status status = link_check(pool, last_id, check, error);
    while (status == ESP_OK && !pool->check.done && late == 0) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += SILENCE_S;
        late = pthread_cond_timedwait(&pool->checked, &pool->lock, &until);
    }
    if (status == ESP_OK && !pool->check.done)
        status =
            error_set(error, ESP_TIMEOUT, "the spawner of workers did not answer within %d s", SILENCE_S);
    else if (status == ESP_OK && pool->check.error.status != ESP_OK)
        status = error_set(error, pool->check.error.status, "%s", pool->check.error.text);
    pool->checking = false;
    pthread_cond_broadcast(&pool->checked);
    pthread_mutex_unlock(&pool->lock);
    return status;
}

enum esp_status processes_check(struct workers *workers, const struct problem *problem,
                                const struct implementation *implementation, struct esp_error *error)
{
    struct call_signature signature;
    char program[SIGNATURE_MAX_PATH];
    struct esp_error said;
    if (implementation_is_parallel(implementation))
        return error_set(error, ESP_INVALID, "ranks call it together (ranks in espalier-sed.conf(5))");
    if (implementation->command)
        return handoff_find_program(problem, implementation, program, error);
    enum esp_status status = signature_build(problem, implementation, &signature, error);
    if (status != ESP_OK)
        return status;
    const struct spawner_check check = link_wanted(&signature);
    status = ask_spawner((struct pool *)workers, &check, &said);
    if (status != ESP_OK)
        return error_set(error, status, "problem %s, implementation %s: %s", problem->name,
                         implementation->name, said.text);
    return ESP_OK;
}

enum esp_status processes_renew(struct workers *workers, const struct problem_set *problems,
                                struct esp_error *error)
{
    struct pool *pool = (struct pool *)workers;
    struct esp_error said;
    enum esp_status status = ask_spawner(pool, NULL, &said);
    if (status == ESP_OK)
        return ESP_OK;
    if (status != ESP_STALE)
        return error_set(error, status, "%s", said.text);
    log_notice("%s is another file now: workers are replaced, calls that run end with the old one",
               said.text);
    pthread_mutex_lock(&pool->lock);
    pool->options.problems = problems;
    status = link_start(pool, error);
    pool->options.problems = NULL;
    if (status == ESP_OK)
        pool_retire(pool);
    pthread_mutex_unlock(&pool->lock);
    return status;
}

/* Counts workers that have started. With the lock. */
static uint32_t count_ready(const struct pool *pool)
{
    uint32_t n = HASH_CNT(by_job, pool->by_job);
    const struct worker *worker;
    DL_FOREACH(pool->idle, worker)
    {
        n += atomic_load(&worker->ring->ready) != 0;
    }
    return n;
}

void processes_count(struct workers *workers, struct processes_counts *counts)
{
    struct pool *pool = (struct pool *)workers;
    pthread_mutex_lock(&pool->lock);
    *counts = (struct processes_counts){.alive = pool->alive,
                                        .born = pool->born,
                                        .died = pool->died,
                                        .grown = pool->grown,
                                        .spawner = pool->link ? pool->link->pid : 0};
    counts->ready = count_ready(pool) - HASH_CNT(by_job, pool->by_job);
    pthread_mutex_unlock(&pool->lock);
}

bool processes_lack(struct workers *workers, char *why, size_t size)
{
    struct pool *pool = (struct pool *)workers;
    pthread_mutex_lock(&pool->lock);
    if (pool->unborn[0] && count_ready(pool) >= pool->options.slots)
        pool->unborn[0] = 0;
    const bool lacks = pool->unborn[0] != 0;
    snprintf(why, size, "%s", pool->unborn);
    pthread_mutex_unlock(&pool->lock);
    return lacks;
}

int32_t processes_pid(struct workers *workers, uint64_t job_id)
{
    struct pool *pool = (struct pool *)workers;
    pthread_mutex_lock(&pool->lock);
    struct worker *worker = pool_find_job(pool, job_id);
    int32_t pid = worker ? worker->pid : 0;
    pthread_mutex_unlock(&pool->lock);
    return pid;
}

double pool_progress(struct workers *workers, uint64_t job_id)
{
    struct pool *pool = (struct pool *)workers;
    pthread_mutex_lock(&pool->lock);
    struct worker *worker = pool_find_job(pool, job_id);
    double progress = worker ? ring_progress(worker->ring) : -1;
    pthread_mutex_unlock(&pool->lock);
    return progress;
}

/* ---- questions of routines to their callers ---- */

/* Returns the worker of a job that waits for an answer, and the number of its question; or NULL. With the
 * lock. */
static struct worker *find_asking(struct pool *pool, uint64_t job_id, uint32_t *number)
{
    struct worker *worker = pool_find_job(pool, job_id);
    if (!worker || worker->claimed || worker->verdict != ESP_OK)
        return NULL;
    *number = atomic_load(&worker->ring->question.asked);
    return *number != atomic_load(&worker->ring->question.answered) ? worker : NULL;
}

bool pool_question(struct workers *workers, uint64_t job_id, struct job_question *question, void *data)
{
    struct pool *pool = (struct pool *)workers;
    uint32_t number;
    pthread_mutex_lock(&pool->lock);
    struct worker *worker = find_asking(pool, job_id, &number);
    if (worker) {
        const struct ring_question *from = &worker->ring->question;
        *question = (struct job_question){.number = number, .argument = from->argument, .bytes = from->bytes};
        /* Not trusted: the routine may have overwritten it. */
        if (question->bytes > CALLBACK_MOST_BYTES)
            question->bytes = CALLBACK_MOST_BYTES;
        if (data)
            memcpy(data, from->data, question->bytes);
    }
    pthread_mutex_unlock(&pool->lock);
    return worker != NULL;
}

void pool_answer(struct workers *workers, uint64_t job_id, uint64_t number, enum esp_status status,
                 const void *data, uint32_t length)
{
    struct pool *pool = (struct pool *)workers;
    uint32_t asked;
    pthread_mutex_lock(&pool->lock);
    struct worker *worker = find_asking(pool, job_id, &asked);
    if (worker && asked == number) {
        struct ring_question *to = &worker->ring->question;
        to->status = status;
        to->answer_bytes = length;
        if (length > 0)
            memcpy(to->data, data, length < CALLBACK_MOST_BYTES ? length : CALLBACK_MOST_BYTES);
        atomic_store(&to->answered, asked);
        ring_wake(&to->answered);
    }
    pthread_mutex_unlock(&pool->lock);
}

/* Returns the next job with an unreported question, and marks it as reported; 0: none. */
static uint64_t next_untold(struct pool *pool)
{
    uint64_t job_id = 0;
    pthread_mutex_lock(&pool->lock);
    for (struct worker *worker = pool->by_job; worker && job_id == 0; worker = worker->by_job.next) {
        uint32_t asked = atomic_load(&worker->ring->question.asked);
        if (asked == worker->told || asked == atomic_load(&worker->ring->question.answered))
            continue;
        worker->told = asked;
        job_id = worker->job_id;
    }
    pthread_mutex_unlock(&pool->lock);
    return job_id;
}

void pool_tell_questions(struct pool *pool)
{
    if (!pool->workers.asked)
        return;
    for (uint64_t job_id = next_untold(pool); job_id != 0; job_id = next_untold(pool))
        pool->workers.asked(pool->workers.arg, job_id);
}
