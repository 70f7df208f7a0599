/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be asked of the pool: whether a routine is there, who is at work.
 */
#include "sed/processes_pool.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

enum esp_status processes_check(struct workers *workers, const struct problem *problem,
                                const struct implementation *implementation, struct esp_error *error)
{
    static uint32_t last_id;
    struct pool *pool = (struct pool *)workers;
    struct call_signature signature;
    struct spawner_check check;
    char program[SIGNATURE_MAX_PATH];
    if (implementation->command)
        return handoff_find_program(problem, implementation, program, error);
    enum esp_status status = signature_build(problem, implementation, &signature, error);
    if (status != ESP_OK)
        return status;
    check = link_wanted(&signature);
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 30;
    pthread_mutex_lock(&pool->lock);
    while (pool->checking)
        pthread_cond_wait(&pool->checked, &pool->lock);
    if (++last_id == 0)
        last_id = 1;
    pool->checking = true;
    pool->check = (struct check){.id = last_id};
    status = link_check(pool, last_id, &check, error);
    int late = 0;
    while (status == ESP_OK && !pool->check.done && late == 0)
        late = pthread_cond_timedwait(&pool->checked, &pool->lock, &until);
    if (status == ESP_OK && !pool->check.done)
        status = error_set(error, ESP_TIMEOUT, "the spawner of workers did not answer within 30 s");
    else if (status == ESP_OK && pool->check.error.status != ESP_OK)
        status = error_set(error, pool->check.error.status, "problem %s, implementation %s: %s",
                           problem->name, implementation->name, pool->check.error.text);
    pool->checking = false;
    pthread_cond_broadcast(&pool->checked);
    pthread_mutex_unlock(&pool->lock);
    return status;
}

void processes_count(struct workers *workers, struct processes_counts *counts)
{
    struct pool *pool = (struct pool *)workers;
    struct worker *worker;
    pthread_mutex_lock(&pool->lock);
    *counts = (struct processes_counts){
        .alive = pool->alive, .born = pool->born, .died = pool->died, .spawner = pool->spawner_pid};
    DL_FOREACH(pool->idle, worker)
    {
        counts->ready += atomic_load(&worker->ring->ready) != 0;
    }
    pthread_mutex_unlock(&pool->lock);
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
    double progress = worker ? atomic_load_explicit(&worker->ring->progress, memory_order_relaxed) : -1;
    pthread_mutex_unlock(&pool->lock);
    /* A routine that scribbled over the ring may have left anything. */
    return progress >= 0 && progress <= 1 ? progress : -1;
}

/* ---- questions of routines to their callers ---- */

/* The worker of a job that waits for an answer, and the number of its question; or NULL. With the lock. */
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
        /* Believed by nobody: it may have been scribbled over. */
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

/* The next job with a question that nobody was told of, which is told now; 0: none. */
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
