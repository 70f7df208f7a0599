/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/quota.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A short period, so that a computation of a few milliseconds is slowed down as much as a long one. */
#define PERIOD_US    10000.0
#define LEAST_US     1000.0    /* the kernel takes no shorter quota */
#define MOST_US      1000000.0 /* nor a longer period */
#define MAX_LOADS    15
#define CGROUP2_ROOT "/sys/fs/cgroup"

static bool write_file(const char *folder, const char *file, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return good;
}

/* Where version 1's cpu controller is mounted. */
static bool find_cgroup1(char *folder, size_t size)
{
    char line[1024], path[256], type[64], options[512];
    bool found = false;
    FILE *stream = fopen("/proc/mounts", "re");
    while (stream && !found && fgets(line, sizeof line, stream)) {
        if (sscanf(line, "%*s %255s %63s %511s", path, type, options) != 3 || strcmp(type, "cgroup") != 0)
            continue;
        for (char *rest = options, *word; (word = strsep(&rest, ",")) && !found;)
            found = strcmp(word, "cpu") == 0;
    }
    if (stream)
        fclose(stream);
    if (found)
        snprintf(folder, size, "%s", path);
    return found;
}

static bool make_group(struct quota *quota, const char *root, const char *name, bool version2, double cpus)
{
    char text[64];
    double period = fmin(fmax(PERIOD_US, LEAST_US / cpus), MOST_US), share = fmax(cpus * period, LEAST_US);
    if (snprintf(quota->group, sizeof quota->group, "%s/espalier-%s", root, name) >=
            (int)sizeof quota->group ||
        mkdir(quota->group, 0755) != 0)
        return false;
    bool good;
    if (version2) {
        snprintf(text, sizeof text, "%.0f %.0f", share, period);
        good = write_file(quota->group, "cpu.max", text);
    } else {
        snprintf(text, sizeof text, "%.0f", period);
        good = write_file(quota->group, "cpu.cfs_period_us", text);
        snprintf(text, sizeof text, "%.0f", share);
        good = good && write_file(quota->group, "cpu.cfs_quota_us", text);
    }
    if (!good)
        rmdir(quota->group);
    return good;
}

static bool prepare_group(struct quota *quota, const char *name, double cpus)
{
    char root[256];
    if (access(CGROUP2_ROOT "/cgroup.controllers", F_OK) == 0) {
        write_file(CGROUP2_ROOT, "cgroup.subtree_control", "+cpu"); /* may be there already */
        if (make_group(quota, CGROUP2_ROOT, name, true, cpus))
            return true;
    }
    return find_cgroup1(root, sizeof root) && make_group(quota, root, name, false, cpus);
}

static int last_processor(void)
{
    cpu_set_t set;
    int last = 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 0;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set))
            last = i;
    return last;
}

void quota_prepare(const char *name, double cpus, struct quota *quota)
{
    *quota = (struct quota){.means = QUOTA_CGROUP};
    if (prepare_group(quota, name, cpus))
        return;
    /* The scheduler shares one processor evenly: with k others, 1 / (k + 1) is left. */
    double others = cpus < 1 ? round(1 / cpus) - 1 : 0;
    *quota = (struct quota){.means = QUOTA_LOAD, .processor = last_processor()};
    quota->loads = (unsigned)fmin(fmax(others, 1), MAX_LOADS);
}

static int pin(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    return sched_setaffinity(0, sizeof set, &set);
}

int quota_enter(const struct quota *quota)
{
    if (quota->means == QUOTA_LOAD)
        return pin(quota->processor) == 0;
    return quota->means == QUOTA_NONE || write_file(quota->group, "cgroup.procs", "0");
}

/* Busy until the victim is gone. */
static void compete(pid_t victim)
{
    volatile double sink = 1;
    struct timespec last = {0}, now;
    for (;;) {
        for (int i = 0; i < 100000; i++)
            sink = sink * 1.0000001 + 1e-9;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec == last.tv_sec)
            continue;
        last = now;
        if (kill(victim, 0) != 0)
            _exit(0);
    }
}

pid_t quota_start_load(const struct quota *quota, pid_t victim)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    setsid();
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    prctl(PR_SET_NAME, "espalier-load");
    pin(quota->processor);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    compete(victim);
    _exit(0);
}

const char *quota_text(const struct quota *quota, double cpus, char *text, size_t size)
{
    if (quota->means == QUOTA_CGROUP)
        snprintf(text, size, "at most %.0f %% of a processor (control group)", 100 * cpus);
    else if (quota->means == QUOTA_LOAD)
        snprintf(text, size, "about %.0f %% of a processor (it shares processor %d with %u busy process%s)",
                 100.0 / (quota->loads + 1), quota->processor, quota->loads, quota->loads == 1 ? "" : "es");
    else if (size)
        *text = 0;
    return text;
}
