/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/within.h"

#include "util/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Freed by whichever of the two threads finishes last. */
struct task {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*work)(const char *text);
    bool done, left;
    char text[];
};

static void release(struct task *task)
{
    pthread_cond_destroy(&task->changed);
    pthread_mutex_destroy(&task->lock);
    free(task);
}

static void *run(void *self)
{
    struct task *task = self;
    task->work(task->text);
    pthread_mutex_lock(&task->lock);
    task->done = true;
    const bool left = task->left;
    pthread_cond_signal(&task->changed);
    pthread_mutex_unlock(&task->lock);
    if (left)
        release(task);
    return NULL;
}

static bool start(struct task *task)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all); /* signals are for the main thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&thread, NULL, run, task) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

static struct task *create(void (*work)(const char *text), const char *text)
{
    const size_t size = strlen(text) + 1;
    struct task *task = calloc(1, sizeof *task + size);
    pthread_condattr_t attributes;
    if (!task)
        return NULL;
    memcpy(task->text, text, size);
    task->work = work;
    pthread_mutex_init(&task->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&task->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return task;
}

bool within_ms(int64_t ms, void (*work)(const char *text), const char *text)
{
    const struct timespec until = clock_ms_from_now(CLOCK_MONOTONIC, ms);
    struct task *task = create(work, text);
    if (!task)
        return false;
    if (!start(task)) {
        release(task);
        return false;
    }
    pthread_mutex_lock(&task->lock);
    while (!task->done && pthread_cond_timedwait(&task->changed, &task->lock, &until) == 0)
        ;
    const bool done = task->done;
    task->left = true;
    pthread_mutex_unlock(&task->lock);
    if (done)
        release(task);
    return done;
}
