/* SPDX-License-Identifier: Apache-2.0
 *
 * The job of MPI: how it comes to be, and how it ends.
 */
#include "sed/ranks/ranks_pool.h"

#include "util/log.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_NS   (30 * NS_PER_S) /* for all ranks to be ready */
#define FAR_NS     (60 * NS_PER_S) /* the same, on hosts where they are started by ssh */
#define FEW_RANKS  16              /* and more for each beyond so many: they may share a few processors */
#define EACH_NS    (500 * NS_PER_MS)
#define END_NS     (500 * NS_PER_MS) /* for all ranks to be gone by themselves */
#define GOING_MS   20                /* that mpirun is waited for, when a rank was killed; */
#define ALONG_NS   (100 * NS_PER_MS) /* and before calls are told who it was */
#define STEADY_NS  (5 * NS_PER_S)    /* a job that lived longer is started again at once */
#define PAUSE_NS   (500 * NS_PER_MS) /* after the first failure; twice as long after each further one */
#define LONGEST_NS (30 * NS_PER_S)
#define STARTS     2   /* in a row that somebody's signal has ended, and that do not count as failures */
#define SIGNALLED  128 /* exit codes beyond tell of a signal */

bool ranks_watch(struct rank_pool *pool, int fd, uint64_t what)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = what};
    return epoll_ctl(pool->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

void ranks_enter(struct rank_pool *pool, enum job_state state)
{
    pool->state = state;
    pool->since_ns = ranks_now_ns();
}

/* ---- ending ---- */

/* Whether the last attempt to start them failed is what agents choose by. */
static void fails(struct rank_pool *pool, bool failed)
{
    pool->proposes_other |= failed != pool->failed;
    pool->failed = failed;
}

/* A start that somebody's signal has ended says nothing of the next one. */
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
    /* They see that the channel is closed, and we see when they are gone. */
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
    if (pool->state == JOB_UP) /* else when it is, or never: a fresh one is not worn */
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

/* By its own words. */
static void word_text(const struct rank_message *word, char *text, size_t size)
{
    if (word->end == RANK_KILLED)
        snprintf(text, size, "was killed by signal %d (%s)", word->code, strsignal(word->code));
    else if (word->end == RANK_ABORTED)
        snprintf(text, size, "called MPI_Abort() with code %d", word->code);
    else
        snprintf(text, size, "ended with exit code %d", word->code);
}

/* How it ended without a word, which the system knows until mpirun has waited for it: the last field of its
 * line. */
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
        snprintf(text, size, "was killed (signal 9), by somebody or for want of memory");
}

/* Who is on another host and has said nothing may have been ended by mpirun: a word of another one says
 * more. */
static void blame(struct rank_pool *pool, uint32_t number, bool outside, bool guessed, const char *how)
{
    const struct rank *rank = &pool->ranks[number];
    char text[300];
    snprintf(text, sizeof text, "rank %u of %u (process %d on %s) %s", number, pool->options.ranks, rank->pid,
             rank->host, how);
    const bool open = !pool->blamed || (pool->guessed && !guessed);
    if (pool->state == JOB_ENDING && open && !pool->told) { /* now we know */
        snprintf(pool->trouble, sizeof pool->trouble, "%s", text);
        pool->blamed = true;
        pool->guessed = guessed;
        accuse(pool, number, outside);
        log_warning("why mpirun has ended the ranks: %s", text);
    }
    ranks_end_job_for(pool, number, outside, text);
}

/* Ranks that mpirun ends because another one has ended are not to blame, also where we hear of them first. */
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

/* What its routines have not freed would be lost for as long as it lives. */
static void on_kept(struct rank_pool *pool, uint32_t number, uint64_t bytes)
{
    char why[200];
    snprintf(why, sizeof why, "rank %u of %u kept %llu MiB of memory after calls (worker_keeps is %llu)",
             number, pool->options.ranks, (unsigned long long)(bytes >> 20),
             (unsigned long long)(pool->options.keep >> 20));
    ranks_wear_out(pool, why);
}

/* mpirun may have been killed, which kills its ranks: they can be gone while it is still going. */
static void look_at_mpirun(struct rank_pool *pool)
{
    struct pollfd gone = {.fd = pool->mpirun_process, .events = POLLIN};
    if (pool->state == JOB_UP && pool->mpirun_process >= 0 && poll(&gone, 1, GOING_MS) == 1)
        ranks_on_mpirun_end(pool);
}

/* It has said nothing: of another host, not even to its envoy. */
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

void ranks_on_rank(struct rank_pool *pool, uint32_t number)
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

/* *killed: by somebody's signal, it or one of those that it started. */
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

/* Its ranks are killed with it, and may be gone before it is: then it was none of them. */
static bool took_ranks_along(const struct rank_pool *pool, int status)
{
    return pool->state == JOB_ENDING && !pool->told && pool->outside && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGKILL;
}

void ranks_on_mpirun_end(struct rank_pool *pool)
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
    if (ends && WIFEXITED(status)) /* the end of a rank of which we have not heard yet may be why */
        pool->blamed = false;
}

/* Who was killed may have been killed with it: for a moment calls are not told yet. */
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

/* ---- what time brings ---- */

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

int64_t ranks_tick(struct rank_pool *pool, bool *buried)
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
