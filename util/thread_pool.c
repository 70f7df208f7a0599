/* SPDX-License-Identifier: Apache-2.0 */
#include "util/thread_pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* Enough for the ORB's marshalling and this library; the default would map 8 MB for each thread. */
#define STACK_BYTES (512 << 10)

struct thread_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct thread_job *first, **last;
    unsigned waiting, idle, threads, most;
    bool closing;
    pthread_t *ids;
};

enum esp_status thread_pool_create(unsigned threads, struct thread_pool **result, struct esp_error *error)
{
    struct thread_pool *pool = calloc(1, sizeof *pool);
    pthread_t *ids = calloc(threads, sizeof *ids);
    if (!pool || !ids) {
        free(pool);
        free(ids);
        return error_no_memory(error, "a pool of threads");
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pool->last = &pool->first;
    pool->most = threads;
    pool->ids = ids;
    *result = pool;
    return ESP_OK;
}

static struct thread_job *take(struct thread_pool *pool)
{
    struct thread_job *job = pool->first;
    pool->first = job->next;
    if (!pool->first)
        pool->last = &pool->first;
    job->next = NULL;
    pool->waiting--;
    return job;
}

static void *thread_main(void *arg)
{
    struct thread_pool *pool = arg;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->first && !pool->closing) {
            pool->idle++;
            pthread_cond_wait(&pool->work, &pool->lock);
            pool->idle--;
        }
        if (!pool->first)
            break;
        struct thread_job job = *take(pool);
        pthread_mutex_unlock(&pool->lock);
        job.run(job.arg);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Called with the lock held. */
static bool start_thread(struct thread_pool *pool)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made = pthread_create(&pool->ids[pool->threads], &attributes, thread_main, pool) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (made)
        pool->threads++;
    return made;
}

bool thread_pool_submit(struct thread_pool *pool, struct thread_job *job)
{
    pthread_mutex_lock(&pool->lock);
    if (pool->waiting >= pool->idle && pool->threads < pool->most && !pool->closing)
        start_thread(pool); /* if it cannot be created now, the present threads do the work */
    bool accepted = pool->threads > 0;
    if (accepted) {
        job->next = NULL;
        *pool->last = job;
        pool->last = &job->next;
        pool->waiting++;
        pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
    return accepted;
}

bool thread_pool_withdraw(struct thread_pool *pool, struct thread_job *job)
{
    bool found = false;
    pthread_mutex_lock(&pool->lock);
    for (struct thread_job **place = &pool->first; *place; place = &(*place)->next)
        if (*place == job) {
            *place = job->next;
            if (!*place)
                pool->last = place;
            job->next = NULL;
            pool->waiting--;
            found = true;
            break;
        }
    pthread_mutex_unlock(&pool->lock);
    return found;
}

unsigned thread_pool_waiting(struct thread_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    unsigned waiting = pool->waiting > pool->idle ? pool->waiting - pool->idle : 0;
    pthread_mutex_unlock(&pool->lock);
    return waiting;
}

void thread_pool_destroy(struct thread_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->threads; i++)
        pthread_join(pool->ids[i], NULL);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool->ids);
    free(pool);
}
