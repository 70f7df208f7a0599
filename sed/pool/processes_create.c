/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates and destroys the pool. */
#include "sed/pool/processes_pool.h"

#include "sed/pool/folder.h"
#include "sed/pool/program.h"
#include "util/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WORKERS 8192

/* Descriptors: each worker needs its socket and its output, and one more while it is created; the server
 * needs a few for its log, the spawner, memory of calls, and connections. */
#define WORKER_DESCRIPTORS 2
#define OTHER_DESCRIPTORS  48

static enum esp_status check_options(const struct processes_options *options, struct esp_error *error)
{
    if (options->slots < 1 || (uint64_t)options->slots + options->spares > MAX_WORKERS)
        return error_set(error, ESP_INVALID, "slots and spares: expected 1 to %d workers, found %u + %u",
                         MAX_WORKERS, options->slots, options->spares);
    if (options->threads < 1 || options->threads > 1024)
        return error_set(error, ESP_INVALID, "threads: expected 1 to 1024, found %u", options->threads);
    if (options->n_limits > SPAWNER_MAX_LIMITS)
        return error_set(error, ESP_INVALID, "limits: at most %d, found %u", SPAWNER_MAX_LIMITS,
                         options->n_limits);
    return ESP_OK;
}

/* Checks them first: with too few, workers would be missing one by one, and calls would fail later without
 * a clear reason. */
static enum esp_status check_descriptors(const struct processes_options *options, struct esp_error *error)
{
    struct rlimit limit;
    uint32_t workers = options->slots + options->spares;
    uint32_t needed = OTHER_DESCRIPTORS + WORKER_DESCRIPTORS * workers;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return ESP_OK;
    return error_set(
        error, ESP_LIMIT,
        "too few file descriptors for %u workers (slots and spares): expected at least %u, found "
        "%lu; raise \"ulimit -n\" (in a unit of systemd LimitNOFILE) or set fewer slots",
        workers, needed, (unsigned long)limit.rlim_cur);
}

static enum esp_status open_events(struct pool *pool, struct esp_error *error)
{
    pool->epoll = epoll_create1(EPOLL_CLOEXEC);
    pool->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pool->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event bell = {.events = EPOLLIN, .data.u64 = EVENT_BELL};
    struct epoll_event wake = {.events = EPOLLIN, .data.u64 = EVENT_WAKE};
    if (pool->epoll < 0 || pool->bell < 0 || pool->wake < 0 ||
        epoll_ctl(pool->epoll, EPOLL_CTL_ADD, pool->bell, &bell) != 0 ||
        epoll_ctl(pool->epoll, EPOLL_CTL_ADD, pool->wake, &wake) != 0)
        return error_errno(error, "cannot watch workers");
    return ESP_OK;
}

static void init_locks(struct pool *pool)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_mutex_init(&pool->output_lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->checked, &attributes);
    pthread_condattr_destroy(&attributes);
}

static enum esp_status take_options(struct pool *pool, const struct processes_options *options,
                                    struct esp_error *error)
{
    pool->options = *options;
    pool->program = options->program ? strdup(options->program) : program_find("sed/espalier-crd");
    pool->library_path = options->library_path ? strdup(options->library_path) : NULL;
    for (uint32_t i = 0; i < options->n_limits; i++)
        pool->limits[i] = options->limits[i];
    pool->options.limits = pool->limits;
    if (!pool->program || (options->library_path && !pool->library_path))
        return error_no_memory(error, "the pool of workers");
    if (access(pool->program, X_OK) != 0)
        return error_errno(error, "cannot run the program of workers, %s", pool->program);
    return ESP_OK;
}

static enum esp_status start_all(struct pool *pool, struct esp_error *error)
{
    enum esp_status status = open_events(pool, error);
    if (status == ESP_OK)
        status = folder_make(pool->options.folder, "crd", pool->folder, sizeof pool->folder,
                             &pool->folder_lock, error);
    if (status == ESP_OK)
        status = link_start(pool, error);
    if (status != ESP_OK)
        return status;
    /* Not needed any more: a later spawner learns the libraries from its own checks. */
    pool->options.problems = NULL;
    pthread_mutex_lock(&pool->lock);
    pool_refill(pool, false);
    bool made = pool->alive > 0 || (pool->link && link_is_full(pool->link));
    if (!made)
        error_set(error, ESP_SYSTEM, "cannot make a single worker%s%s", pool->unborn[0] ? ": " : "",
                  pool->unborn);
    pthread_mutex_unlock(&pool->lock);
    if (!made)
        return ESP_SYSTEM;
    int why = pthread_create(&pool->monitor, NULL, monitor_run, pool);
    if (why != 0)
        return error_set(error, ESP_SYSTEM, "cannot start the thread that watches workers: %s",
                         strerror(why));
    pool->has_monitor = true;
    return ESP_OK;
}

enum esp_status processes_create(const struct processes_options *options, struct workers **workers,
                                 struct esp_error *error)
{
    enum esp_status status = check_options(options, error);
    if (status == ESP_OK)
        status = check_descriptors(options, error);
    if (status != ESP_OK)
        return status;
    struct pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return error_no_memory(error, "the pool of workers");
    pool->workers.ops = &pool_ops;
    pool->epoll = pool->bell = pool->wake = pool->folder_lock = -1;
    init_locks(pool);
    pool->unborn_lines = (struct log_quota){.most = 1, .what = "workers that could not be made"};
    pool->grown_lines = (struct log_quota){.most = 2, .what = "workers that kept too much memory replaced"};
    status = take_options(pool, options, error);
    if (status == ESP_OK)
        status = start_all(pool, error);
    if (status != ESP_OK) {
        pool_destroy(&pool->workers);
        return status;
    }
    *workers = &pool->workers;
    return ESP_OK;
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void pool_destroy(struct workers *workers)
{
    struct pool *pool = (struct pool *)workers;
    if (!pool)
        return;
    atomic_store(&pool->stopping, true);
    if (pool->has_monitor) {
        monitor_wake(pool);
        pthread_join(pool->monitor, NULL);
    }
    link_stop_all(pool);
    pool_free_workers(pool);
    link_free_all(pool);
    if (pool->folder[0])
        folder_remove(pool->folder);
    close_if_open(pool->folder_lock);
    close_if_open(pool->epoll);
    close_if_open(pool->bell);
    close_if_open(pool->wake);
    pthread_cond_destroy(&pool->checked);
    pthread_mutex_destroy(&pool->output_lock);
    pthread_mutex_destroy(&pool->lock);
    free(pool->program);
    free(pool->library_path);
    free(pool);
}
