/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/patience.h"

#include "util/clock.h"

#include <signal.h>
#include <sys/socket.h>
#include <time.h>

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void *watch(void *self)
{
    struct patience *patience = self;
    pthread_mutex_lock(&patience->lock);
    while (!patience->end) {
        const struct timespec until = {patience->until_ns / NS_PER_S, patience->until_ns % NS_PER_S};
        pthread_cond_timedwait(&patience->changed, &patience->lock, &until);
        if (patience->end || now_ns() < patience->until_ns)
            continue;
        patience->over = true;
        patience->until_ns = now_ns() + patience->ms * NS_PER_MS; /* a socket may come that late */
        if (patience->fd >= 0)
            shutdown(patience->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&patience->lock);
    return NULL;
}

bool patience_begin(struct patience *patience, int64_t ms)
{
    pthread_condattr_t attributes;
    sigset_t all, before;
    *patience = (struct patience){.ms = ms, .fd = -1, .until_ns = now_ns() + ms * NS_PER_MS};
    pthread_mutex_init(&patience->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&patience->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all); /* signals are for the main thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    patience->runs = pthread_create(&patience->thread, NULL, watch, patience) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return patience->runs;
}

void patience_watch(struct patience *patience, int fd)
{
    pthread_mutex_lock(&patience->lock);
    patience->fd = fd;
    if (patience->over && fd >= 0)
        shutdown(fd, SHUT_RDWR);
    pthread_mutex_unlock(&patience->lock);
}

void patience_renew(struct patience *patience)
{
    pthread_mutex_lock(&patience->lock);
    patience->until_ns = now_ns() + patience->ms * NS_PER_MS;
    pthread_cond_signal(&patience->changed);
    pthread_mutex_unlock(&patience->lock);
}

bool patience_is_over(struct patience *patience)
{
    pthread_mutex_lock(&patience->lock);
    const bool over = patience->over;
    pthread_mutex_unlock(&patience->lock);
    return over;
}

void patience_end(struct patience *patience)
{
    pthread_mutex_lock(&patience->lock);
    patience->end = true;
    patience->fd = -1;
    pthread_cond_signal(&patience->changed);
    pthread_mutex_unlock(&patience->lock);
    if (patience->runs)
        pthread_join(patience->thread, NULL);
    pthread_cond_destroy(&patience->changed);
    pthread_mutex_destroy(&patience->lock);
}
