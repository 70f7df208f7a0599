/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that watches the ranks: deaths, answers that nobody waits for, time limits, output.
 */
#include "sed/ranks/ranks_pool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define SWEEP_NS (200 * NS_PER_MS) /* a helper that was promised may not have come */

/* ---- what mpirun and the ranks print ---- */

/* What went wrong is said first, often over several lines; what follows is what mpirun did about it. */
static void note_words(struct rank_pool *pool)
{
    size_t used = strlen(pool->words);
    const char *line = pool->line + strspn(pool->line, " ");
    snprintf(pool->words + used, sizeof pool->words - used, "%s%.*s", used > 0 ? " " : "",
             (int)strcspn(line, "\n"), line);
}

/* Lines that ranks print come from a terminal of mpirun's, with a carriage return. */
static void cut_return(struct rank_pool *pool)
{
    size_t *n = &pool->line_length;
    const bool ends = *n > 0 && pool->line[*n - 1] == '\n';
    if (ends)
        --*n;
    while (*n > 0 && pool->line[*n - 1] == '\r')
        --*n;
    if (ends)
        pool->line[(*n)++] = '\n';
    pool->line[*n] = 0;
}

static void hand_on(struct rank_pool *pool)
{
    cut_return(pool);
    if (pool->line_length == 0 || (pool->line_length == 1 && pool->line[0] == '\n')) {
        pool->line_length = 0;
        return;
    }
    pthread_mutex_lock(&pool->lock);
    bool ending = pool->state == JOB_ENDING; /* mpirun's words about ranks that we have ended are not news */
    if (strncmp(pool->line, "-----", 5) != 0)
        note_words(pool);
    pthread_mutex_unlock(&pool->lock);
    if (!ending && pool->options.output)
        pool->options.output(pool->options.output_arg, 0, pool->line);
    pool->line_length = 0;
}

static void on_output(struct rank_pool *pool)
{
    char bytes[4096];
    ssize_t n = read(pool->output, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    for (ssize_t i = 0; i < n; i++) {
        pool->line[pool->line_length++] = bytes[i];
        if (bytes[i] == '\n' || pool->line_length == sizeof pool->line - 1)
            hand_on(pool);
    }
    if (n > 0)
        return;
    epoll_ctl(pool->epoll, EPOLL_CTL_DEL, pool->output, NULL);
    hand_on(pool);
}

/* ---- events ---- */

static void clear(int eventfd)
{
    uint64_t count;
    while (read(eventfd, &count, sizeof count) < 0 && errno == EINTR)
        ;
}

static void handle_locked(struct rank_pool *pool, uint64_t what)
{
    if ((uint32_t)what == RANKS_PENDING)
        ranks_on_hello(pool, (int)(what >> 32));
    else if (what == RANKS_LISTENER)
        ranks_on_connection(pool);
    else if (what == RANKS_MPIRUN)
        ranks_on_mpirun_end(pool);
    else
        ranks_on_rank(pool, (uint32_t)what);
}

static void handle(struct rank_pool *pool, uint64_t what)
{
    if (what == RANKS_BELL) {
        clear(pool->bell);
    } else if (what == RANKS_WAKE) {
        clear(pool->wake);
    } else if (what == RANKS_OUTPUT) {
        on_output(pool);
    } else {
        if (what == RANKS_MPIRUN)
            on_output(pool); /* its last words come before its end */
        pthread_mutex_lock(&pool->lock);
        handle_locked(pool, what);
        pthread_mutex_unlock(&pool->lock);
    }
}

/* Returns whether calls are under way. */
static bool sweep(struct rank_pool *pool)
{
    bool any = false;
    for (uint32_t i = 0; i < pool->n_gangs; i++) {
        struct gang *gang = &pool->gangs[i];
        pthread_mutex_lock(&pool->lock);
        bool answered = gang->used && !gang->claimed && ranks_is_answered(gang);
        any |= gang->used;
        gang->users += answered;
        pthread_mutex_unlock(&pool->lock);
        if (!answered)
            continue;
        ranks_collect(pool, gang);
        pthread_mutex_lock(&pool->lock);
        gang->users--;
        pthread_mutex_unlock(&pool->lock);
    }
    return any;
}

static int timeout_ms(int64_t until_ns)
{
    if (until_ns == CLOCK_NEVER)
        return -1;
    int64_t left = until_ns - ranks_now_ns();
    return left <= 0 ? 0 : (int)(left / NS_PER_MS < 1000000 ? left / NS_PER_MS + 1 : 1000000);
}

static int64_t tick(struct rank_pool *pool, bool running, uint64_t *seen)
{
    bool buried;
    pthread_mutex_lock(&pool->lock);
    int64_t until = ranks_tick(pool, &buried), now = ranks_now_ns();
    if ((running || pool->n_calls != *seen) && now + SWEEP_NS < until)
        until = now + SWEEP_NS;
    if (ranks_profile_tells_ns(pool) < until && atomic_load(&pool->workers.changed))
        until = ranks_profile_tells_ns(pool);
    *seen = pool->n_calls;
    atomic_store(&pool->until_ns, until);
    pthread_mutex_unlock(&pool->lock);
    if (buried)
        ranks_bury_calls(pool);
    return until;
}

static void tell_changes(struct rank_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    bool news, (*told)(void *, bool) = atomic_load(&pool->workers.changed);
    if (told && !ranks_profile_tells(pool, ranks_now_ns(), &news))
        told = NULL;
    pthread_mutex_unlock(&pool->lock);
    if (!told || !told(pool->workers.arg, news))
        return;
    pthread_mutex_lock(&pool->lock);
    ranks_profile_tell_again(pool, ranks_now_ns());
    pthread_mutex_unlock(&pool->lock);
}

void *ranks_monitor(void *arg)
{
    struct rank_pool *pool = arg;
    bool running = false;
    uint64_t seen = 0;
    while (!atomic_load(&pool->stopping)) {
        struct epoll_event events[16];
        int n = epoll_wait(pool->epoll, events, 16, timeout_ms(tick(pool, running, &seen)));
        for (int i = 0; i < n; i++)
            handle(pool, events[i].data.u64);
        running = sweep(pool);
        oom_look(&pool->oom, ranks_now_ns());
        ranks_profile_save(pool, false);
        tell_changes(pool);
    }
    return NULL;
}
