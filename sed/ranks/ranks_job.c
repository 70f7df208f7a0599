/* SPDX-License-Identifier: Apache-2.0
 *
 * The MPI job: its start and its end. */
#include "sed/pool/folder.h"
#include "sed/pool/program.h"
#include "sed/ranks/ranks_pool.h"
#include "util/log.h"
#include "util/bytes.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void ranks_on_mpirun_end(struct rank_pool *pool);
static void ranks_on_ready(struct rank_pool *pool, struct rank *rank, const struct parallel_speed *speed);

#define START_NS   (30 * NS_PER_S) /* for all ranks to be ready */
#define FAR_NS     (60 * NS_PER_S) /* for all ranks on hosts where ssh starts them */
#define FEW_RANKS  16              /* and more for each beyond so many: they may share a few processors */
#define EACH_NS    (500 * NS_PER_MS)
#define END_NS     (500 * NS_PER_MS) /* for all ranks to end by themselves */
#define GOING_MS   20                /* wait for mpirun's end, when a rank was killed; */
#define ALONG_NS   (100 * NS_PER_MS) /* and before callers learn which rank ended */
#define STEADY_NS  (5 * NS_PER_S)    /* a job that lived longer is started again at once */
#define PAUSE_NS   (500 * NS_PER_MS) /* after the first failure; twice as long after each further one */
#define LONGEST_NS (30 * NS_PER_S)
#define STARTS     2   /* starts in a row ended by a signal that do not count as failures */
#define SIGNALLED  128 /* exit codes above mean a signal */

bool ranks_watch(struct rank_pool *pool, int fd, uint64_t what)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = what};
    return epoll_ctl(pool->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void ranks_enter(struct rank_pool *pool, enum job_state state)
{
    pool->state = state;
    pool->since_ns = ranks_now_ns();
}

/* ---- ending ---- */

/* Records whether the last attempt to start them failed, which agents use for their choice. */
static void fails(struct rank_pool *pool, bool failed)
{
    pool->proposes_other |= failed != pool->failed;
    pool->failed = failed;
}

/* Whether a start ended by a signal is retried at once, because it says nothing about the next one. */
static bool is_forgiven(struct rank_pool *pool, bool killed)
{
    if (pool->state != JOB_STARTING || !killed || pool->killed_starts == STARTS)
        return false;
    pool->killed_starts++;
    return true;
}

static void end_job(struct rank_pool *pool, const char *trouble, bool killed)
{
    if (pool->state != JOB_STARTING && pool->state != JOB_UP)
        return;
    const bool forgiven = is_forgiven(pool, killed);
    fails(pool, pool->state == JOB_STARTING && !forgiven);
    snprintf(pool->trouble, sizeof pool->trouble, "%s%s%s", trouble,
             pool->failed && pool->words[0] ? "; mpirun said: " : "", pool->failed ? pool->words : "");
    bool steady = pool->state == JOB_UP && ranks_now_ns() - pool->since_ns >= STEADY_NS;
    if (!forgiven)
        pool->pause_ns = steady ? 0 : pool->pause_ns ? pool->pause_ns * 2 : 1;
    if (pool->failed && pool->pause_ns < PAUSE_NS)
        pool->pause_ns = PAUSE_NS;
    if (pool->pause_ns > LONGEST_NS)
        pool->pause_ns = LONGEST_NS;
    char pause[40] = "";
    if (pool->pause_ns >= PAUSE_NS)
        snprintf(pause, sizeof pause, " in %.3g s", (double)pool->pause_ns / NS_PER_S);
    log_warning("the ranks are ended and started again%s: %s", pause, pool->trouble);
    ranks_enter(pool, JOB_ENDING);
    pool->told = false;
    pool->blamed = true;
    pool->guessed = false;
    pool->culprit = RANKS_NOBODY;
    pool->outside = true;
    /* The ranks notice that the channel is closed, and we notice when they have ended. */
    for (uint32_t i = 0; i < pool->options.ranks; i++)
        if (pool->ranks[i].socket >= 0)
            shutdown(pool->ranks[i].socket, SHUT_WR);
    if (pool->mpirun_pid)
        kill(pool->mpirun_pid, SIGTERM);
}

void ranks_end_job(struct rank_pool *pool, const char *trouble)
{
    end_job(pool, trouble, false);
}

static void accuse(struct rank_pool *pool, uint32_t rank, bool outside)
{
    pool->culprit = rank;
    pool->outside = outside;
}

void ranks_end_job_for(struct rank_pool *pool, uint32_t rank, bool outside, const char *trouble)
{
    const bool ends = pool->state == JOB_STARTING || pool->state == JOB_UP;
    end_job(pool, trouble, outside && !pool->ranks[rank].far);
    if (ends)
        accuse(pool, rank, outside);
}

void ranks_wear_out(struct rank_pool *pool, const char *why)
{
    snprintf(pool->worn, sizeof pool->worn, "%s", why);
    if (pool->state == JOB_UP) /* otherwise when it is, or never: a fresh job has no leaks */
        ranks_end_when_wanted(pool);
}

void ranks_end_when_wanted(struct rank_pool *pool)
{
    bool wanted = pool->worn[0], others = false;
    for (uint32_t i = 0; i < pool->n_gangs; i++) {
        const struct gang *gang = &pool->gangs[i];
        wanted |= gang->used && gang->verdict != ESP_OK;
        others |= gang->used && gang->verdict == ESP_OK;
    }
    if (!wanted || others || pool->state != JOB_UP)
        return;
    ranks_end_job(pool, pool->worn[0] ? pool->worn : "a call on them was stopped");
    pool->pause_ns = 0; /* it did not fail */
}

static void forget(struct rank_pool *pool, struct rank *rank)
{
    epoll_ctl(pool->epoll, EPOLL_CTL_DEL, rank->socket, NULL);
    close(rank->socket);
    if (rank->process >= 0)
        close(rank->process);
    if (rank->pulse >= 0)
        close(rank->pulse);
    pool->n_ready -= rank->ready;
    *rank = RANK_NOT_THERE;
}

/* Describes the end by the rank's own message. */
static void word_text(const struct rank_message *word, char *text, size_t size)
{
    if (word->end == RANK_KILLED)
        snprintf(text, size, "was killed by signal %d (%s)", word->code, strsignal(word->code));
    else if (word->end == RANK_ABORTED)
        snprintf(text, size, "called MPI_Abort() with code %d", word->code);
    else
        snprintf(text, size, "ended with exit code %d", word->code);
}

/* Describes how a rank ended without a message: the system keeps the status until mpirun has waited for
 * it, in the last field of its line. */
static void end_text(const struct rank_pool *pool, int32_t pid, char *text, size_t size, bool *outside)
{
    char path[32], line[1024] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file && !fgets(line, sizeof line, file))
        line[0] = 0;
    if (file)
        fclose(file);
    const char *last = strrchr(line, ' ');
    int status = last ? (int)strtol(last, NULL, 10) : 0;
    *outside = status == 0 || (WIFSIGNALED(status) && handoff_is_from_outside(WTERMSIG(status)));
    if (*outside && (status == 0 || WTERMSIG(status) == SIGKILL) && oom_is_recent(&pool->oom)) {
        *outside = false;
        snprintf(text, size, OOM_TEXT);
    } else if (WIFSIGNALED(status))
        snprintf(text, size, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (status != 0)
        snprintf(text, size, "ended with exit code %d", WEXITSTATUS(status));
    else
        snprintf(text, size, "was killed (signal 9), by a user or because memory ran out");
}

/* A silent rank on another host may have been ended by mpirun: the message of another rank is more
 * precise. */
static void blame(struct rank_pool *pool, uint32_t number, bool outside, bool guessed, const char *how)
{
    const struct rank *rank = &pool->ranks[number];
    char text[300];
    snprintf(text, sizeof text, "rank %u of %u (process %d on %s) %s", number, pool->options.ranks, rank->pid,
             rank->host, how);
    const bool open = !pool->blamed || (pool->guessed && !guessed);
    if (pool->state == JOB_ENDING && open && !pool->told) { /* now the reason is known */
        snprintf(pool->trouble, sizeof pool->trouble, "%s", text);
        pool->blamed = true;
        pool->guessed = guessed;
        accuse(pool, number, outside);
        log_warning("why mpirun has ended the ranks: %s", text);
    }
    ranks_end_job_for(pool, number, outside, text);
}

/* Ranks that mpirun ends because another one has ended are not the cause, even if their end is noticed
 * first. */
static void on_last_word(struct rank_pool *pool, uint32_t number, const struct rank_message *word)
{
    char how[240];
    pool->ranks[number].explained = true;
    if (word->end == RANK_KILLED || word->end == RANK_EXITED || word->end == RANK_ABORTED) {
        word_text(word, how, sizeof how);
        if (word->refused_bytes > 0)
            handoff_append_refusal("rank", word->refused_bytes, pool->options.memory, how, sizeof how);
        blame(pool, number, word->end == RANK_KILLED && handoff_is_from_outside(word->code), false, how);
    } else if (word->end == RANK_ENDED_BY_MPIRUN && pool->state != JOB_ENDING) {
        ranks_end_job(pool, "mpirun has ended them");
        pool->blamed = false;
    }
}

/* Memory that its routines have not freed would be lost as long as it lives. */
static void on_kept(struct rank_pool *pool, uint32_t number, uint64_t bytes)
{
    char why[200], size[BYTES_TEXT], limit[BYTES_TEXT];
    snprintf(why, sizeof why, "rank %u of %u kept %s of memory after calls (worker_keeps is %s)", number,
             pool->options.ranks, bytes_text(bytes, size), bytes_text(pool->options.keep, limit));
    ranks_wear_out(pool, why);
}

/* mpirun may have been killed, which kills its ranks: they can be gone before it. */
static void look_at_mpirun(struct rank_pool *pool)
{
    struct pollfd gone = {.fd = pool->mpirun_process, .events = POLLIN};
    if (pool->state == JOB_UP && pool->mpirun_process >= 0 && poll(&gone, 1, GOING_MS) == 1)
        ranks_on_mpirun_end(pool);
}

/* It has sent no message; on another host, not even to its envoy. */
static void on_silent_end(struct rank_pool *pool, uint32_t number)
{
    const struct rank *rank = &pool->ranks[number];
    char how[160] = "ended, or its host cannot be reached any more";
    bool outside = true;
    if (rank->far && rank->still_ns != 0 && pool->busy[number])
        snprintf(how, sizeof how, RANKS_SILENT, (double)(ranks_now_ns() - rank->still_ns) / NS_PER_S);
    if (!rank->far)
        end_text(pool, rank->pid, how, sizeof how, &outside);
    if (!rank->far && outside)
        look_at_mpirun(pool);
    blame(pool, number, outside, rank->far, how);
}

/* Called when the channel of a rank has a message or is closed. */
static void ranks_on_rank(struct rank_pool *pool, uint32_t number)
{
    struct rank *rank = &pool->ranks[number];
    struct rank_message message;
    int descriptors[RING_MAX_DESCRIPTORS];
    uint32_t n;
    if (rank->socket < 0)
        return;
    int got = rank_link_receive(rank->socket, &message, descriptors, &n, MSG_DONTWAIT);
    for (uint32_t i = 0; i < n; i++)
        close(descriptors[i]);
    if (got == 1 && message.kind == RANK_READY) {
        ranks_on_ready(pool, rank, &message.speed);
        return;
    }
    if (got == 1 && message.kind == RANK_LAST_WORD) {
        on_last_word(pool, number, &message);
        return;
    }
    if (got == 1 && message.kind == RANK_KEPT) {
        on_kept(pool, number, message.kept_bytes);
        return;
    }
    if (got < 0 && errno == EAGAIN)
        return;
    if (!rank->explained)
        on_silent_end(pool, number);
    forget(pool, rank);
}

/* *killed: by a signal, to mpirun or to one of its children. */
static void mpirun_end_text(const struct rank_pool *pool, int status, char *text, size_t size, bool *killed)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0, of = code - SIGNALLED;
    *killed = WIFSIGNALED(status) || (of > 0 && handoff_is_from_outside(of));
    if (WIFSIGNALED(status))
        snprintf(text, size, "%.60s was killed by signal %d (%s)", pool->mpirun, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (*killed)
        snprintf(text, size,
                 "%.60s ended with exit code %d, as one that it had started was killed by signal %d (%s)",
                 pool->mpirun, code, of, strsignal(of));
    else
        snprintf(text, size, "%.60s ended with exit code %d", pool->mpirun, code);
}

/* mpirun's ranks are killed with it, and may be gone before it: then none of them was the cause. */
static bool took_ranks_along(const struct rank_pool *pool, int status)
{
    return pool->state == JOB_ENDING && !pool->told && pool->outside && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGKILL;
}

static void ranks_on_mpirun_end(struct rank_pool *pool)
{
    int status = 0;
    char text[200];
    bool killed;
    if (!pool->mpirun_pid || waitpid(pool->mpirun_pid, &status, WNOHANG) != pool->mpirun_pid)
        return;
    mpirun_end_text(pool, status, text, sizeof text, &killed);
    epoll_ctl(pool->epoll, EPOLL_CTL_DEL, pool->mpirun_process, NULL);
    close(pool->mpirun_process);
    pool->mpirun_process = -1;
    ranks_kill_session(pool->mpirun_pid);
    pool->mpirun_pid = 0;
    ranks_remove_files(pool);
    const bool ends = pool->state == JOB_UP;
    if (took_ranks_along(pool, status)) {
        snprintf(pool->trouble, sizeof pool->trouble, "%s", text);
        pool->culprit = RANKS_NOBODY;
        log_warning("why the ranks have ended: %s", text);
    }
    end_job(pool, text, killed);
    if (ends && WIFEXITED(status)) /* the end of a rank that is not noticed yet may be the cause */
        pool->blamed = false;
}

/* A killed rank may have been killed together with mpirun: callers learn the cause only after a moment. */
static bool may_tell_more(const struct rank_pool *pool, int64_t now)
{
    return pool->state == JOB_ENDING && pool->outside && pool->culprit != RANKS_NOBODY &&
           pool->mpirun_pid != 0 && now < pool->since_ns + ALONG_NS;
}

static bool anyone_left(const struct rank_pool *pool)
{
    for (uint32_t i = 0; i < pool->options.ranks; i++)
        if (pool->ranks[i].socket >= 0)
            return true;
    return pool->mpirun_pid != 0;
}

static bool rank_left(const struct rank_pool *pool)
{
    for (uint32_t i = 0; i < pool->options.ranks; i++)
        if (pool->ranks[i].socket >= 0)
            return true;
    return false;
}

static void kill_the_rest(struct rank_pool *pool)
{
    for (uint32_t i = 0; i < pool->options.ranks; i++)
        if (pool->ranks[i].process >= 0)
            pidfd_send_signal(pool->ranks[i].process, SIGKILL, NULL, 0);
    if (pool->mpirun_pid)
        kill(-pool->mpirun_pid, SIGKILL);
    pool->told = true;
}

/* ---- timed events ---- */

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t tick_ending(struct rank_pool *pool, int64_t now)
{
    if (!anyone_left(pool)) {
        ranks_enter(pool, JOB_DOWN);
        pool->retry_ns = now + (pool->pause_ns > 1 ? pool->pause_ns : 0);
        return pool->retry_ns;
    }
    if (now < pool->since_ns + END_NS)
        return pool->since_ns + END_NS;
    if (!pool->told)
        kill_the_rest(pool);
    return now + END_NS;
}

static int64_t tick_limits(struct rank_pool *pool, int64_t now)
{
    int64_t next = CLOCK_NEVER;
    for (uint32_t i = 0; i < pool->n_gangs; i++) {
        struct gang *gang = &pool->gangs[i];
        if (!gang->used || gang->claimed || gang->verdict != ESP_OK)
            continue;
        if (gang->due_ns <= now)
            gang->verdict = ESP_TIMEOUT;
        else
            next = sooner(next, gang->due_ns);
    }
    ranks_end_when_wanted(pool);
    return next;
}

static void start(struct rank_pool *pool, int64_t now)
{
    struct esp_error error;
    if (atomic_load(&pool->stopping))
        return;
    pool->words[0] = pool->worn[0] = 0;
    board_clear(pool->board);
    ranks_forget_calls(pool);
    if (ranks_launch(pool, &error) == ESP_OK) {
        ranks_enter(pool, JOB_STARTING);
        return;
    }
    fails(pool, true);
    snprintf(pool->trouble, sizeof pool->trouble, "%.380s", error.text);
    log_warning("the ranks cannot be started: %s", pool->trouble);
    pool->pause_ns = pool->pause_ns > PAUSE_NS ? sooner(pool->pause_ns * 2, LONGEST_NS) : 2 * PAUSE_NS;
    pool->retry_ns = now + pool->pause_ns;
}

static int64_t start_ns(const struct rank_pool *pool)
{
    const uint32_t ranks = pool->options.ranks, many = ranks > FEW_RANKS ? ranks - FEW_RANKS : 0;
    if (pool->options.start_ns > 0)
        return pool->options.start_ns;
    return (pool->hostfile ? FAR_NS : START_NS) + many * EACH_NS;
}

static void give_up_starting(struct rank_pool *pool)
{
    char text[300];
    uint32_t there = 0;
    for (uint32_t i = 0; i < pool->options.ranks; i++)
        there += pool->ranks[i].socket >= 0;
    snprintf(text, sizeof text, "not all ranks were ready within %.3g s: %u of %u have come%s%.150s",
             (double)start_ns(pool) / NS_PER_S, there, pool->options.ranks,
             pool->hostfile ? " from the hosts in " : "", pool->hostfile ? pool->hostfile : "");
    ranks_end_job(pool, text);
}

static int64_t ranks_tick(struct rank_pool *pool, bool *buried)
{
    int64_t now = ranks_now_ns(), next = CLOCK_NEVER;
    if (pool->state == JOB_DOWN && now >= pool->retry_ns)
        start(pool, now);
    if (pool->state == JOB_STARTING && now >= pool->since_ns + start_ns(pool))
        give_up_starting(pool);
    if (pool->state == JOB_UP)
        ranks_look_for_stopped(pool, now);
    if (pool->state == JOB_UP)
        ranks_look_for_alone(pool, now);
    if (pool->state == JOB_UP)
        next = tick_limits(pool, now);
    if (pool->state == JOB_STARTING)
        next = pool->since_ns + start_ns(pool);
    if (pool->state == JOB_ENDING)
        next = tick_ending(pool, now);
    if (pool->state == JOB_DOWN)
        next = sooner(next, pool->retry_ns);
    *buried = (pool->state == JOB_ENDING || pool->state == JOB_DOWN) && !rank_left(pool);
    if (*buried && may_tell_more(pool, now)) {
        *buried = false;
        next = sooner(next, pool->since_ns + ALONG_NS);
    }
    return next;
}

/* Accepts a connection; its first message identifies it. Handles arriving ranks, or their envoys, until
 * the job is complete. */
static void ranks_on_connection(struct rank_pool *pool)
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
    /* The times of calls are more reliable than new measurements. */
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

static void ranks_on_hello(struct rank_pool *pool, int socket)
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

/* A rank on another host has connected to its envoy, at the other end of the socket. Takes the lock
 * itself. */
static bool ranks_on_arrival(void *arg, const struct far_hello *hello, int socket)
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

/* The rank has measured its speed. */
static void ranks_on_ready(struct rank_pool *pool, struct rank *rank, const struct parallel_speed *speed)
{
    pool->n_ready += !rank->ready;
    rank->ready = true;
    if (pool->state != JOB_STARTING || pool->n_ready < pool->options.ranks)
        return;
    ranks_enter(pool, JOB_UP);
    ranks_profile_measured(pool, speed); /* all have the same result */
    const struct parallel_speed *is = &pool->profile.speed;
    log_notice("%u ranks are ready: %.3g Gflop/s each, %.3g us and %.3g GB/s between two",
               pool->options.ranks, is->flops / 1e9, is->latency_s * 1e6,
               is->byte_s > 0 ? 1e-9 / is->byte_s : 0);
    if (pool->failed)
        pool->pause_ns = 1; /* earlier failures say nothing about a job that has started */
    pool->failed = false;
    pool->killed_starts = 0;
    pool->trouble[0] = 0;
}

/* A heartbeat connection has arrived. Takes the lock itself. */
static bool ranks_on_pulse(void *arg, const struct far_hello *hello, int socket)
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

/* The end of a call on ranks: answered, stopped, or lost with its job. */

bool ranks_is_answered(const struct gang *gang)
{
    return (atomic_load_explicit(&gang->ring->reply, memory_order_acquire) & ~RING_WAITERS) == RING_DONE;
}

static void release(struct rank_pool *pool, struct gang *gang)
{
    if (gang->promised)
        atomic_fetch_sub(&gang->ring->attended, 1);
    gang->promised = gang->used = false;
    for (uint32_t i = gang->first; i < gang->first + gang->n; i++)
        pool->busy[i] = false;
}

static void describe_timeout(const struct gang *gang, uint64_t may_have, struct esp_error *error)
{
    const uint64_t refused = atomic_load(&gang->ring->gang.refused);
    error_set(error, ESP_TIMEOUT, "%s was stopped after its time limit of %.3g s",
              gang->handoff.job.implementation->symbol, (double)gang->handoff.job.time_limit_ms / 1e3);
    if (refused > 0)
        handoff_append_refusal("rank", refused, may_have, error->text, sizeof error->text);
}

static void describe_verdict(const struct rank_pool *pool, const struct gang *gang, struct job_end *end)
{
    *end = (struct job_end){.compute_s = (double)(ranks_now_ns() - gang->started_ns) / 1e9};
    if (gang->verdict == ESP_TIMEOUT)
        describe_timeout(gang, pool->options.memory, &end->error);
    else if (gang->verdict == ESP_FAILED)
        error_set(&end->error, ESP_FAILED, "%s; the ranks are started again", gang->why);
    else
        error_set(&end->error, ESP_CANCELLED, "cancelled while it was running");
}

/* A call to be stopped that has ended by itself meanwhile counts as ended normally. */
static bool was_stopped(const struct gang *gang)
{
    return gang->verdict != ESP_OK && (gang->verdict != ESP_FAILED || !ranks_is_answered(gang));
}

static void report(struct rank_pool *pool, uint64_t job_id, const struct job_end *end)
{
    if (pool->workers.ended)
        pool->workers.ended(pool->workers.arg, job_id, end);
}

/* A rank without memory would fail the next call too, because its own limit and what its libraries hold
 * stay. Running calls continue; others wait for the new job. */
static void replace_starved(struct rank_pool *pool, const struct gang *gang, struct esp_error *error)
{
    static const char next[] = "; the ranks are started again";
    if (!atomic_load(&gang->ring->gang.starved) || error->status == ESP_OK)
        return;
    snprintf(pool->worn, sizeof pool->worn, "a call found no memory on a rank: %.240s", error->text);
    const size_t length = strlen(error->text);
    snprintf(error->text + length, sizeof error->text - length, "%s", next);
}

void ranks_collect(struct rank_pool *pool, struct gang *gang)
{
    struct job_end end = {0};
    bool unused;
    pthread_mutex_lock(&pool->lock);
    bool mine = gang->used && !gang->claimed && ranks_is_answered(gang);
    if (mine)
        gang->claimed = true;
    pthread_mutex_unlock(&pool->lock);
    if (!mine)
        return;
    uint64_t job_id = gang->job_id;
    int64_t now = ranks_now_ns();
    handoff_read(gang->ring, &gang->handoff, now - gang->started_ns, NULL, &end, &unused);
    pthread_mutex_lock(&pool->lock);
    if (end.error.status == ESP_OK) {
        ranks_profile_learn(pool, gang, now);
        ranks_know(pool, gang);
    }
    replace_starved(pool, gang, &end.error);
    if (was_stopped(gang))
        describe_verdict(pool, gang, &end);
    end.first_rank = gang->first;
    release(pool, gang);
    ranks_end_when_wanted(pool);
    pthread_mutex_unlock(&pool->lock);
    report(pool, job_id, &end);
}

/* An array that each rank has as a whole is computed in place. */
static bool is_written_in_place(const struct job *job)
{
    for (uint32_t i = 0; i < job->problem->n_arguments; i++)
        if (job->problem->arguments[i].mode == MODE_INOUT && job->problem->arguments[i].n_dims > 0 &&
            job->implementation->spreads[i].kind == SPREAD_WHOLE)
            return true;
    return false;
}

/* Whether the call did not cause it, as far as can be seen: the job has ended because of a rank of another
 * call, or of none. */
static bool is_blameless(const struct rank_pool *pool, const struct gang *gang)
{
    const bool has_part = pool->culprit >= gang->first && pool->culprit < gang->first + gang->n;
    return pool->outside || (pool->culprit != RANKS_NOBODY && !has_part);
}

/* Whether ranks of this host wait for each other before the routine; they do not if none can fail before
 * it. */
static bool was_waited_for(const struct gang *gang)
{
    const struct ring *ring = gang->ring;
    return !ring->job.sure && !ring->job.apart && atomic_load(&ring->gang.prepared) < gang->n;
}

static void describe_lost(const struct rank_pool *pool, const struct gang *gang, struct job_end *end)
{
    error_set(&end->error, ESP_CRASHED, "%s on a grid of %u x %u ranks was lost: %s",
              gang->handoff.job.implementation->symbol, gang->handoff.job.grid.rows,
              gang->handoff.job.grid.cols, pool->trouble);
    end->lost = is_blameless(pool, gang);
    end->unbegun = was_waited_for(gang);
    end->intact = !atomic_load(&gang->ring->gang.touched) && !is_written_in_place(&gang->handoff.job);
}

static void describe_loss(const struct rank_pool *pool, const struct gang *gang, struct job_end *end)
{
    bool unused;
    if (was_stopped(gang))
        describe_verdict(pool, gang, end);
    else if (ranks_is_answered(gang))
        handoff_read(gang->ring, &gang->handoff, ranks_now_ns() - gang->started_ns, NULL, end, &unused);
    else
        describe_lost(pool, gang, end);
}

/* Ends all calls that are still there with the job's error. Without the lock. */
static void ranks_bury_calls(struct rank_pool *pool)
{
    for (uint32_t i = 0; i < pool->n_gangs; i++) {
        struct gang *gang = &pool->gangs[i];
        struct job_end end = {0};
        pthread_mutex_lock(&pool->lock);
        bool mine = gang->used && !gang->claimed;
        uint64_t job_id = gang->job_id;
        if (mine) {
            gang->claimed = true;
            describe_loss(pool, gang, &end);
            end.first_rank = gang->first;
            release(pool, gang);
            atomic_store(&gang->ring->reply, RING_DONE); /* wakes threads that wait for the answer */
            ring_wake(&gang->ring->reply);
        }
        pthread_mutex_unlock(&pool->lock);
        if (mine)
            report(pool, job_id, &end);
    }
}

/* The thread that watches the ranks: deaths, answers that no thread waits for, time limits, output. */

#define SWEEP_NS (200 * NS_PER_MS) /* a promised helper thread may not have come */

/* ---- output of mpirun and the ranks ---- */

/* The first lines have the cause, often several; later lines describe mpirun's reaction. */
static void note_words(struct rank_pool *pool)
{
    size_t used = strlen(pool->words);
    const char *line = pool->line + strspn(pool->line, " ");
    snprintf(pool->words + used, sizeof pool->words - used, "%s%.*s", used > 0 ? " " : "",
             (int)strcspn(line, "\n"), line);
}

/* Lines of ranks come from a terminal of mpirun's, with a carriage return. */
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
    bool ending =
        pool->state == JOB_ENDING; /* mpirun's messages about ranks that we have ended are not logged */
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
            on_output(pool); /* its last output comes before its end */
        pthread_mutex_lock(&pool->lock);
        handle_locked(pool, what);
        pthread_mutex_unlock(&pool->lock);
    }
}

/* Returns whether calls are running. */
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

static void *ranks_monitor(void *arg)
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

/* Creates and destroys the pool of ranks. */

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
    close_if_open(pool->listener); /* so that the monitor does not watch it any more */
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
    /* systemd-tmpfiles ignores locked folders. */
    if ((pool->folder_held = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0)
        flock(pool->folder_held, LOCK_SH | LOCK_NB);
    if (pool->listener < 0 || bind(pool->listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(pool->listener, RANKS_MOST) != 0)
        return error_errno(error, "cannot listen for ranks at %s", pool->path);
    return ESP_OK;
}

/* MPI stores shared memory of a host's ranks in files, and leaves them when it is killed: so they are in a
 * folder that is removed with the pool. Ranks of other hosts have no such folder. */
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
