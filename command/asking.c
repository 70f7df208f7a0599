/* SPDX-License-Identifier: Apache-2.0 */
#include "command/asking.h"

#include "command/bar.h"
#include "util/thread_pool.h"

#include <pthread.h>
#include <stdlib.h>

#define AT_A_TIME 64

struct round {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t answered;
    void (*ask)(void *item);
};

struct asked {
    struct thread_job job;
    struct round *round;
    void *item;
};

static void ask_one(void *arg)
{
    struct asked *asked = arg;
    struct round *round = asked->round;
    round->ask(asked->item);
    pthread_mutex_lock(&round->lock);
    round->answered++;
    pthread_cond_signal(&round->changed);
    pthread_mutex_unlock(&round->lock);
}

static void wait_for_all(struct round *round, size_t n)
{
    struct bar bar;
    bar_init(&bar);
    pthread_mutex_lock(&round->lock);
    while (round->answered < n) {
        bar_draw(&bar, (double)round->answered / (double)n, "%zu of %zu nodes", round->answered, n);
        pthread_cond_wait(&round->changed, &round->lock);
    }
    pthread_mutex_unlock(&round->lock);
    bar_clear(&bar);
}

void asking_all(void (*ask)(void *item), void *items, size_t n, size_t size)
{
    struct round round = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .ask = ask};
    struct thread_pool *pool = NULL;
    struct asked *all = calloc(n + 1, sizeof *all);
    struct esp_error error;
    if (!all || thread_pool_create(AT_A_TIME, &pool, &error) != ESP_OK)
        pool = NULL; /* one after the other, then */
    for (size_t i = 0; i < n; i++) {
        void *item = (char *)items + i * size;
        struct asked alone, *asked = all ? &all[i] : &alone;
        *asked = (struct asked){.job = {.run = ask_one, .arg = asked}, .round = &round, .item = item};
        if (!pool || !thread_pool_submit(pool, &asked->job))
            ask_one(asked);
    }
    wait_for_all(&round, n);
    thread_pool_destroy(pool);
    free(all);
}
