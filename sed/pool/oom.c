/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/pool/oom.h"

#include "util/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* Nobody looks while nothing computes. Who was killed in such a while did not compute here. */
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

static uint64_t count_killed(const struct oom_watch *watch)
{
    char line[128];
    uint64_t killed = 0;
    FILE *file = fopen(watch->file ? watch->file : "/proc/vmstat", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "oom_kill %" SCNu64, &killed) == 1)
            break;
    if (file)
        fclose(file);
    return killed;
}

void oom_look(struct oom_watch *watch, int64_t now_ns)
{
    if (watch->looked_ns != 0 && now_ns - watch->looked_ns < NS_PER_S)
        return;
    const bool recent = watch->looked_ns != 0 && now_ns - watch->looked_ns < LONG_AGO_NS;
    const uint64_t killed = count_killed(watch);
    watch->before = recent ? watch->last : killed;
    watch->last = killed;
    watch->looked_ns = now_ns;
}

bool oom_is_recent(const struct oom_watch *watch)
{
    return watch->looked_ns != 0 && count_killed(watch) > watch->before;
}
