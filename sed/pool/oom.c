/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/pool/oom.h"

#include "util/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The counter is not read while nothing computes. A process killed in such a time did not compute here. */
#define LONG_AGO_NS (5 * NS_PER_S)

void oom_offer_self(void)
{
    static const char first[] = "1000";
    const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return;
    if (write(file, first, sizeof first - 1) < 0) {
        /* The kernel then chooses by size. */
    }
    close(file);
}

/* Reads the line "oom_kill NUMBER" of the file. */
static bool read_count(const char *path, uint64_t *killed)
{
    char line[128];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, "oom_kill %" SCNu64, killed) == 1;
    if (file)
        fclose(file);
    return found;
}

/* Takes the first group on the way to the root that has a counter. */
static void take_file(const char *folder, bool version2, void *arg)
{
    struct oom_watch *watch = arg;
    char path[sizeof watch->of_group];
    uint64_t unused;
    if (!watch->of_group[0] &&
        snprintf(path, sizeof path, "%s/%s", folder, version2 ? "memory.events" : "memory.oom_control") <
            (int)sizeof path &&
        read_count(path, &unused))
        memcpy(watch->of_group, path, sizeof path);
}

static const char *file_of(struct oom_watch *watch)
{
    if (!watch->looked_for_group)
        control_groups_visit(watch->groups, "memory", take_file, watch);
    watch->looked_for_group = true;
    return watch->of_group[0] ? watch->of_group : "/proc/vmstat";
}

static uint64_t count_killed(const char *path)
{
    uint64_t killed = 0;
    return read_count(path, &killed) ? killed : 0;
}

void oom_look(struct oom_watch *watch, int64_t now_ns)
{
    if (watch->looked_ns != 0 && now_ns - watch->looked_ns < NS_PER_S)
        return;
    const bool recent = watch->looked_ns != 0 && now_ns - watch->looked_ns < LONG_AGO_NS;
    const uint64_t killed = count_killed(watch->file ? watch->file : file_of(watch));
    watch->before = recent ? watch->last : killed;
    watch->last = killed;
    watch->looked_ns = now_ns;
}

bool oom_is_recent(const struct oom_watch *watch)
{
    const char *group = watch->of_group[0] ? watch->of_group : "/proc/vmstat";
    return watch->looked_ns != 0 && count_killed(watch->file ? watch->file : group) > watch->before;
}
