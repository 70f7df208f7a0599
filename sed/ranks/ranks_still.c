/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks that are stopped (SIGSTOP): they live, so that no channel tells of them, and a call waits for them.
 * The system tells it of those of this host; those on others are sent a byte, which comes back unless they
 * are.
 */
#include "sed/ranks/ranks_pool.h"

#include "util/log.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define LOOK_NS   NS_PER_S
#define STILL_NS  (60 * NS_PER_S)
#define SILENT_NS (3 * NS_PER_S) /* without an answer from another host, which may be busy */

static bool is_stopped(int32_t pid)
{
    char path[32], line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    const char *behind = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    fclose(file);
    return behind && strncmp(behind, ") T", 3) == 0;
}

/* Asks it when it has answered, or was not asked yet. */
static bool is_silent(struct rank *rank, int64_t now)
{
    char answers[64];
    while (rank->pulse >= 0 && recv(rank->pulse, answers, sizeof answers, MSG_DONTWAIT) > 0)
        rank->asked_ns = 0;
    if (rank->asked_ns == 0 && rank->pulse >= 0 && send(rank->pulse, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
        rank->asked_ns = now;
    return rank->asked_ns != 0 && now - rank->asked_ns >= SILENT_NS;
}

static void describe_still(const struct rank *rank, int64_t now, char *text, size_t size)
{
    const double seconds = (double)(now - rank->still_ns) / NS_PER_S;
    if (rank->far)
        snprintf(text, size, RANKS_SILENT, seconds);
    else
        snprintf(text, size, "was stopped for %.3g s", seconds);
}

static void warn(const struct rank_pool *pool, uint32_t number, int64_t now, int64_t patience)
{
    const struct rank *rank = &pool->ranks[number];
    char how[120] = "is stopped";
    if (rank->far)
        describe_still(rank, now, how, sizeof how);
    log_warning(
        "rank %u of %u (process %d on %s) %s, and a call waits for it: after %.3g s it counts as dead "
        "(kill -CONT %d there lets it go on)",
        number, pool->options.ranks, rank->pid, rank->host, how, (double)patience / NS_PER_S, rank->pid);
}

static void note_hold_up(struct rank_pool *pool, uint32_t number)
{
    for (uint32_t i = 0; i < pool->n_gangs; i++) {
        struct gang *gang = &pool->gangs[i];
        gang->held_up |= gang->used && number - gang->first < gang->n;
    }
}

/* Whether it has been stopped for too long. */
static bool look_at(struct rank_pool *pool, uint32_t number, int64_t now)
{
    struct rank *rank = &pool->ranks[number];
    const int64_t patience = pool->options.still_ns > 0 ? pool->options.still_ns : STILL_NS;
    if (!pool->busy[number] || !(rank->far ? is_silent(rank, now) : is_stopped(rank->pid))) {
        rank->still_ns = 0;
        return false;
    }
    note_hold_up(pool, number);
    if (rank->still_ns == 0) {
        rank->still_ns = rank->far ? rank->asked_ns : now;
        warn(pool, number, now, patience);
    }
    return now - rank->still_ns >= patience;
}

void ranks_look_for_stopped(struct rank_pool *pool, int64_t now)
{
    char text[300], how[120];
    if (now < pool->looked_ns + LOOK_NS)
        return;
    pool->looked_ns = now;
    for (uint32_t i = 0; i < pool->options.ranks; i++) {
        if (!look_at(pool, i, now))
            continue;
        describe_still(&pool->ranks[i], now, how, sizeof how);
        snprintf(text, sizeof text, "rank %u of %u (process %d on %s) %s", i, pool->options.ranks,
                 pool->ranks[i].pid, pool->ranks[i].host, how);
        ranks_end_job_for(pool, i, true, text);
        return;
    }
}
