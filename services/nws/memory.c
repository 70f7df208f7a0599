/* SPDX-License-Identifier: Apache-2.0 */
#include "services/nws/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Version 1 reports a group without a limit by a number of this size. */
#define NO_LIMIT (UINT64_C(1) << 60)

static uint64_t of_machine(const char *meminfo)
{
    uint64_t kib = UINT64_MAX;
    char line[128];
    FILE *file = fopen(meminfo, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib < UINT64_MAX / 1024 ? kib * 1024 : UINT64_MAX;
}

/* Returns the reclaimable file caches of a group, as the kernel counts them for MemAvailable, except for
 * half of those in use. */
static uint64_t caches(const char *folder, bool version2)
{
    const char *inactive = version2 ? "inactive_file %" SCNu64 : "total_inactive_file %" SCNu64,
               *active = version2 ? "active_file %" SCNu64 : "total_active_file %" SCNu64;
    char path[4200], line[128];
    uint64_t idle = 0, used = 0;
    if (snprintf(path, sizeof path, "%s/memory.stat", folder) >= (int)sizeof path)
        return 0;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, inactive, &idle) != 1)
            sscanf(line, active, &used);
    if (file)
        fclose(file);
    return idle + used / 2;
}

static void take_least(const char *folder, bool version2, void *arg)
{
    uint64_t *least = arg, limit, used;
    if (!control_group_number(folder, version2 ? "memory.max" : "memory.limit_in_bytes", &limit) ||
        limit >= NO_LIMIT ||
        !control_group_number(folder, version2 ? "memory.current" : "memory.usage_in_bytes", &used))
        return;
    const uint64_t dropped = caches(folder, version2);
    used -= dropped < used ? dropped : used;
    const uint64_t left = used < limit ? limit - used : 0;
    if (left < *least)
        *least = left;
}

uint64_t memory_available(const struct memory_files *files)
{
    uint64_t least = of_machine(files && files->meminfo ? files->meminfo : "/proc/meminfo");
    control_groups_visit(files ? &files->groups : NULL, "memory", take_least, &least);
    return least;
}
