/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates and releases workers. */
#include "sed/pool/processes_pool.h"

#include "util/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

int64_t pool_now_ns(void)
{
    return clock_now_ns(&clock_system);
}

static void free_worker(struct worker *worker)
{
    if (worker->socket >= 0)
        close(worker->socket);
    if (worker->output >= 0)
        close(worker->output);
    ring_unmap(worker->ring);
    free(worker);
}

void pool_release(struct pool *pool, struct worker *worker)
{
    if (--worker->users > 0 || !worker->dead || worker->state != WORKER_DOOMED)
        return;
    struct link *link = worker->link;
    HASH_DELETE(by_id, pool->by_id, worker);
    epoll_ctl(pool->epoll, EPOLL_CTL_DEL, worker->output, NULL);
    free_worker(worker);
    link->workers--;
    link_release(pool, link);
}

static void close_all(const int *descriptors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
}

/* Fills given[] with the worker's ends, which the caller closes: socket, ring, bell (not to be closed),
 * output. */
static enum esp_status open_worker(struct pool *pool, struct worker *worker, int *given,
                                   struct esp_error *error)
{
    int ends[2], pipe_ends[2];
    enum esp_status status = ring_create(&worker->ring, &given[1], error);
    if (status != ESP_OK)
        return status;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return error_errno(error, "cannot make a worker's socket");
    worker->socket = ends[0];
    given[0] = ends[1];
    /* Blocking for the routine, which waits if it prints faster than the daemon reads, so that no output
     * is lost; the daemon does not wait. */
    if (pipe2(pipe_ends, O_CLOEXEC) != 0)
        return error_errno(error, "cannot make a pipe for a worker's output");
    worker->output = pipe_ends[0];
    given[3] = pipe_ends[1];
    if (fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK) != 0)
        return error_errno(error, "cannot make a pipe for a worker's output");
    return monitor_watch_output(pool, worker, error);
}

static enum esp_status make_worker(struct pool *pool, struct esp_error *error)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return error_no_memory(error, "a worker");
    int given[SPAWNER_DESCRIPTORS] = {-1, -1, -1, -1};
    worker->id = ++pool->next_id;
    worker->socket = worker->output = -1;
    enum esp_status status = open_worker(pool, worker, given, error);
    given[2] = pool->bell;
    if (status == ESP_OK)
        status = link_spawn(pool, worker->id, given, error);
    given[2] = -1;
    close_all(given, SPAWNER_DESCRIPTORS);
    if (status != ESP_OK) {
        free_worker(worker);
        return status;
    }
    worker->link = pool->link;
    worker->link->workers++;
    HASH_ADD(by_id, pool->by_id, id, sizeof worker->id, worker);
    DL_APPEND(pool->idle, worker);
    pool->alive++;
    return ESP_OK;
}

void pool_refill(struct pool *pool, bool urgent)
{
    if (atomic_load(&pool->stopping) || (pool_now_ns() < pool->retry_ns && !urgent))
        return;
    struct esp_error error = {0};
    bool fine = pool->link || link_start(pool, &error) == ESP_OK;
    /* If the spawner has not read earlier messages, further workers are requested when it has. */
    while (fine && pool->alive < pool->options.slots + pool->options.spares && !link_is_full(pool->link))
        fine = make_worker(pool, &error) == ESP_OK;
    if (fine)
        return;
    pool->retry_ns = pool_now_ns() + POOL_RETRY_NS;
    pool_cannot(pool, error.text);
}

void pool_doom(struct pool *pool, struct worker *worker)
{
    worker->state = WORKER_DOOMED;
    pool->alive -= worker->kept == 0;
    if (!worker->dead)
        link_kill(pool, worker);
    pool_refill(pool, false);
}

void pool_retire(struct pool *pool)
{
    struct worker *worker, *next;
    DL_FOREACH_SAFE(pool->idle, worker, next)
    {
        if (pool_is_current(pool, worker))
            continue;
        DL_DELETE(pool->idle, worker);
        pool_doom(pool, worker); /* creates a replacement */
    }
}

void pool_born(struct pool *pool, uint32_t id, int32_t pid)
{
    struct worker *worker;
    pthread_mutex_lock(&pool->lock);
    HASH_FIND(by_id, pool->by_id, &id, sizeof id, worker);
    if (worker) {
        worker->pid = pid;
        pool->born++;
    }
    pthread_mutex_unlock(&pool->lock);
}

void pool_free_workers(struct pool *pool)
{
    struct worker *worker, *next;
    HASH_CLEAR(by_job, pool->by_job);
    HASH_ITER(by_id, pool->by_id, worker, next)
    {
        HASH_DELETE(by_id, pool->by_id, worker);
        free_worker(worker);
    }
}
