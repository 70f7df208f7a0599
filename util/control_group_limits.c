/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the limits of control groups. */
#include "util/control_group.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Version 1 reports a group without a memory limit by a number of this size. */
#define NO_LIMIT (UINT64_C(1) << 60)

bool control_group_number(const char *folder, const char *name, uint64_t *number)
{
    char line[64], *end;
    if (!control_group_line(folder, name, line, sizeof line) || *line < '0' || *line > '9')
        return false;
    errno = 0;
    *number = strtoull(line, &end, 10);
    return errno == 0;
}

/* ---- processors ---- */

static double ratio(double quota_us, double period_us)
{
    return quota_us > 0 && period_us > 0 ? quota_us / period_us : HUGE_VAL;
}

static double quota_of_folder(const char *folder, bool version2)
{
    char quota[64], period[64], *end;
    if (version2) {
        if (!control_group_line(folder, "cpu.max", quota, sizeof quota) || strncmp(quota, "max", 3) == 0)
            return HUGE_VAL;
        double quota_us = strtod(quota, &end);
        return ratio(quota_us, strtod(end, NULL));
    }
    if (!control_group_line(folder, "cpu.cfs_quota_us", quota, sizeof quota) ||
        !control_group_line(folder, "cpu.cfs_period_us", period, sizeof period))
        return HUGE_VAL;
    return ratio(strtod(quota, NULL), strtod(period, NULL));
}

static void take_quota(const char *folder, bool version2, void *arg)
{
    double *least = arg;
    *least = fmin(*least, quota_of_folder(folder, version2));
}

double control_groups_quota(const struct control_group_files *files)
{
    double least = HUGE_VAL;
    control_groups_visit(files, "cpu", take_quota, &least);
    return least;
}

/* ---- memory ---- */

struct memory_limit {
    uint64_t bytes, id;
};

static void take_memory(const char *folder, bool version2, void *arg)
{
    struct memory_limit *least = arg;
    uint64_t limit;
    struct stat is;
    if (!control_group_number(folder, version2 ? "memory.max" : "memory.limit_in_bytes", &limit) ||
        limit >= NO_LIMIT || limit >= least->bytes)
        return;
    *least = (struct memory_limit){limit, stat(folder, &is) == 0 ? is.st_ino : 0};
}

uint64_t control_groups_memory_of(const struct control_group_files *files, uint64_t *id)
{
    struct memory_limit least = {UINT64_MAX, 0};
    control_groups_visit(files, "memory", take_memory, &least);
    *id = least.id;
    return least.bytes;
}

uint64_t control_groups_memory(const struct control_group_files *files)
{
    uint64_t id;
    return control_groups_memory_of(files, &id);
}

/* ---- processes ---- */

static void take_tasks(const char *folder, bool version2, void *arg)
{
    struct control_group_tasks *tightest = arg;
    uint64_t most, used;
    (void)version2; /* both versions have the same files */
    if (!control_group_number(folder, "pids.max", &most) ||
        !control_group_number(folder, "pids.current", &used))
        return;
    const uint64_t left = used < most ? most - used : 0;
    if (tightest->most == UINT64_MAX || tightest->used + left < tightest->most) {
        tightest->most = most;
        tightest->used = used;
        snprintf(tightest->folder, sizeof tightest->folder, "%s", folder);
    }
}

void control_groups_tasks(const struct control_group_files *files, struct control_group_tasks *tasks)
{
    *tasks = (struct control_group_tasks){.most = UINT64_MAX};
    control_groups_visit(files, "pids", take_tasks, tasks);
}
