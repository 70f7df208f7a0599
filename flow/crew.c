/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "flow/crew.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct ended {
    struct ended *next;
    struct crew_event event;
};

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t work, sessions, events;
    pthread_t threads[CREW_MOST_THREADS], waiter;
    unsigned n_threads, n_idle;
    struct crew_job *jobs, **last_job;
    struct ended *ended, **last_ended;
    size_t n_jobs;     /* given and not taken by crew_next() */
    size_t n_sessions; /* under way and not taken */
    size_t n_watched;  /* sessions that the waiter has not reported */
    bool closing, has_waiter;
};

static void report(struct crew *crew, const struct crew_event *event)
{
    struct ended *ended = malloc(sizeof *ended);
    while (!ended) { /* an event must not be lost; memory comes back as other calls end */
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        ended = malloc(sizeof *ended);
    }
    *ended = (struct ended){.event = *event};
    pthread_mutex_lock(&crew->lock);
    *crew->last_ended = ended;
    crew->last_ended = &ended->next;
    pthread_cond_signal(&crew->events);
    pthread_mutex_unlock(&crew->lock);
}

static void *do_jobs(void *arg)
{
    struct crew *crew = arg;
    pthread_mutex_lock(&crew->lock);
    while (!crew->closing || crew->jobs) {
        struct crew_job *job = crew->jobs;
        if (!job) {
            crew->n_idle++;
            pthread_cond_wait(&crew->work, &crew->lock);
            crew->n_idle--;
            continue;
        }
        crew->jobs = job->next;
        if (!crew->jobs)
            crew->last_job = &crew->jobs;
        pthread_mutex_unlock(&crew->lock);
        job->work(job);
        report(crew, &(struct crew_event){.job = job});
        pthread_mutex_lock(&crew->lock);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* Waits for the next session that ends. False: there is none, or the library has been closed. */
static bool await_session(struct crew_event *event)
{
    *event = (struct crew_event){.session = GRPC_SESSIONID_VOID};
    grpc_wait_any(&event->session);
    if (event->session == GRPC_SESSIONID_VOID)
        return false;
    if (esp_session_info_get(event->session, &event->info) != ESP_OK)
        event->info = NULL;
    return true;
}

static void *wait_for_sessions(void *arg)
{
    struct crew *crew = arg;
    pthread_mutex_lock(&crew->lock);
    while (!crew->closing) {
        struct crew_event event;
        if (crew->n_watched == 0) {
            pthread_cond_wait(&crew->sessions, &crew->lock);
            continue;
        }
        pthread_mutex_unlock(&crew->lock);
        bool found = await_session(&event);
        if (found)
            report(crew, &event);
        else
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); /* about to begin, or all is closing */
        pthread_mutex_lock(&crew->lock);
        crew->n_watched -= found && crew->n_watched > 0;
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

enum esp_status crew_create(struct crew **crew, struct esp_error *error)
{
    struct crew *made = calloc(1, sizeof *made);
    pthread_condattr_t attributes;
    *crew = NULL;
    if (!made)
        return error_no_memory(error, "a run of a flow");
    made->last_job = &made->jobs;
    made->last_ended = &made->ended;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->work, NULL);
    pthread_cond_init(&made->sessions, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&made->events, &attributes);
    pthread_condattr_destroy(&attributes);
    made->has_waiter = pthread_create(&made->waiter, NULL, wait_for_sessions, made) == 0;
    if (pthread_create(&made->threads[0], NULL, do_jobs, made) == 0)
        made->n_threads = 1;
    if (!made->has_waiter || made->n_threads == 0) {
        crew_destroy(made);
        return error_set(error, ESP_SYSTEM, "no thread can be started for the run of a flow");
    }
    *crew = made;
    return ESP_OK;
}

void crew_destroy(struct crew *crew)
{
    if (!crew)
        return;
    pthread_mutex_lock(&crew->lock);
    crew->closing = true;
    pthread_cond_broadcast(&crew->work);
    pthread_cond_broadcast(&crew->sessions);
    pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->n_threads; i++)
        pthread_join(crew->threads[i], NULL);
    if (crew->has_waiter)
        pthread_join(crew->waiter, NULL);
    while (crew->ended) {
        struct ended *next = crew->ended->next;
        esp_session_info_free(crew->ended->event.info);
        free(crew->ended);
        crew->ended = next;
    }
    pthread_cond_destroy(&crew->work);
    pthread_cond_destroy(&crew->sessions);
    pthread_cond_destroy(&crew->events);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

void crew_give(struct crew *crew, struct crew_job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&crew->lock);
    *crew->last_job = job;
    crew->last_job = &job->next;
    crew->n_jobs++;
    if (crew->n_idle == 0 && crew->n_threads < CREW_MOST_THREADS &&
        pthread_create(&crew->threads[crew->n_threads], NULL, do_jobs, crew) == 0)
        crew->n_threads++;
    pthread_cond_signal(&crew->work);
    pthread_mutex_unlock(&crew->lock);
}

void crew_watch(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->n_sessions++;
    crew->n_watched++;
    pthread_cond_signal(&crew->sessions);
    pthread_mutex_unlock(&crew->lock);
}

bool crew_is_busy(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    bool is_busy = crew->n_jobs > 0 || crew->n_sessions > 0;
    pthread_mutex_unlock(&crew->lock);
    return is_busy;
}

bool crew_next(struct crew *crew, long patience_ms, struct crew_event *event)
{
    struct timespec until;
    int waited = 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += patience_ms / 1000;
    until.tv_nsec += patience_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&crew->lock);
    while (!crew->ended && waited == 0)
        waited = pthread_cond_timedwait(&crew->events, &crew->lock, &until);
    struct ended *ended = crew->ended;
    if (ended) {
        crew->ended = ended->next;
        if (!crew->ended)
            crew->last_ended = &crew->ended;
        crew->n_jobs -= ended->event.job != NULL;
        crew->n_sessions -= ended->event.job == NULL;
        *event = ended->event;
    }
    pthread_mutex_unlock(&crew->lock);
    free(ended);
    return ended != NULL;
}
