/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks that come, by themselves or to their envoys, until the job is there.
 */
#include "sed/ranks/ranks_pool.h"

#include "util/log.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

void ranks_on_connection(struct rank_pool *pool)
{
    int fd = accept4(pool->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (fd < 0)
        return;
    if (pool->state != JOB_STARTING || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
        peer.uid != geteuid() || !ranks_watch(pool, fd, RANKS_PENDING | (uint64_t)fd << 32))
        close(fd);
}

static bool set_up(struct rank_pool *pool, int socket)
{
    /* What calls told counts for more than what ranks would find now. */
    const struct rank_message setup = {.kind = RANK_SETUP,
                                       .known = !experience_is_empty(&pool->profile.experience)};
    int descriptors[2 + RANK_RINGS_MOST] = {pool->bell, pool->board_fd};
    for (uint32_t i = 0; i < pool->n_gangs; i++)
        descriptors[2 + i] = pool->gangs[i].ring_fd;
    return rank_link_send(socket, &setup, descriptors, 2 + pool->n_gangs, MSG_DONTWAIT);
}

static bool is_sound(const struct rank_pool *pool, const struct rank_message *hello)
{
    return hello->kind == RANK_HELLO && hello->version == RANK_LINK_VERSION &&
           hello->ring_bytes == sizeof(struct ring) && hello->size == pool->options.ranks &&
           hello->rank < pool->options.ranks && pool->ranks[hello->rank].socket < 0;
}

void ranks_on_hello(struct rank_pool *pool, int socket)
{
    struct rank_message hello;
    struct ucred peer;
    socklen_t size = sizeof peer;
    int descriptors[RING_MAX_DESCRIPTORS];
    uint32_t n;
    int got = rank_link_receive(socket, &hello, descriptors, &n, MSG_DONTWAIT);
    for (uint32_t i = 0; i < n; i++)
        close(descriptors[i]);
    if (got < 0 && errno == EAGAIN)
        return;
    epoll_ctl(pool->epoll, EPOLL_CTL_DEL, socket, NULL);
    if (got != 1 || pool->state != JOB_STARTING || !is_sound(pool, &hello) || !set_up(pool, socket) ||
        getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
        !ranks_watch(pool, socket, hello.rank)) {
        close(socket);
        return;
    }
    struct rank *rank = &pool->ranks[hello.rank];
    *rank = (struct rank){.socket = socket, .process = pidfd_open(peer.pid, 0), .pid = peer.pid, .pulse = -1};
    memcpy(rank->host, hello.host, sizeof rank->host - 1);
}

bool ranks_on_arrival(void *arg, const struct far_hello *hello, int socket)
{
    struct rank_pool *pool = arg;
    pthread_mutex_lock(&pool->lock);
    struct rank *rank = &pool->ranks[hello->rank];
    bool wanted = pool->state == JOB_STARTING && rank->socket < 0 && ranks_watch(pool, socket, hello->rank);
    if (wanted) {
        *rank = (struct rank){.socket = socket, .process = -1, .pid = hello->pid, .pulse = -1, .far = true};
        memcpy(rank->host, hello->host, sizeof rank->host - 1);
    }
    pthread_mutex_unlock(&pool->lock);
    return wanted;
}

void ranks_on_ready(struct rank_pool *pool, struct rank *rank, const struct parallel_speed *speed)
{
    pool->n_ready += !rank->ready;
    rank->ready = true;
    if (pool->state != JOB_STARTING || pool->n_ready < pool->options.ranks)
        return;
    ranks_enter(pool, JOB_UP);
    ranks_profile_measured(pool, speed); /* all have found the same */
    const struct parallel_speed *is = &pool->profile.speed;
    log_notice("%u ranks are ready: %.3g Gflop/s each, %.3g us and %.3g GB/s between two",
               pool->options.ranks, is->flops / 1e9, is->latency_s * 1e6,
               is->byte_s > 0 ? 1e-9 / is->byte_s : 0);
    if (pool->failed)
        pool->pause_ns = 1; /* attempts that failed before say nothing of a job that is there */
    pool->failed = false;
    pool->killed_starts = 0;
    pool->trouble[0] = 0;
}

bool ranks_on_pulse(void *arg, const struct far_hello *hello, int socket)
{
    struct rank_pool *pool = arg;
    pthread_mutex_lock(&pool->lock);
    struct rank *rank = &pool->ranks[hello->rank];
    const bool wanted = rank->socket >= 0 && rank->far && rank->pid == hello->pid && rank->pulse < 0;
    if (wanted)
        rank->pulse = socket;
    pthread_mutex_unlock(&pool->lock);
    return wanted;
}
