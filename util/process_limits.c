/* SPDX-License-Identifier: Apache-2.0 */
#include "util/bytes.h"
#include "util/process_limits.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Bytes for the text of a number. */
#define NUMBER_TEXT 64

static uint64_t resource_limit(__rlimit_resource_t resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
}

/* Counts the user's processes; the kernel does not count those of root. */
static uint64_t user_processes(void)
{
    return getuid() == 0 ? UINT64_MAX : resource_limit(RLIMIT_NPROC);
}

void process_limits_read(const struct control_group_files *files, struct process_limits *limits)
{
    struct control_group_tasks tasks;
    cpu_set_t set;
    const long all = sysconf(_SC_NPROCESSORS_ONLN);
    control_groups_tasks(files, &tasks);
    *limits = (struct process_limits){.descriptors = resource_limit(RLIMIT_NOFILE),
                                      .user_processes = user_processes(),
                                      .group_processes = tasks.most,
                                      .file_bytes = resource_limit(RLIMIT_FSIZE),
                                      .memory_bytes = control_groups_memory(files),
                                      .quota = control_groups_quota(files),
                                      .machine_processors = all > 0 ? (uint32_t)all : 1};
    limits->processors = limits->machine_processors;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        limits->processors = (uint32_t)CPU_COUNT(&set);
}

static const char *number(uint64_t value, char *text)
{
    if (value == UINT64_MAX)
        return "unlimited";
    snprintf(text, NUMBER_TEXT, "%" PRIu64, value);
    return text;
}

static const char *bytes(uint64_t value, const char *behind, char *text)
{
    if (value == UINT64_MAX)
        return "unlimited";
    char amount[BYTES_TEXT];
    snprintf(text, NUMBER_TEXT, "%s%s", bytes_text(value, amount), behind);
    return text;
}

void process_limits_text(const struct process_limits *limits, char *text, size_t size)
{
    char descriptors[NUMBER_TEXT], processes[NUMBER_TEXT], file[NUMBER_TEXT], memory[NUMBER_TEXT],
        quota[NUMBER_TEXT] = "";
    const bool of_group = limits->group_processes < limits->user_processes;
    const uint64_t most = of_group ? limits->group_processes : limits->user_processes;
    if (limits->quota < HUGE_VAL)
        snprintf(quota, sizeof quota, ", quota %.3g", limits->quota);
    snprintf(text, size,
             "descriptors %s; processes and threads %s%s; file size %s; memory %s; processors %" PRIu32
             " of %" PRIu32 "%s",
             number(limits->descriptors, descriptors), number(most, processes),
             of_group             ? " (pids.max)"
             : most == UINT64_MAX ? ""
                                  : " (ulimit -u)",
             bytes(limits->file_bytes, "", file), bytes(limits->memory_bytes, " (control group)", memory),
             limits->processors, limits->machine_processors, quota);
}

uint32_t process_limits_processors(const struct process_limits *limits)
{
    if (limits->quota >= limits->processors)
        return limits->processors;
    return limits->quota >= 1 ? (uint32_t)limits->quota : 1;
}

void process_limits_blame(const struct control_group_files *files, char *text, size_t size)
{
    struct control_group_tasks tasks;
    const uint64_t of_user = user_processes();
    control_groups_tasks(files, &tasks);
    if (tasks.most != UINT64_MAX && tasks.used >= tasks.most)
        snprintf(text, size,
                 "too many processes and threads: %" PRIu64 " of %" PRIu64
                 " (pids.max of the control group %s)",
                 tasks.used, tasks.most, tasks.folder);
    else if (of_user != UINT64_MAX)
        snprintf(text, size,
                 "too many processes and threads of this user: expected at most %" PRIu64
                 " (\"ulimit -u\"; in a unit of systemd LimitNPROC)",
                 of_user);
    else
        snprintf(text, size,
                 "too many processes and threads on this machine (kernel.threads-max, "
                 "kernel.pid_max, or pids.max of a control group)");
}

void process_limits_why(int number, char *text, size_t size)
{
    if (number == EAGAIN)
        process_limits_blame(NULL, text, size);
    else
        snprintf(text, size, "%s", strerror(number));
}
