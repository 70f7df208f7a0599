/* SPDX-License-Identifier: Apache-2.0
 *
 * Making and ending the pool of ranks.
 */
#include "sed/ranks/ranks_pool.h"

#include "sed/pool/folder.h"
#include "sed/pool/program.h"
#include "util/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SHARED_MEMORY "/dev/shm"

static enum esp_status take_options(struct rank_pool *pool, const struct ranks_options *options,
                                    struct esp_error *error)
{
    pool->options = *options;
    if (options->ranks < 1 || options->ranks > RANKS_MOST)
        return error_set(error, ESP_INVALID, "ranks: expected 1 to %d, found %u", RANKS_MOST, options->ranks);
    pool->mpirun = strdup(options->mpirun ? options->mpirun : "mpirun");
    pool->hostfile = options->hostfile ? strdup(options->hostfile) : NULL;
    pool->program = options->program ? strdup(options->program) : program_find("sed/mpi/espalier-prd");
    pool->ranks = calloc(options->ranks, sizeof *pool->ranks);
    pool->busy = calloc(options->ranks, sizeof *pool->busy);
    pool->known = calloc(options->ranks, sizeof *pool->known);
    if (!pool->mpirun || !pool->program || !pool->ranks || !pool->busy || !pool->known ||
        (options->hostfile && !pool->hostfile))
        return error_no_memory(error, "the pool of ranks");
    for (uint32_t i = 0; i < options->ranks; i++)
        pool->ranks[i] = RANK_NOT_THERE;
    pool->profile_path = options->profile ? strdup(options->profile) : NULL;
    if (options->profile && !pool->profile_path)
        return error_no_memory(error, "the pool of ranks");
    pool->options.profile = pool->profile_path;
    ranks_profile_load(pool);
    if (access(pool->program, X_OK) != 0)
        return error_set(error, ESP_NOT_FOUND,
                         "there is no program of ranks, %s: parallel servers need a build with MPI "
                         "(libscalapack-openmpi-dev)",
                         pool->program);
    return ESP_OK;
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void close_listener(struct rank_pool *pool)
{
    close_if_open(pool->listener); /* and so nobody watches it any more */
    close_if_open(pool->folder_held);
    close_if_open(pool->folder_lock);
    pool->listener = pool->folder_held = pool->folder_lock = -1;
    free(pool->folder);
    free(pool->path);
    pool->folder = pool->path = NULL;
}

static enum esp_status open_listener(struct rank_pool *pool, struct esp_error *error)
{
    char folder[100];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    enum esp_status status =
        folder_make(pool->options.folder, "prd", folder, sizeof folder, &pool->folder_lock, error);
    if (status != ESP_OK)
        return status;
    pool->folder = strdup(folder);
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s/s", folder);
    pool->path = strdup(address.sun_path);
    if (!pool->folder || !pool->path)
        return error_no_memory(error, "the ranks' socket");
    pool->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* systemd-tmpfiles leaves locked folders alone. */
    if ((pool->folder_held = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0)
        flock(pool->folder_held, LOCK_SH | LOCK_NB);
    if (pool->listener < 0 || bind(pool->listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(pool->listener, RANKS_MOST) != 0)
        return error_errno(error, "cannot listen for ranks at %s", pool->path);
    return ESP_OK;
}

/* MPI keeps in files there what ranks of one host share, and leaves them when it is killed: so they are in a
 * folder that goes with the pool. Ranks of other hosts have no such folder. */
static enum esp_status open_shared_folder(struct rank_pool *pool, struct esp_error *error)
{
    char folder[100];
    if (pool->hostfile || access(SHARED_MEMORY, W_OK | X_OK) != 0)
        return ESP_OK;
    enum esp_status status =
        folder_make(SHARED_MEMORY, "ranks", folder, sizeof folder, &pool->shared_lock, error);
    if (status == ESP_OK && !(pool->shared = strdup(folder)))
        status = error_no_memory(error, "the ranks' shared memory");
    return status;
}

enum esp_status ranks_keep_folders(struct rank_pool *pool, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    if (access(pool->path, F_OK) != 0) {
        log_warning("the folder of the ranks' socket, %s, was removed by another program: it is made anew",
                    pool->folder);
        folder_remove(pool->folder);
        close_listener(pool);
        status = open_listener(pool, error);
        if (status == ESP_OK && !ranks_watch(pool, pool->listener, RANKS_LISTENER))
            status = error_errno(error, "cannot watch ranks");
    }
    if (status == ESP_OK && pool->shared && access(pool->shared, F_OK) != 0) {
        free(pool->shared);
        pool->shared = NULL;
        close_if_open(pool->shared_lock);
        status = open_shared_folder(pool, error);
    }
    return status;
}

static enum esp_status open_events(struct rank_pool *pool, struct esp_error *error)
{
    pool->epoll = epoll_create1(EPOLL_CLOEXEC);
    pool->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pool->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pool->epoll < 0 || pool->bell < 0 || pool->wake < 0 ||
        !ranks_watch(pool, pool->listener, RANKS_LISTENER) || !ranks_watch(pool, pool->bell, RANKS_BELL) ||
        !ranks_watch(pool, pool->wake, RANKS_WAKE))
        return error_errno(error, "cannot watch ranks");
    return ESP_OK;
}

static enum esp_status make_rings(struct rank_pool *pool, struct esp_error *error)
{
    uint32_t n = pool->options.ranks < RANK_RINGS_MOST ? pool->options.ranks : RANK_RINGS_MOST;
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; i < n && status == ESP_OK; i++) {
        status = ring_create(&pool->gangs[i].ring, &pool->gangs[i].ring_fd, error);
        pool->n_gangs += status == ESP_OK;
    }
    return status;
}

static enum esp_status make_shared_memory(struct rank_pool *pool, struct esp_error *error)
{
    enum esp_status status = board_create(&pool->board, &pool->board_fd, error);
    return status == ESP_OK ? make_rings(pool, error) : status;
}

static struct ring *ring_of(void *arg, uint32_t number)
{
    const struct rank_pool *pool = arg;
    return number < pool->n_gangs ? pool->gangs[number].ring : NULL;
}

static enum esp_status send_envoys(struct rank_pool *pool, struct esp_error *error)
{
    const struct envoys_options options = {.host = pool->options.host,
                                           .ranks = pool->options.ranks,
                                           .keeps = pool->options.keeps_data,
                                           .lends = pool->options.lends_data,
                                           .seals = pool->options.seals_data,
                                           .bell = pool->bell,
                                           .ring = ring_of,
                                           .arrived = ranks_on_arrival,
                                           .pulse = ranks_on_pulse,
                                           .arg = pool};
    return envoys_create(&options, &pool->envoys, error);
}

static enum esp_status start_monitor(struct rank_pool *pool, struct esp_error *error)
{
    int why = pthread_create(&pool->monitor, NULL, ranks_monitor, pool);
    if (why != 0)
        return error_set(error, ESP_SYSTEM, "cannot start the thread that watches ranks: %s", strerror(why));
    pool->has_monitor = true;
    return ESP_OK;
}

enum esp_status ranks_create(const struct ranks_options *options, struct workers **workers,
                             struct esp_error *error)
{
    struct rank_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return error_no_memory(error, "the pool of ranks");
    pool->workers.ops = &ranks_ops;
    pool->listener = pool->bell = pool->wake = pool->epoll = pool->output = pool->mpirun_process = -1;
    pool->checker_in = pool->checker_out = pool->board_fd = pool->folder_lock = pool->folder_held =
        pool->shared_lock = -1;
    pthread_mutex_init(&pool->lock, NULL);
    enum esp_status status = take_options(pool, options, error);
    if (status == ESP_OK)
        status = open_listener(pool, error);
    if (status == ESP_OK)
        status = open_shared_folder(pool, error);
    if (status == ESP_OK)
        status = open_events(pool, error);
    if (status == ESP_OK)
        status = make_shared_memory(pool, error);
    if (status == ESP_OK && pool->hostfile)
        status = send_envoys(pool, error);
    if (status == ESP_OK)
        status = start_monitor(pool, error);
    if (status != ESP_OK) {
        ranks_destroy(&pool->workers);
        return status;
    }
    *workers = &pool->workers;
    return ESP_OK;
}

void ranks_destroy(struct workers *workers)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    if (!pool)
        return;
    atomic_store(&pool->stopping, true);
    if (pool->has_monitor) {
        ranks_wake(pool);
        pthread_join(pool->monitor, NULL);
        ranks_profile_save(pool, true);
    }
    for (uint32_t i = 0; pool->ranks && i < pool->options.ranks; i++) {
        close_if_open(pool->ranks[i].socket);
        close_if_open(pool->ranks[i].process);
    }
    ranks_stop_mpirun(pool);
    ranks_stop_checker(pool);
    envoys_destroy(pool->envoys);
    for (uint32_t i = 0; i < pool->n_gangs; i++) {
        ring_unmap(pool->gangs[i].ring);
        close(pool->gangs[i].ring_fd);
    }
    board_unmap(pool->board);
    close_if_open(pool->board_fd);
    close_if_open(pool->bell);
    close_if_open(pool->wake);
    close_if_open(pool->output);
    close_if_open(pool->epoll);
    if (pool->folder)
        folder_remove(pool->folder);
    close_listener(pool);
    if (pool->shared)
        folder_remove(pool->shared);
    close_if_open(pool->shared_lock);
    pthread_mutex_destroy(&pool->lock);
    free(pool->mpirun);
    free(pool->program);
    free(pool->hostfile);
    free(pool->shared);
    free(pool->profile_path);
    free(pool->ranks);
    free(pool->busy);
    free(pool->known);
    free(pool);
}
