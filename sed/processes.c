/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool: making workers, giving them jobs, taking the answers.
 */
#include "sed/processes_pool.h"

#include "util/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#define SPIN_NS  10000
#define RETRY_NS (500 * NS_PER_MS) /* after a worker could not be made, or died at birth */

int64_t pool_now_ns(void)
{
    return clock_now_ns(&clock_system);
}

/* ---- making and freeing workers ---- */

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
    HASH_DELETE(by_id, pool->by_id, worker);
    epoll_ctl(pool->epoll, EPOLL_CTL_DEL, worker->output, NULL);
    free_worker(worker);
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
    /* Not blocking at either end: a routine's output must hold up neither it nor the daemon. */
    if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return error_errno(error, "cannot make a pipe for a worker's output");
    worker->output = pipe_ends[0];
    given[3] = pipe_ends[1];
    return monitor_watch_output(pool, worker, error);
}

static enum esp_status make_worker(struct pool *pool, struct esp_error *error)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return error_no_memory(error, "a worker");
    int given[4] = {-1, -1, -1, -1};
    worker->id = ++pool->next_id;
    worker->socket = worker->output = -1;
    enum esp_status status = open_worker(pool, worker, given, error);
    given[2] = pool->bell;
    if (status == ESP_OK)
        status = link_spawn(pool, worker->id, given, error);
    given[2] = -1;
    close_all(given, 4);
    if (status != ESP_OK) {
        free_worker(worker);
        return status;
    }
    HASH_ADD(by_id, pool->by_id, id, sizeof worker->id, worker);
    DL_APPEND(pool->idle, worker);
    pool->alive++;
    return ESP_OK;
}

void pool_refill(struct pool *pool, bool urgent)
{
    if (atomic_load(&pool->stopping) || (pool_now_ns() < pool->retry_ns && !urgent))
        return;
    bool fine = pool->spawner >= 0 || link_start(pool, NULL) == ESP_OK;
    while (fine && pool->alive < pool->options.slots + pool->options.spares)
        fine = make_worker(pool, NULL) == ESP_OK;
    if (!fine)
        pool->retry_ns = pool_now_ns() + RETRY_NS;
}

/* No job any more. The caller has taken it off the lists of its state. */
static void doom(struct pool *pool, struct worker *worker)
{
    worker->state = WORKER_DOOMED;
    pool->alive--;
    if (!worker->dead)
        link_kill(pool, worker->id);
    pool_refill(pool, false);
}

/* ---- starting a job ---- */

static bool send_segment(struct worker *worker, int segment)
{
    char byte = 0;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &segment, sizeof segment);
    return sendmsg(worker->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

/* The most recently used idle worker: its memory is warm. One that has not started up yet only when there is
 * no other. */
static struct worker *take_idle(struct pool *pool)
{
    struct worker *worker;
    DL_FOREACH(pool->idle, worker)
    {
        if (atomic_load(&worker->ring->ready))
            break;
    }
    if (!worker)
        worker = pool->idle;
    if (worker)
        DL_DELETE(pool->idle, worker);
    return worker;
}

static void post(struct pool *pool, struct worker *worker, unsigned tries)
{
    const struct job *job = &worker->handoff.job;
    worker->state = WORKER_BUSY;
    worker->job_id = job->id;
    worker->tries = tries;
    worker->claimed = worker->wait_for_death = false;
    worker->verdict = ESP_OK;
    worker->started_ns = pool_now_ns();
    worker->due_ns =
        job->time_limit_ms > 0 ? worker->started_ns + job->time_limit_ms * NS_PER_MS : CLOCK_NEVER;
    HASH_ADD(by_job, pool->by_job, job_id, sizeof worker->job_id, worker);
    pool->n_started++;
    struct ring *ring = worker->ring;
    atomic_store_explicit(&ring->reply, RING_POSTED, memory_order_relaxed);
    atomic_fetch_add(&ring->request, 1);
    if (atomic_load(&ring->sleeping))
        ring_wake(&ring->request);
}

static enum esp_status assign(struct pool *pool, const struct job *job, unsigned tries,
                              struct esp_error *error)
{
    for (;;) {
        if (!pool->idle)
            pool_refill(pool, true);
        struct worker *worker = take_idle(pool);
        if (!worker)
            return error_set(error, ESP_LIMIT, "no worker is free: %u of %u could be started, all are busy",
                             pool->alive, pool->options.slots + pool->options.spares);
        enum esp_status status = handoff_write(worker->ring, job, &worker->handoff, error);
        if (status != ESP_OK) {
            DL_PREPEND(pool->idle, worker);
            return status;
        }
        if (worker->ring->job.has_segment && !send_segment(worker, job->segment_fd)) {
            doom(pool, worker); /* it is dying by itself */
            continue;
        }
        monitor_reset_output(pool, worker, job->id);
        post(pool, worker, tries);
        return ESP_OK;
    }
}

static struct worker *find_job(struct pool *pool, uint64_t job_id)
{
    struct worker *worker;
    HASH_FIND(by_job, pool->by_job, &job_id, sizeof job_id, worker);
    return worker;
}

static enum esp_status pool_start(struct workers *workers, const struct job *job, struct esp_error *error)
{
    struct pool *pool = (struct pool *)workers;
    pthread_mutex_lock(&pool->lock);
    enum esp_status status = find_job(pool, job->id) ? error_set(error, ESP_INTERNAL, "job %llu runs already",
                                                                 (unsigned long long)job->id)
                                                     : assign(pool, job, 0, error);
    int64_t until = atomic_load(&pool->monitor_until_ns);
    bool wake = status == ESP_OK &&
                (until == CLOCK_NEVER ||
                 (job->time_limit_ms > 0 && pool_now_ns() + job->time_limit_ms * NS_PER_MS < until));
    if (wake)
        atomic_store(&pool->monitor_until_ns, 0);
    pthread_mutex_unlock(&pool->lock);
    if (wake)
        monitor_wake(pool);
    return status;
}

/* ---- the end of a job ---- */

static void report(struct pool *pool, uint64_t job_id, const struct job_end *end)
{
    if (pool->workers.ended)
        pool->workers.ended(pool->workers.arg, job_id, end);
}

static void end_job(struct pool *pool, struct worker *worker)
{
    HASH_DELETE(by_job, pool->by_job, worker);
}

static void go_idle(struct pool *pool, struct worker *worker)
{
    worker->state = WORKER_IDLE;
    DL_PREPEND(pool->idle, worker);
}

static bool claim(struct pool *pool, struct worker *worker)
{
    pthread_mutex_lock(&pool->lock);
    bool mine = worker->state == WORKER_BUSY && !worker->claimed && worker->verdict == ESP_OK &&
                (atomic_load(&worker->ring->reply) & ~RING_WAITERS) == RING_DONE;
    if (mine)
        worker->claimed = true;
    pthread_mutex_unlock(&pool->lock);
    return mine;
}

static bool read_answer(struct pool *pool, struct worker *worker, struct job_end *end, bool *wait_for_death)
{
    uint32_t kind = worker->ring->answer.kind;
    if (kind != ANSWER_RETURNED && kind != ANSWER_ILLEGAL)
        monitor_drain_output(pool, worker);
    return handoff_read(worker->ring, &worker->handoff, pool_now_ns() - worker->started_ns,
                        worker->printed.last, end, wait_for_death);
}

void pool_collect(struct pool *pool, struct worker *worker)
{
    struct job_end end;
    bool wait_for_death, reported = true;
    if (!claim(pool, worker))
        return;
    uint64_t job_id = worker->job_id;
    bool usable = read_answer(pool, worker, &end, &wait_for_death);
    pthread_mutex_lock(&pool->lock);
    if (usable && !worker->dead) {
        end_job(pool, worker);
        go_idle(pool, worker);
    } else if (wait_for_death && !worker->dead) {
        worker->end = end;
        worker->wait_for_death = true;
        link_kill(pool, worker->id);
        reported = false;
    } else {
        end_job(pool, worker);
        doom(pool, worker);
    }
    pthread_mutex_unlock(&pool->lock);
    if (reported)
        report(pool, job_id, &end);
}

static void describe_verdict(const struct worker *worker, struct job_end *end)
{
    *end = (struct job_end){.compute_s = (double)(pool_now_ns() - worker->started_ns) / 1e9};
    if (worker->verdict == ESP_TIMEOUT)
        error_set(&end->error, ESP_TIMEOUT, "%s was stopped after its time limit of %lld ms",
                  worker->handoff.job.implementation->symbol, (long long)worker->handoff.job.time_limit_ms);
    else
        error_set(&end->error, ESP_CANCELLED, "cancelled while it was running");
}

/* It died before it took the job: another may. With the lock; true when another has it. */
static bool try_another(struct pool *pool, struct worker *worker, struct job_end *end)
{
    *end = (struct job_end){.error = {.status = ESP_SYSTEM}};
    bool begun = atomic_load(&worker->ring->taken) == atomic_load(&worker->ring->request);
    if (begun || worker->verdict != ESP_OK || worker->tries > pool->options.slots + pool->options.spares)
        return false;
    struct job job = worker->handoff.job;
    return assign(pool, &job, worker->tries + 1, &end->error) == ESP_OK;
}

/* A busy worker is dead and nobody reads its answer. Fills *end; false when another worker has the job now.
 */
static bool bury_busy(struct pool *pool, struct worker *worker, const char *why, struct job_end *end)
{
    bool answered = (atomic_load(&worker->ring->reply) & ~RING_WAITERS) == RING_DONE, unused;
    bool begun = atomic_load(&worker->ring->taken) == atomic_load(&worker->ring->request);
    worker->claimed = true;
    end_job(pool, worker);
    doom(pool, worker);
    if (worker->wait_for_death)
        *end = worker->end;
    else if (worker->verdict != ESP_OK)
        describe_verdict(worker, end);
    else if (answered)
        handoff_read(worker->ring, &worker->handoff, pool_now_ns() - worker->started_ns, worker->printed.last,
                     end, &unused);
    else if (try_another(pool, worker, end))
        return false;
    else if (why)
        error_set(&end->error, ESP_SYSTEM, "no worker for the call: %s", why);
    else if (begun)
        handoff_lost(worker->ring, &worker->handoff, worker->wait_status, worker->printed.last, end);
    else
        error_set(&end->error, ESP_SYSTEM, "workers die before they begin a call (the last with %s %d)",
                  WIFSIGNALED(worker->wait_status) ? "signal" : "exit code",
                  WIFSIGNALED(worker->wait_status) ? WTERMSIG(worker->wait_status)
                                                   : WEXITSTATUS(worker->wait_status));
    return true;
}

void pool_buried(struct pool *pool, struct worker *worker, int wait_status, const char *why)
{
    struct job_end end;
    bool reported = false;
    pthread_mutex_lock(&pool->lock);
    worker->dead = true;
    worker->wait_status = wait_status;
    pool->died += worker->pid != 0;
    if (worker->state == WORKER_IDLE && !atomic_load(&worker->ring->ready)) /* at birth: not at once again */
        pool->retry_ns = pool_now_ns() + RETRY_NS;
    uint64_t job_id = worker->job_id;
    if (worker->state == WORKER_IDLE) {
        DL_DELETE(pool->idle, worker);
        doom(pool, worker);
    } else if (worker->state == WORKER_BUSY && (!worker->claimed || worker->wait_for_death)) {
        reported = bury_busy(pool, worker, why, &end);
    }
    /* Whoever waits for its answer waits in vain. */
    atomic_store(&worker->ring->reply, RING_DONE);
    ring_wake(&worker->ring->reply);
    pthread_mutex_unlock(&pool->lock);
    if (reported)
        report(pool, job_id, &end);
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

static void pool_cancel(struct workers *workers, uint64_t job_id)
{
    struct pool *pool = (struct pool *)workers;
    pthread_mutex_lock(&pool->lock);
    struct worker *worker = find_job(pool, job_id);
    if (worker && !worker->claimed && worker->verdict == ESP_OK) {
        worker->verdict = ESP_CANCELLED;
        link_kill(pool, worker->id);
    }
    pthread_mutex_unlock(&pool->lock);
}

/* ---- waiting for it ---- */

static bool is_answered(struct ring *ring)
{
    return (atomic_load_explicit(&ring->reply, memory_order_acquire) & ~RING_WAITERS) == RING_DONE;
}

/* Returns when the answer is there, or at `until_ns`, or a little early. */
static void watch(struct ring *ring, int64_t until_ns)
{
    int64_t spin_until = pool_now_ns() + SPIN_NS;
    do {
        if (is_answered(ring))
            return;
        sched_yield();
    } while (pool_now_ns() < spin_until);
    uint32_t posted = RING_POSTED;
    atomic_compare_exchange_strong(&ring->reply, &posted, RING_POSTED | RING_WAITERS);
    while (atomic_load(&ring->reply) == (RING_POSTED | RING_WAITERS) && pool_now_ns() < until_ns)
        ring_sleep(&ring->reply, RING_POSTED | RING_WAITERS, until_ns);
}

static bool pool_help(struct workers *workers, uint64_t job_id, int64_t until_ns)
{
    struct pool *pool = (struct pool *)workers;
    pthread_mutex_lock(&pool->lock);
    struct worker *worker = find_job(pool, job_id);
    if (worker && !worker->claimed && worker->verdict == ESP_OK)
        worker->users++;
    else
        worker = NULL;
    pthread_mutex_unlock(&pool->lock);
    if (!worker)
        return false;
    atomic_fetch_add(&worker->ring->attended, 1);
    watch(worker->ring, until_ns);
    atomic_fetch_sub(&worker->ring->attended, 1);
    /* Once more behind that: the worker may have answered without ringing the bell, trusting in us. */
    if (is_answered(worker->ring))
        pool_collect(pool, worker);
    pthread_mutex_lock(&pool->lock);
    bool running = worker->state == WORKER_BUSY && worker->job_id == job_id && !worker->claimed &&
                   worker->verdict == ESP_OK;
    pool_release(pool, worker);
    pthread_mutex_unlock(&pool->lock);
    return running;
}

/* ---- asking about it ---- */

enum esp_status processes_check(struct workers *workers, const struct problem *problem,
                                const struct implementation *implementation, struct esp_error *error)
{
    static uint32_t last_id;
    struct pool *pool = (struct pool *)workers;
    struct call_signature signature;
    struct spawner_check check;
    enum esp_status status = signature_build(problem, implementation, &signature, error);
    if (status != ESP_OK)
        return status;
    check = link_wanted(&signature);
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 30;
    pthread_mutex_lock(&pool->lock);
    while (pool->checking)
        pthread_cond_wait(&pool->checked, &pool->lock);
    if (++last_id == 0)
        last_id = 1;
    pool->checking = true;
    pool->check = (struct check){.id = last_id};
    status = link_check(pool, last_id, &check, error);
    int late = 0;
    while (status == ESP_OK && !pool->check.done && late == 0)
        late = pthread_cond_timedwait(&pool->checked, &pool->lock, &until);
    if (status == ESP_OK && !pool->check.done)
        status = error_set(error, ESP_TIMEOUT, "the spawner of workers did not answer within 30 s");
    else if (status == ESP_OK && pool->check.error.status != ESP_OK)
        status = error_set(error, pool->check.error.status, "problem %s, implementation %s: %s",
                           problem->name, implementation->name, pool->check.error.text);
    pool->checking = false;
    pthread_cond_broadcast(&pool->checked);
    pthread_mutex_unlock(&pool->lock);
    return status;
}

void processes_count(struct workers *workers, struct processes_counts *counts)
{
    struct pool *pool = (struct pool *)workers;
    struct worker *worker;
    pthread_mutex_lock(&pool->lock);
    *counts = (struct processes_counts){
        .alive = pool->alive, .born = pool->born, .died = pool->died, .spawner = pool->spawner_pid};
    DL_FOREACH(pool->idle, worker)
    {
        counts->ready += atomic_load(&worker->ring->ready) != 0;
    }
    pthread_mutex_unlock(&pool->lock);
}

int32_t processes_pid(struct workers *workers, uint64_t job_id)
{
    struct pool *pool = (struct pool *)workers;
    pthread_mutex_lock(&pool->lock);
    struct worker *worker = find_job(pool, job_id);
    int32_t pid = worker ? worker->pid : 0;
    pthread_mutex_unlock(&pool->lock);
    return pid;
}

const struct workers_ops pool_ops = {
    .start = pool_start, .cancel = pool_cancel, .help = pool_help, .destroy = pool_destroy};

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
