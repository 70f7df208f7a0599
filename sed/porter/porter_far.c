/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/porter/porter_far.h"

#include "sed/porter/porter_internal.h"

#include "core/redistribution/pieces.h"
#include "util/clock.h"
#include "util/log.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* One rank, and the thread that waits for it. */
struct far_rank {
    struct porter_far *far;
    struct porter_lender at;
    uint32_t piece;
    pthread_t thread;
    bool has_it;
};

struct porter_far {
    struct porter_order order;
    unsigned char secret[PORTER_SECRET_BYTES];
    int stop;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t left; /* threads that are not through */
    uint32_t n;
    struct far_rank ranks[PORTER_LENDERS_MOST];
};

/* ---- one rank ---- */

static enum esp_status say_order(const struct far_rank *rank, const struct porter_line *line,
                                 struct esp_error *error)
{
    const struct porter_far *far = rank->far;
    struct porter_order order = far->order;
    struct porter_answer answer;
    const struct porter_end soon = {.stop = far->stop, .order = -1, .stall_ms = PORTER_CONNECT_MS},
                            end = {.stop = far->stop, .order = -1, .stall_ms = INT_MAX};
    order.place = rank->piece;
    enum esp_status status = porter_line_say(line, &order, sizeof order, &soon, error);
    if (status == ESP_OK)
        status = porter_line_hear(line, &answer, sizeof answer, &end, error);
    if (status != ESP_OK)
        return status;
    answer.text[sizeof answer.text - 1] = 0;
    return answer.status == ESP_OK ? ESP_OK
                                   : error_set(error, (enum esp_status)answer.status, "%s", answer.text);
}

static enum esp_status have_fetched(const struct far_rank *rank, struct esp_error *error)
{
    const struct porter_far *far = rank->far;
    struct porter_line line = {.socket = -1};
    const struct porter_end soon = {.stop = far->stop, .order = -1, .stall_ms = PORTER_CONNECT_MS};
    enum esp_status status =
        porter_connect(rank->at.host, rank->at.port, PORTER_CONNECT_MS, &soon, &line.socket, error);
    if (status == ESP_OK)
        status = porter_tls_connect(line.socket, PORTER_ORDERS, far->secret, &soon, &line.tls, error);
    if (status == ESP_OK)
        status = say_order(rank, &line, error);
    porter_tls_close(line.tls);
    if (line.socket >= 0)
        close(line.socket);
    return status;
}

static void *run(void *arg)
{
    struct far_rank *rank = arg;
    struct porter_far *far = rank->far;
    struct esp_error error;
    rank->has_it = have_fetched(rank, &error) == ESP_OK;
    if (!rank->has_it)
        log_debug("rank %u at %s:%u has not fetched its piece: %s", rank->at.rank, rank->at.host,
                  rank->at.port, error.text);
    pthread_mutex_lock(&far->lock);
    far->left--;
    pthread_cond_broadcast(&far->changed);
    pthread_mutex_unlock(&far->lock);
    return NULL;
}

/* ---- all of them ---- */

/* Calls go to ranks row by row of their grid. */
static bool has_place(const struct porter_far *far, const struct porter_lender *rank, uint32_t *piece)
{
    const struct block_cyclic_matrix *to = &far->order.to;
    if (rank->rank >= far->order.places)
        return false;
    const int64_t place =
        block_cyclic_matrix_rank(to, rank->rank / to->cols.ranks, rank->rank % to->cols.ranks);
    *piece = (uint32_t)place;
    return pieces_count(to, place) > 0;
}

static void start(struct porter_far *far, const struct porter_lender *at)
{
    struct far_rank *rank = &far->ranks[far->n];
    *rank = (struct far_rank){.far = far, .at = *at};
    if (!has_place(far, at, &rank->piece))
        return;
    pthread_mutex_lock(&far->lock);
    far->left++;
    pthread_mutex_unlock(&far->lock);
    if (pthread_create(&rank->thread, NULL, run, rank) == 0) {
        far->n++;
        return;
    }
    pthread_mutex_lock(&far->lock);
    far->left--;
    pthread_mutex_unlock(&far->lock);
}

static void start_all(struct porter_far *far, const struct porter_lenders *ranks)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* its threads inherit that */
    for (uint32_t i = 0; i < ranks->n && i < PORTER_LENDERS_MOST; i++)
        start(far, &ranks->all[i]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static struct porter_far *create(const struct porter_lenders *ranks, const struct porter_order *order)
{
    pthread_condattr_t attributes;
    struct porter_far *far = calloc(1, sizeof *far);
    const int stop = far ? eventfd(0, EFD_CLOEXEC) : -1;
    if (stop < 0) {
        free(far);
        return NULL;
    }
    far->stop = stop;
    far->order = *order;
    far->order.kind = PORTER_KEEP;
    far->order.version = PORTER_VERSION;
    far->order.name = ranks->name;
    far->order.places = (uint32_t)block_cyclic_matrix_ranks(&order->to);
    memcpy(far->secret, ranks->secret, sizeof far->secret);
    pthread_mutex_init(&far->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&far->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return far;
}

struct porter_far *porter_far_begin(const struct porter_lenders *ranks, const struct porter_order *order)
{
    if (ranks->n == 0 || block_cyclic_matrix_ranks(&order->to) > ranks->ranks)
        return NULL;
    struct porter_far *far = create(ranks, order);
    if (far)
        start_all(far, ranks);
    return far;
}

/* Until all are through, or so long. */
static void wait_for_all(struct porter_far *far, int wait_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const int64_t ns = until.tv_nsec + (int64_t)wait_ms * NS_PER_MS;
    until.tv_sec += (time_t)(ns / NS_PER_S);
    until.tv_nsec = (long)(ns % NS_PER_S);
    pthread_mutex_lock(&far->lock);
    while (far->left > 0 && pthread_cond_timedwait(&far->changed, &far->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&far->lock);
}

uint32_t porter_far_end(struct porter_far *far, int wait_ms)
{
    static const uint64_t one = 1;
    uint32_t have = 0;
    if (!far)
        return 0;
    wait_for_all(far, wait_ms);
    while (write(far->stop, &one, sizeof one) != sizeof one)
        ;
    for (uint32_t i = 0; i < far->n; i++) {
        pthread_join(far->ranks[i].thread, NULL);
        have += far->ranks[i].has_it;
    }
    close(far->stop);
    pthread_cond_destroy(&far->changed);
    pthread_mutex_destroy(&far->lock);
    free(far);
    return have;
}
