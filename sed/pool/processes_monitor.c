/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that watches the pool: starts and deaths of workers, answers that no thread waits for, time
 * limits, and the output of routines. */
#include "sed/pool/processes_pool.h"
#include "sed/pool/strays.h"

#include "util/clock.h"
#include "util/process_limits.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* While there are jobs, all workers are checked this often: a routine that overwrote the ring may have
 * prevented the bell. */
#define SWEEP_NS (250 * NS_PER_MS)

/* Most reads of one worker in a row, so that others are served, too. More than the largest pipe has (1
 * MiB). */
#define MOST_PIECES 257

void monitor_wake(struct pool *pool)
{
    uint64_t one = 1;
    while (write(pool->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* ---- output ---- */

enum esp_status monitor_watch_output(struct pool *pool, struct worker *worker, struct esp_error *error)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = EVENT_OUTPUT | worker->id};
    if (epoll_ctl(pool->epoll, EPOLL_CTL_ADD, worker->output, &event) != 0)
        return error_errno(error, "cannot watch a worker's output");
    return ESP_OK;
}

static void listen_to_output(struct pool *pool, struct worker *worker, bool listen)
{
    struct epoll_event event = {.events = listen ? EPOLLIN : 0, .data.u64 = EVENT_OUTPUT | worker->id};
    epoll_ctl(pool->epoll, EPOLL_CTL_MOD, worker->output, &event);
}

static void finish_line(struct pool *pool, struct output *printed)
{
    if (printed->length == 0)
        return;
    size_t words = printed->length - (printed->line[printed->length - 1] == '\n');
    printed->line[printed->length] = 0;
    printed->length = 0;
    if (words > 0)
        snprintf(printed->last, sizeof printed->last, "%.*s",
                 (int)(words < LAST_WORDS ? words : LAST_WORDS - 1), printed->line);
    if (pool->options.output)
        pool->options.output(pool->options.output_arg, printed->job_seen, printed->line);
}

/* A program that overwrites its line to show progress has printed each of these lines. */
static void take_output(struct pool *pool, struct output *printed, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool returns = text[i] == '\r', end = text[i] == '\n' || (returns && printed->length > 0);
        bool said = text[i] == '\n' && printed->returned;
        printed->returned = returns && (end || printed->returned);
        if (said || (returns && !end))
            continue;
        printed->line[printed->length++] =
            (char)(end                                                  ? '\n'
                   : iscntrl((unsigned char)text[i]) && text[i] != '\t' ? ' '
                                                                        : text[i]);
        if (end || printed->length == sizeof printed->line - 1)
            finish_line(pool, printed);
    }
}

/* Assigns output read from now on to the present job; drops output of the last job beyond its limit. */
static void turn_to_job(struct worker *worker)
{
    struct output *printed = &worker->printed;
    uint64_t job_id = atomic_load(&printed->job_id);
    if (job_id == printed->job_seen)
        return;
    char rest[4096];
    while (atomic_load(&printed->muted) && read(worker->output, rest, sizeof rest) > 0)
        ;
    atomic_store(&printed->muted, false);
    printed->job_seen = job_id;
    printed->bytes = 0;
    printed->returned = false;
    printed->since_ns = pool_now_ns();
    printed->last[0] = 0;
}

/* In a new period of time the worker may print again. */
static void renew_budget(struct pool *pool, struct worker *worker, bool at_once)
{
    struct output *printed = &worker->printed;
    int64_t now = pool_now_ns();
    if (!at_once && now - printed->since_ns < OUTPUT_NS)
        return;
    printed->bytes = 0;
    printed->since_ns = now;
    if (atomic_exchange(&printed->muted, false))
        listen_to_output(pool, worker, true);
}

/* Reads once; false when there was nothing. A job whose pipe is empty and which no thread is reading ends
 * without the lock. So the mark is set before reading, and if the next job has started meanwhile, the text
 * is assigned to it. */
static bool take_piece(struct pool *pool, struct worker *worker)
{
    char text[4096];
    atomic_store(&worker->printed.read_for, worker->printed.job_seen);
    ssize_t n = read(worker->output, text, sizeof text);
    turn_to_job(worker);
    if (n <= 0)
        return false;
    atomic_store(&worker->printed.read_for, worker->printed.job_seen);
    take_output(pool, &worker->printed, text, (size_t)n);
    worker->printed.bytes += (uint64_t)n;
    return true;
}

static void drain(struct pool *pool, struct worker *worker)
{
    turn_to_job(worker);
    renew_budget(pool, worker, false);
    for (int piece = 0; piece < MOST_PIECES; piece++) {
        if (atomic_load(&worker->printed.muted) || !take_piece(pool, worker))
            break;
        if (worker->printed.bytes >= OUTPUT_BYTES) {
            atomic_store(&worker->printed.muted, true);
            listen_to_output(pool, worker, false);
        }
    }
}

void monitor_last_words(struct pool *pool, struct worker *worker, char *words)
{
    pthread_mutex_lock(&pool->output_lock);
    turn_to_job(worker);
    renew_budget(pool, worker, true);
    /* The worker ends, so the pipe comes to an end, unless a process that it left running prints. */
    for (int piece = 0; piece < MOST_PIECES && take_piece(pool, worker); piece++)
        ;
    finish_line(pool, &worker->printed);
    memcpy(words, worker->printed.last, LAST_WORDS);
    pthread_mutex_unlock(&pool->output_lock);
}

void monitor_finish_output(struct pool *pool, struct worker *worker)
{
    char words[LAST_WORDS];
    int waiting = 0;
    /* In this order, because a reader sets its mark first and then empties the pipe. */
    if ((ioctl(worker->output, FIONREAD, &waiting) == 0 && waiting > 0) ||
        atomic_load(&worker->printed.read_for) == worker->job_id)
        monitor_last_words(pool, worker, words);
}

void monitor_expect_output(struct pool *pool, struct worker *worker, uint64_t job_id)
{
    atomic_store(&worker->printed.job_id, job_id);
    if (atomic_load(&worker->printed.muted))
        listen_to_output(pool, worker, true);
}

static struct worker *use_worker(struct pool *pool, uint32_t id)
{
    struct worker *worker;
    pthread_mutex_lock(&pool->lock);
    HASH_FIND(by_id, pool->by_id, &id, sizeof id, worker);
    if (worker)
        worker->users++;
    pthread_mutex_unlock(&pool->lock);
    return worker;
}

static void drop_worker(struct pool *pool, struct worker *worker)
{
    pthread_mutex_lock(&pool->lock);
    pool_release(pool, worker);
    pthread_mutex_unlock(&pool->lock);
}

static void on_output(struct pool *pool, uint32_t id, uint32_t events)
{
    struct worker *worker = use_worker(pool, id);
    if (!worker)
        return;
    pthread_mutex_lock(&pool->output_lock);
    drain(pool, worker);
    /* The writing end is closed: the worker's death is reported elsewhere, and this event would repeat for
     * ever. */
    if (!(events & EPOLLIN))
        epoll_ctl(pool->epoll, EPOLL_CTL_DEL, worker->output, NULL);
    pthread_mutex_unlock(&pool->output_lock);
    drop_worker(pool, worker);
}

/* ---- the spawner ---- */

static void on_death(struct pool *pool, uint32_t id, int wait_status, const char *why)
{
    struct worker *worker = use_worker(pool, id);
    if (!worker)
        return;
    char words[LAST_WORDS];
    monitor_last_words(pool, worker, words);
    pool_buried(pool, worker, wait_status, why, words);
    drop_worker(pool, worker);
}

static void on_unborn(struct pool *pool, const struct spawner_message *message)
{
    char why[POOL_WHY];
    if (message->text[0])
        snprintf(why, sizeof why, "%.*s", (int)sizeof why - 1, message->text);
    else
        process_limits_why(message->status, why, sizeof why);
    on_death(pool, message->id, 0, why);
}

static void on_checked(struct pool *pool, const struct spawner_message *message)
{
    pthread_mutex_lock(&pool->lock);
    if (pool->checking && pool->check.id == message->id && message->id != 0) {
        error_set(&pool->check.error, (enum esp_status)message->status, "%.*s", (int)sizeof message->text - 1,
                  message->text);
        pool->check.done = true;
    }
    pthread_cond_broadcast(&pool->checked); /* an answer to an earlier question is a sign of life, too */
    pthread_mutex_unlock(&pool->lock);
}

/* The answer to a question that the lost spawner was asked never comes. With the lock. */
static void end_check(struct pool *pool, const struct link *link)
{
    if (!pool->checking || pool->check.done || pool->check.link != link->number)
        return;
    error_set(&pool->check.error, ESP_SYSTEM, "the spawner of workers ended before it answered");
    pool->check.done = true;
    pthread_cond_broadcast(&pool->checked);
}

static uint32_t any_worker_of(struct pool *pool, const struct link *link)
{
    uint32_t id = 0;
    pthread_mutex_lock(&pool->lock);
    for (struct worker *worker = pool->by_id; worker; worker = worker->by_id.next)
        if (worker->link == link && !worker->dead) {
            id = worker->id;
            break;
        }
    pthread_mutex_unlock(&pool->lock);
    return id;
}

/* Workers are killed when the spawner ends, but that takes a moment, in which they could still write to
 * memory. */
static void await_end_of_workers(struct pool *pool, const struct link *link)
{
    int64_t until = pool_now_ns() + NS_PER_S;
    pthread_mutex_lock(&pool->lock);
    for (struct worker *worker = pool->by_id; worker; worker = worker->by_id.next)
        while (worker->link == link && worker->pid > 0 && !worker->dead && kill(worker->pid, 0) == 0 &&
               pool_now_ns() < until)
            usleep(1000);
    pthread_mutex_unlock(&pool->lock);
}

/* A lost spawner's workers died with the spawner. The pool starts another spawner when it creates workers. */
static void on_spawner_lost(struct pool *pool, struct link *link)
{
    pthread_mutex_lock(&pool->lock);
    link_stop(pool, link);
    end_check(pool, link);
    link->workers++; /* keeps it while it is used here */
    pthread_mutex_unlock(&pool->lock);
    await_end_of_workers(pool, link);
    const unsigned strays = strays_kill(link->folder);
    if (strays > 0)
        log_notice("%u process%s of workers went on without the process that starts workers: killed", strays,
                   strays == 1 ? "" : "es");
    for (uint32_t id = any_worker_of(pool, link); id != 0; id = any_worker_of(pool, link))
        on_death(pool, id, 0, "the process that starts workers has ended");
    pthread_mutex_lock(&pool->lock);
    link->workers--;
    link_release(pool, link);
    pthread_mutex_unlock(&pool->lock);
}

/* Returns the link when it has sent a message; NULL otherwise. */
static struct link *receive(struct pool *pool, uint32_t number, struct spawner_message *message, bool *lost)
{
    pthread_mutex_lock(&pool->lock);
    struct link *link = link_find(pool, number);
    bool received = link && link_receive(link, message, lost);
    pthread_mutex_unlock(&pool->lock);
    return received || *lost ? link : NULL;
}

static void on_room(struct pool *pool, uint32_t number)
{
    pthread_mutex_lock(&pool->lock);
    struct link *link = link_find(pool, number);
    if (link)
        link_send_rest(pool, link);
    pthread_mutex_unlock(&pool->lock);
}

static void on_spawner(struct pool *pool, uint32_t number)
{
    struct spawner_message message;
    struct link *link;
    bool lost = false;
    while ((link = receive(pool, number, &message, &lost)) && !lost) {
        if (message.kind == SPAWNER_BORN)
            pool_born(pool, message.id, message.pid);
        else if (message.kind == SPAWNER_DIED)
            on_death(pool, message.id, message.status, NULL);
        else if (message.kind == SPAWNER_UNBORN)
            on_unborn(pool, &message);
        else if (message.kind == SPAWNER_CHECKED)
            on_checked(pool, &message);
    }
    if (lost)
        on_spawner_lost(pool, link);
}

/* ---- answers and limits ---- */

/* Returns the next busy worker after `id` with an answer, as its user; NULL when there is none. */
static struct worker *next_answered(struct pool *pool, uint32_t after)
{
    struct worker *found = NULL;
    pthread_mutex_lock(&pool->lock);
    for (struct worker *worker = pool->by_job; worker; worker = worker->by_job.next)
        if (worker->id > after && !worker->claimed && worker->verdict == ESP_OK &&
            (atomic_load(&worker->ring->reply) & ~RING_WAITERS) == RING_DONE &&
            (!found || worker->id < found->id))
            found = worker;
    if (found)
        found->users++;
    pthread_mutex_unlock(&pool->lock);
    return found;
}

/* Returns the next busy worker after `id` whose output is not being read, as its user; NULL when there is
 * none. */
static struct worker *next_muted(struct pool *pool, uint32_t after)
{
    struct worker *found = NULL;
    pthread_mutex_lock(&pool->lock);
    for (struct worker *worker = pool->by_job; worker; worker = worker->by_job.next)
        if (worker->id > after && atomic_load(&worker->printed.muted) && (!found || worker->id < found->id))
            found = worker;
    if (found)
        found->users++;
    pthread_mutex_unlock(&pool->lock);
    return found;
}

static void listen_again(struct pool *pool)
{
    uint32_t last = 0;
    for (struct worker *worker = next_muted(pool, 0); worker; worker = next_muted(pool, last)) {
        last = worker->id;
        pthread_mutex_lock(&pool->output_lock);
        drain(pool, worker);
        pthread_mutex_unlock(&pool->output_lock);
        drop_worker(pool, worker);
    }
}

static void sweep(struct pool *pool)
{
    uint32_t last = 0;
    for (struct worker *worker = next_answered(pool, 0); worker; worker = next_answered(pool, last)) {
        last = worker->id;
        pool_collect(pool, worker);
        drop_worker(pool, worker);
    }
}

/* Kills workers whose job has run for too long. Returns when to check again. */
static int64_t enforce_limits(struct pool *pool)
{
    int64_t next = CLOCK_NEVER, now = pool_now_ns();
    pthread_mutex_lock(&pool->lock);
    oom_look(&pool->oom, now);
    for (struct worker *worker = pool->by_job; worker; worker = worker->by_job.next) {
        if (worker->claimed || worker->verdict != ESP_OK)
            continue;
        if (worker->due_ns <= now) {
            worker->verdict = ESP_TIMEOUT;
            link_kill(pool, worker);
            continue;
        }
        next = worker->due_ns < next ? worker->due_ns : next;
    }
    int64_t look = link_look(pool);
    next = look < next ? look : next;
    if (pool->by_job && now + SWEEP_NS < next)
        next = now + SWEEP_NS;
    if (pool->alive < pool->options.slots + pool->options.spares) {
        pool_refill(pool, false);
        if (pool->retry_ns > now && pool->retry_ns < next)
            next = pool->retry_ns;
    }
    pthread_mutex_unlock(&pool->lock);
    return next;
}

static int timeout_ms(int64_t until_ns)
{
    if (until_ns == CLOCK_NEVER)
        return -1;
    int64_t left = until_ns - pool_now_ns();
    return left <= 0 ? 0 : (int)(left / NS_PER_MS < 1000000 ? left / NS_PER_MS + 1 : 1000000);
}

static void clear(int eventfd)
{
    uint64_t count;
    while (read(eventfd, &count, sizeof count) < 0 && errno == EINTR)
        ;
}

static void handle(struct pool *pool, const struct epoll_event *event)
{
    const uint64_t kind = event->data.u64 & ~UINT64_C(0xffffffff);
    if (kind == EVENT_SPAWNER && event->events & EPOLLOUT)
        on_room(pool, (uint32_t)event->data.u64);
    if (kind == EVENT_SPAWNER)
        on_spawner(pool, (uint32_t)event->data.u64);
    else if (event->data.u64 == EVENT_WAKE)
        clear(pool->wake);
    else if (event->data.u64 == EVENT_BELL)
        clear(pool->bell);
    else
        on_output(pool, (uint32_t)event->data.u64, event->events);
}

void *monitor_run(void *arg)
{
    struct pool *pool = arg;
    uint64_t seen = 0;
    while (!atomic_load(&pool->stopping)) {
        int64_t until = enforce_limits(pool);
        /* One more sweep after the last job, so that a stream of calls does not wake this thread each
         * time. */
        pthread_mutex_lock(&pool->lock);
        if (until == CLOCK_NEVER && pool->n_started != seen)
            until = pool_now_ns() + SWEEP_NS;
        seen = pool->n_started;
        atomic_store(&pool->monitor_until_ns, until);
        pthread_mutex_unlock(&pool->lock);
        struct epoll_event events[16];
        int n = epoll_wait(pool->epoll, events, 16, timeout_ms(until));
        for (int i = 0; i < n; i++)
            handle(pool, &events[i]);
        sweep(pool);
        pool_tell_questions(pool);
        listen_again(pool);
    }
    return NULL;
}
