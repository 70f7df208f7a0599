/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks that are stopped (SIGSTOP): they live, so that no channel tells of them, and a call waits for them.
 */
#include "sed/ranks/ranks_pool.h"

#include "util/log.h"

#include <stdio.h>
#include <string.h>

#define LOOK_NS  NS_PER_S
#define STILL_NS (60 * NS_PER_S)

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

/* Whether it has been stopped for too long. */
static bool look_at(struct rank_pool *pool, uint32_t number, int64_t now)
{
    struct rank *rank = &pool->ranks[number];
    const int64_t patience = pool->options.still_ns > 0 ? pool->options.still_ns : STILL_NS;
    if (!pool->busy[number] || rank->far || !is_stopped(rank->pid)) {
        rank->still_ns = 0;
        return false;
    }
    if (rank->still_ns == 0) {
        rank->still_ns = now;
        log_warning(
            "rank %u of %u (process %d on %s) is stopped, and a call waits for it: after %.3g s it counts "
            "as dead (kill -CONT %d lets it go on)",
            number, pool->options.ranks, rank->pid, rank->host, (double)patience / NS_PER_S, rank->pid);
    }
    return now - rank->still_ns >= patience;
}

void ranks_look_for_stopped(struct rank_pool *pool, int64_t now)
{
    char text[200];
    if (now < pool->looked_ns + LOOK_NS)
        return;
    pool->looked_ns = now;
    for (uint32_t i = 0; i < pool->options.ranks; i++) {
        if (!look_at(pool, i, now))
            continue;
        snprintf(text, sizeof text, "rank %u of %u (process %d on %s) was stopped for %.3g s", i,
                 pool->options.ranks, pool->ranks[i].pid, pool->ranks[i].host,
                 (double)(now - pool->ranks[i].still_ns) / NS_PER_S);
        ranks_end_job_for(pool, i, true, text);
        return;
    }
}
