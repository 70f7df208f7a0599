/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/server/cpu_quota.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 4096

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, ",");
        if (n == length && strncmp(at, word, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

static bool read_line(const char *folder, const char *name, char *line, size_t size)
{
    char path[PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    bool good = file && fgets(line, (int)size, file);
    if (file)
        fclose(file);
    return good;
}

static double ratio(double quota_us, double period_us)
{
    return quota_us > 0 && period_us > 0 ? quota_us / period_us : HUGE_VAL;
}

static double quota_of_folder(const char *folder, bool version2)
{
    char quota[64], period[64], *end;
    if (version2) {
        if (!read_line(folder, "cpu.max", quota, sizeof quota) || strncmp(quota, "max", 3) == 0)
            return HUGE_VAL;
        double quota_us = strtod(quota, &end);
        return ratio(quota_us, strtod(end, NULL));
    }
    if (!read_line(folder, "cpu.cfs_quota_us", quota, sizeof quota) ||
        !read_line(folder, "cpu.cfs_period_us", period, sizeof period))
        return HUGE_VAL;
    return ratio(strtod(quota, NULL), strtod(period, NULL));
}

/* The process's group in that hierarchy: "ID:controllers:path", version 2 without controllers. */
static bool find_group(const char *groups, bool version2, char *path, size_t size)
{
    char line[PATH_BYTES];
    bool found = false;
    FILE *file = fopen(groups, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        found = version2 ? controllers[1] == 0 : has_word(controllers + 1, "cpu");
        if (found)
            snprintf(path, size, "%s", group);
    }
    if (file)
        fclose(file);
    return found;
}

static double quota_of_mount(const struct cpu_quota_files *files, const char *mount, bool version2)
{
    char group[PATH_BYTES / 2], folder[PATH_BYTES];
    struct stat is;
    if (!find_group(files->groups, version2, group, sizeof group))
        return HUGE_VAL;
    int top = snprintf(folder, sizeof folder, "%s%s", files->root, mount);
    if (top < 0 || (size_t)top + strlen(group) >= sizeof folder)
        return HUGE_VAL;
    strcpy(folder + top, group);
    /* In a container the path may be the host's, while the mount shows the container's own group only. */
    if (stat(folder, &is) != 0)
        folder[top] = 0;
    double least = HUGE_VAL;
    for (;;) {
        least = fmin(least, quota_of_folder(folder, version2));
        char *last = strrchr(folder + top, '/');
        if (!last)
            return least;
        *last = 0;
    }
}

double cpu_quota(const struct cpu_quota_files *given)
{
    struct cpu_quota_files files = given ? *given : (struct cpu_quota_files){0};
    files.groups = files.groups ? files.groups : "/proc/self/cgroup";
    files.mounts = files.mounts ? files.mounts : "/proc/self/mounts";
    files.root = files.root ? files.root : "";
    char line[PATH_BYTES], mount[1024], type[64], options[1024];
    double least = HUGE_VAL;
    FILE *file = fopen(files.mounts, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%*s %1023s %63s %1023s", mount, type, options) != 3)
            continue;
        bool version2 = strcmp(type, "cgroup2") == 0;
        if (version2 || (strcmp(type, "cgroup") == 0 && has_word(options, "cpu")))
            least = fmin(least, quota_of_mount(&files, mount, version2));
    }
    if (file)
        fclose(file);
    return least;
}
