/* SPDX-License-Identifier: Apache-2.0 */
#include "services/process_metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double seconds_of(clockid_t id)
{
    struct timespec time;
    return clock_gettime(id, &time) == 0 ? (double)time.tv_sec + (double)time.tv_nsec * 1e-9 : 0;
}

static size_t open_descriptors(void)
{
    size_t n = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        return 0;
    for (const struct dirent *entry; (entry = readdir(folder));)
        n += *entry->d_name != '.';
    closedir(folder);
    return n > 0 ? n - 1 : 0; /* without the folder's own descriptor */
}

/* Reads the fields after the program's name, which may contain any character: threads, start in ticks
 * after boot, bytes mapped, pages resident. */
static bool read_stat(long *threads, unsigned long long *start, unsigned long *bytes, long *pages)
{
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    if (!file)
        return false;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    const char *behind = strrchr(text, ')');
    return behind && sscanf(behind + 1,
                            " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s "
                            "%llu %lu %ld",
                            threads, start, bytes, pages) == 4;
}

void process_metrics(struct metrics *metrics)
{
    struct rlimit limit;
    long threads, pages;
    unsigned long long start;
    unsigned long bytes;
    metrics_counter(metrics, "process_cpu_seconds_total", seconds_of(CLOCK_PROCESS_CPUTIME_ID),
                    "Processor time that the process took.");
    metrics_gauge(metrics, "process_open_fds", (double)open_descriptors(), "Open descriptors.");
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        metrics_gauge(metrics, "process_max_fds", (double)limit.rlim_cur, "Descriptors at most.");
    if (!read_stat(&threads, &start, &bytes, &pages))
        return;
    metrics_gauge(metrics, "process_threads", (double)threads, "Threads.");
    metrics_gauge(metrics, "process_virtual_memory_bytes", (double)bytes, "Memory that is mapped.");
    metrics_gauge(metrics, "process_resident_memory_bytes", (double)pages * (double)sysconf(_SC_PAGESIZE),
                  "Memory that is in use.");
    metrics_gauge(metrics, "process_start_time_seconds",
                  seconds_of(CLOCK_REALTIME) - seconds_of(CLOCK_BOOTTIME) +
                      (double)start / (double)sysconf(_SC_CLK_TCK),
                  "When the process began, since 1970.");
}
