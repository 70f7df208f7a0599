/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool: gives workers jobs, and takes their answers. */
#include "sed/pool/processes_pool.h"

#include "util/clock.h"
#include "util/log.h"
#include "util/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
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

/* Time to poll for an answer: a worker on another processor finishes a tiny job before a thread could fall
 * asleep and be woken. */
#define SPIN_NS    10000
#define SPIN_LOOKS 50                /* between two looks at the clock */
#define RETRY_NS   (500 * NS_PER_MS) /* after a worker could not be created, or died at its start */

/* ---- starting a job ---- */

/* Returns false with errno. */
static bool send_descriptors(struct worker *worker)
{
    char byte = 0;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(RING_MAX_DESCRIPTORS * sizeof(int))];
    } control;
    size_t bytes = worker->handoff.n_descriptors * sizeof(int);
    memset(&control, 0, sizeof control);
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(bytes)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(header), worker->handoff.descriptors, bytes);
    return sendmsg(worker->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

static struct worker *take_parked(struct pool *pool, uint64_t state)
{
    struct worker *worker;
    DL_FOREACH(pool->parked, worker)
    {
        if (worker->kept == state)
            break;
    }
    if (worker)
        DL_DELETE(pool->parked, worker);
    return worker;
}

/* Takes the most recently used idle worker, because its memory is warm. One that is still starting only
 * when there is no other. */
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
    worker->told = 0;
    worker->verdict = ESP_OK;
    worker->started_ns = pool_now_ns();
    worker->due_ns = CLOCK_NEVER;
    if (job->time_limit_ms > 0 && job->time_limit_ms < (CLOCK_NEVER - worker->started_ns) / NS_PER_MS)
        worker->due_ns = worker->started_ns + job->time_limit_ms * NS_PER_MS;
    HASH_ADD(by_job, pool->by_job, job_id, sizeof worker->job_id, worker);
    pool->n_started++;
    struct ring *ring = worker->ring;
    /* A tiny routine often finishes before its helper thread comes: the bell would wake the monitor
     * unnecessarily. If the helper never comes, the monitor's sweep finds the answer. */
    worker->promised = job->attended;
    if (worker->promised)
        atomic_fetch_add(&ring->attended, 1);
    atomic_store_explicit(&ring->poster, (uint32_t)sched_getcpu(), memory_order_relaxed);
    atomic_store_explicit(&ring->reply, RING_POSTED, memory_order_relaxed);
    atomic_fetch_add(&ring->request, 1);
    worker->awake = !atomic_load(&ring->sleeping);
    if (!worker->awake)
        ring_wake(&ring->request);
}

static enum esp_status assign(struct pool *pool, const struct job *job, unsigned tries,
                              struct esp_error *error)
{
    for (;;) {
        if (!pool->idle && !job->state)
            pool_refill(pool, true);
        struct worker *worker = job->state ? take_parked(pool, job->state) : take_idle(pool);
        if (!worker && job->state)
            return error_set(error, ESP_NOT_FOUND, "the worker that kept the state has ended");
        if (!worker)
            return error_set(error, ESP_LIMIT, "no worker is free: %u of %u could be started, all are busy",
                             pool->alive, pool->options.slots + pool->options.spares);
        enum esp_status status = handoff_write(worker->ring, job, &worker->handoff, error);
        bool sent = status == ESP_OK && (worker->handoff.n_descriptors == 0 || send_descriptors(worker));
        if (status == ESP_OK && !sent && !pool_is_short(errno)) {
            pool_doom(pool, worker); /* it is dying by itself */
            continue;
        }
        if (status == ESP_OK && !sent)
            status = error_set(error, ESP_LIMIT, "a call's memory cannot be sent to its worker now: %s",
                               strerror(errno));
        if (status != ESP_OK) {
            if (job->state)
                DL_PREPEND(pool->parked, worker);
            else
                DL_PREPEND(pool->idle, worker);
            return status;
        }
        monitor_expect_output(pool, worker, job->id);
        post(pool, worker, tries);
        return ESP_OK;
    }
}

struct worker *pool_find_job(struct pool *pool, uint64_t job_id)
{
    struct worker *worker;
    HASH_FIND(by_job, pool->by_job, &job_id, sizeof job_id, worker);
    return worker;
}

static enum esp_status pool_start(struct workers *workers, const struct job *job, struct esp_error *error)
{
    struct pool *pool = (struct pool *)workers;
    bool wake = false;
    pthread_mutex_lock(&pool->lock);
    enum esp_status status =
        pool_find_job(pool, job->id)
            ? error_set(error, ESP_INTERNAL, "job %llu runs already", (unsigned long long)job->id)
            : assign(pool, job, 0, error);
    if (status == ESP_OK) {
        int64_t until = atomic_load(&pool->monitor_until_ns);
        wake = until == CLOCK_NEVER || pool_find_job(pool, job->id)->due_ns < until;
    }
    if (wake)
        atomic_store(&pool->monitor_until_ns, 0); /* once is enough */
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

/* The worker keeps its routine's state for later calls. The first time, another worker replaces it among
 * those for any job. */
static void park(struct pool *pool, struct worker *worker)
{
    if (worker->promised)
        atomic_fetch_sub(&worker->ring->attended, 1);
    worker->promised = false;
    worker->state = WORKER_PARKED;
    DL_PREPEND(pool->parked, worker);
    if (worker->kept)
        return;
    worker->kept = worker->job_id;
    pool->alive--;
    pool_refill(pool, false);
}

static void go_idle(struct pool *pool, struct worker *worker)
{
    if (worker->promised)
        atomic_fetch_sub(&worker->ring->attended, 1);
    worker->promised = false;
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
    char words[LAST_WORDS] = "";
    uint32_t kind = worker->ring->answer.kind;
    bool command = worker->handoff.job.implementation->command != NULL; /* its output comes before its end */
    if (command || (kind != ANSWER_RETURNED && kind != ANSWER_ILLEGAL))
        monitor_last_words(pool, worker, words);
    else
        monitor_finish_output(pool, worker); /* later, the output could not be assigned to this job */
    bool usable = handoff_read(worker->ring, &worker->handoff, pool_now_ns() - worker->started_ns, words, end,
                               wait_for_death);
    enum esp_status status = end->error.status;
    bool before = worker->handoff.job.state != 0;
    if (usable && worker->handoff.has_state)
        end->keeps_state = kind == ANSWER_UNABLE ? before
                                                 : worker->ring->answer.keeps &&
                                                       (status == ESP_OK || (before && status == ESP_FAILED));
    if ((command || worker->handoff.has_texts) && (kind == ANSWER_RETURNED || kind == ANSWER_NO_TEXT))
        usable &= handoff_take_outputs(worker->ring, &worker->handoff, worker->socket, end);
    return usable;
}

/* A job whose process was killed because memory was short is at fault, because the killer takes the
 * largest process: it is not repeated in another worker, or on another server, which would run out of
 * memory, too. With the lock. */
static void blame_memory(const struct pool *pool, const struct worker *worker, int killed_by,
                         struct job_end *end)
{
    if (!end->lost || killed_by != SIGKILL || !oom_is_recent(&pool->oom))
        return;
    end->lost = false;
    error_set(&end->error, ESP_CRASHED, "%s " OOM_TEXT, worker->handoff.job.implementation->symbol);
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
    if (worker->ring->answer.kind == ANSWER_KILLED) /* a command */
        blame_memory(pool, worker, worker->ring->answer.code, &end);
    if (usable && !worker->dead && (end.keeps_state || !worker->handoff.has_state)) {
        end_job(pool, worker);
        if (end.keeps_state)
            park(pool, worker);
        else if (pool_is_current(pool, worker))
            go_idle(pool, worker);
        else
            pool_doom(pool, worker);
    } else if (wait_for_death && !worker->dead) {
        worker->end = end;
        worker->wait_for_death = true;
        link_kill(pool, worker);
        reported = false;
    } else {
        end_job(pool, worker);
        pool_doom(pool, worker);
    }
    pthread_mutex_unlock(&pool->lock);
    if (reported)
        report(pool, job_id, &end);
}

static void describe_verdict(const struct worker *worker, struct job_end *end)
{
    *end = (struct job_end){.compute_s = (double)(pool_now_ns() - worker->started_ns) / 1e9};
    if (worker->verdict == ESP_TIMEOUT)
        error_set(&end->error, ESP_TIMEOUT, "%s was stopped after its time limit of %.3g s",
                  worker->handoff.job.implementation->symbol,
                  (double)worker->handoff.job.time_limit_ms / 1e3);
    else
        error_set(&end->error, ESP_CANCELLED, "cancelled while it was running");
}

/* The worker died before it took the job, so another may have it. With the lock; true when another has it. */
static bool try_another(struct pool *pool, struct worker *worker, struct job_end *end)
{
    *end = (struct job_end){.error = {.status = ESP_SYSTEM}};
    bool begun = atomic_load(&worker->ring->taken) == atomic_load(&worker->ring->request);
    if (begun || worker->kept || worker->verdict != ESP_OK ||
        worker->tries > pool->options.slots + pool->options.spares)
        return false;
    struct job job = worker->handoff.job;
    return assign(pool, &job, worker->tries + 1, &end->error) == ESP_OK;
}

static void describe_unbegun(const struct worker *worker, const char *last_words, struct job_end *end)
{
    bool signalled = WIFSIGNALED(worker->wait_status);
    error_set(&end->error, ESP_SYSTEM, "workers die before they begin a call (the last with %s %d%s%s)",
              signalled ? "signal" : "exit code",
              signalled ? WTERMSIG(worker->wait_status) : WEXITSTATUS(worker->wait_status),
              last_words[0] ? ": " : "", last_words);
}

/* Explains that a worker was never created, or ended with its spawner. */
static void describe_unmade(const struct worker *worker, const char *why, bool begun, struct job_end *end)
{
    end->lost = worker->link->socket < 0;
    end->unbegun = !begun;
    if (begun)
        error_set(&end->error, ESP_SYSTEM, "its worker was lost in the middle of it: %s", why);
    else
        error_set(&end->error, ESP_SYSTEM, "no worker for the call: %s", why);
}

/* A busy worker is dead and no thread reads its answer. Fills *end; false when another worker has the job
 * now. */
static bool bury_busy(struct pool *pool, struct worker *worker, const char *why, const char *last_words,
                      struct job_end *end)
{
    bool answered = (atomic_load(&worker->ring->reply) & ~RING_WAITERS) == RING_DONE, unused;
    bool begun = atomic_load(&worker->ring->taken) == atomic_load(&worker->ring->request);
    worker->claimed = true;
    end_job(pool, worker);
    pool_doom(pool, worker);
    if (worker->wait_for_death)
        *end = worker->end;
    else if (worker->verdict != ESP_OK)
        describe_verdict(worker, end);
    else if (answered) {
        handoff_read(worker->ring, &worker->handoff, pool_now_ns() - worker->started_ns, last_words, end,
                     &unused);
        if ((worker->handoff.job.implementation->command || worker->handoff.has_texts) &&
            (worker->ring->answer.kind == ANSWER_RETURNED || worker->ring->answer.kind == ANSWER_NO_TEXT))
            handoff_take_outputs(worker->ring, &worker->handoff, worker->socket, end);
    } else if (try_another(pool, worker, end))
        return false;
    else if (why)
        describe_unmade(worker, why, begun, end);
    else if (begun) {
        handoff_lost(&worker->handoff, worker->wait_status, last_words, end);
        blame_memory(pool, worker, WIFSIGNALED(worker->wait_status) ? WTERMSIG(worker->wait_status) : 0, end);
    } else
        describe_unbegun(worker, last_words, end);
    return true;
}

/* With the lock. */
static void note_growth(struct pool *pool, const struct worker *worker)
{
    if (!WIFEXITED(worker->wait_status) || WEXITSTATUS(worker->wait_status) != WORKER_KEPT_TOO_MUCH ||
        atomic_load(&worker->ring->kept) == 0)
        return;
    pool->grown++;
    if (!log_quota_take(&pool->grown_lines, pool_now_ns()))
        return;
    char size[BYTES_TEXT], limit[BYTES_TEXT];
    log_notice("a worker that kept %s of memory after calls is replaced (worker_keeps is %s)",
               bytes_text(atomic_load(&worker->ring->kept), size), bytes_text(pool->options.keep, limit));
}

void pool_cannot(struct pool *pool, const char *why)
{
    snprintf(pool->unborn, sizeof pool->unborn, "workers cannot be started: %s", why);
    if (log_quota_take(&pool->unborn_lines, pool_now_ns()))
        log_warning("%s", pool->unborn);
}

void pool_buried(struct pool *pool, struct worker *worker, int wait_status, const char *why,
                 const char *last_words)
{
    struct job_end end = {0};
    bool reported = false;
    pthread_mutex_lock(&pool->lock);
    worker->dead = true;
    worker->wait_status = wait_status;
    pool->died += worker->pid != 0;
    note_growth(pool, worker);
    if (why && worker->pid == 0 && worker->link->socket >= 0)
        pool_cannot(pool, why);
    const bool unborn = !atomic_load(&worker->ring->ready);
    if (worker->state == WORKER_IDLE && unborn) /* at its start: do not retry at once */
        pool->retry_ns = pool_now_ns() + POOL_RETRY_NS;
    if (worker->state != WORKER_DOOMED && unborn && worker->pid != 0 && last_words[0])
        pool_cannot(pool, last_words);
    uint64_t job_id = worker->job_id, lost = 0;
    if (worker->state == WORKER_IDLE) {
        DL_DELETE(pool->idle, worker);
        pool_doom(pool, worker);
    } else if (worker->state == WORKER_PARKED) {
        DL_DELETE(pool->parked, worker);
        pool_doom(pool, worker);
        lost = worker->kept;
    } else if (worker->state == WORKER_BUSY && (!worker->claimed || worker->wait_for_death)) {
        reported = bury_busy(pool, worker, why, last_words, &end);
    }
    /* Wakes threads that wait for its answer. */
    atomic_store(&worker->ring->reply, RING_DONE);
    ring_wake(&worker->ring->reply);
    pthread_mutex_unlock(&pool->lock);
    if (reported)
        report(pool, job_id, &end);
    if (lost && pool->workers.lost)
        pool->workers.lost(pool->workers.arg, lost);
}

void pool_drop(struct workers *workers, uint64_t state)
{
    struct pool *pool = (struct pool *)workers;
    pthread_mutex_lock(&pool->lock);
    struct worker *worker = take_parked(pool, state);
    if (worker)
        pool_doom(pool, worker);
    pthread_mutex_unlock(&pool->lock);
}

static void pool_cancel(struct workers *workers, uint64_t job_id)
{
    struct pool *pool = (struct pool *)workers;
    pthread_mutex_lock(&pool->lock);
    struct worker *worker = pool_find_job(pool, job_id);
    if (worker && !worker->claimed && worker->verdict == ESP_OK) {
        worker->verdict = ESP_CANCELLED;
        link_kill(pool, worker);
    }
    pthread_mutex_unlock(&pool->lock);
}

/* ---- waiting for it ---- */

static bool is_answered(struct ring *ring)
{
    return (atomic_load_explicit(&ring->reply, memory_order_acquire) & ~RING_WAITERS) == RING_DONE;
}

/* Returns when the answer to that request is there, at `until_ns`, or a little early. Polls before
 * sleeping if the worker was awake. */
static void watch(struct ring *ring, uint32_t request, bool awake, int64_t until_ns)
{
    int64_t spin_until = awake ? pool_now_ns() + SPIN_NS : INT64_MIN;
    do {
        for (int i = 0; i < SPIN_LOOKS; i++, ring_pause())
            if (is_answered(ring) || atomic_load_explicit(&ring->request, memory_order_relaxed) != request)
                return;
    } while (awake && pool_now_ns() < spin_until);
    ring_await_answer(ring, request, until_ns);
}

static bool pool_help(struct workers *workers, uint64_t job_id, int64_t until_ns)
{
    struct pool *pool = (struct pool *)workers;
    pthread_mutex_lock(&pool->lock);
    struct worker *worker = pool_find_job(pool, job_id);
    if (worker && !worker->claimed && worker->verdict == ESP_OK)
        worker->users++;
    else
        worker = NULL;
    uint32_t request = worker ? atomic_load(&worker->ring->request) : 0;
    bool expected = worker && worker->promised;
    bool awake = worker && worker->awake;
    if (expected)
        worker->promised = false; /* counted already */
    pthread_mutex_unlock(&pool->lock);
    if (!worker)
        return false;
    if (!expected)
        atomic_fetch_add(&worker->ring->attended, 1);
    watch(worker->ring, request, awake, until_ns);
    atomic_fetch_sub(&worker->ring->attended, 1);
    /* Check again: the worker may have answered without ringing the bell, because it saw this thread
     * waiting. */
    if (is_answered(worker->ring))
        pool_collect(pool, worker);
    pthread_mutex_lock(&pool->lock);
    bool running = worker->state == WORKER_BUSY && worker->job_id == job_id && !worker->claimed &&
                   worker->verdict == ESP_OK;
    pool_release(pool, worker);
    pthread_mutex_unlock(&pool->lock);
    return running;
}

const struct workers_ops pool_ops = {.start = pool_start,
                                     .cancel = pool_cancel,
                                     .help = pool_help,
                                     .drop = pool_drop,
                                     .progress = pool_progress,
                                     .question = pool_question,
                                     .answer = pool_answer,
                                     .destroy = pool_destroy};
