/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes of a platform: whether they run, and how they end.
 */
#include "config.h"

#include "command/platform_state.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What /proc/PID/stat says. False when there is no such process. */
static bool read_stat(pid_t pid, char *state, long *session, unsigned long long *start)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *stream = fopen(path, "re");
    if (!stream)
        return false;
    size_t length = fread(text, 1, sizeof text - 1, stream);
    fclose(stream);
    text[length] = 0;
    /* The name in parentheses may hold anything, so fields are counted from its end. */
    const char *fields = strrchr(text, ')');
    return fields &&
           sscanf(fields + 1,
                  " %c %*d %*d %ld %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", state,
                  session, start) == 3;
}

unsigned long long process_start_time(pid_t pid)
{
    char state;
    long session;
    unsigned long long start;
    return read_stat(pid, &state, &session, &start) && state != 'Z' && state != 'X' ? start : 0;
}

bool platform_record_runs(const struct platform_record *record)
{
    return record->pid > 1 && record->start && process_start_time(record->pid) == record->start;
}

static void sleep_ms(long ms)
{
    struct timespec time = {ms / 1000, (ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

static size_t count_running(const struct platform_record *records, size_t n)
{
    size_t running = 0;
    for (size_t i = 0; i < n; i++)
        running += platform_record_runs(&records[i]);
    return running;
}

static bool leads(const pid_t *leaders, size_t n, long session)
{
    for (size_t i = 0; i < n; i++)
        if (leaders[i] == session)
            return true;
    return false;
}

/* Workers of a server that had to be killed have nobody to end them. `leaders`: daemons that were surely
 * ours a moment ago, each the leader of its own session. */
static unsigned kill_sessions(const pid_t *leaders, size_t n)
{
    unsigned killed = 0;
    DIR *proc = n ? opendir("/proc") : NULL;
    struct dirent *entry;
    while (proc && (entry = readdir(proc))) {
        char state;
        long session;
        unsigned long long start;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 1 && read_stat(pid, &state, &session, &start) && state != 'Z' && leads(leaders, n, session))
            killed += kill(pid, SIGKILL) == 0;
    }
    if (proc)
        closedir(proc);
    return killed;
}

/* Those that this very command started; its other children are somebody else's, who waits for them. */
static void reap(const struct platform_record *records, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (records[i].pid > 1)
            waitpid(records[i].pid, NULL, WNOHANG);
}

static void wait_for_end(const struct platform_record *records, size_t n, int patience_ms)
{
    for (int waited = 0; waited < patience_ms && count_running(records, n); waited += 10) {
        sleep_ms(10);
        reap(records, n);
    }
}

/* Whoever is still in the control group was put there by us, whatever session it made for itself. */
static unsigned kill_group(const char *folder)
{
    char path[PATH_MAX];
    long pid;
    unsigned killed = 0;
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    FILE *stream = fopen(path, "re");
    while (stream && fscanf(stream, "%ld", &pid) == 1)
        killed += pid > 1 && kill((pid_t)pid, SIGKILL) == 0;
    if (stream)
        fclose(stream);
    return killed;
}

static unsigned remove_group(const char *folder)
{
    unsigned killed = kill_group(folder);
    for (int i = 0; i < 300 && rmdir(folder) != 0 && errno == EBUSY; i++)
        sleep_ms(10); /* the kernel is still taking its processes down */
    return killed;
}

unsigned platform_stop(const struct platform_state *state, const struct platform_record *records, size_t n,
                       int patience_ms)
{
    unsigned killed = 0;
    size_t n_leaders = 0;
    pid_t *leaders = calloc(n + 1, sizeof *leaders);
    for (size_t i = n; i-- > 0;) { /* servers before their agents, so that these see them leave */
        if (!platform_record_runs(&records[i]))
            continue;
        kill(records[i].pid, SIGTERM);
        if (leaders)
            leaders[n_leaders++] = records[i].pid;
    }
    wait_for_end(records, n, patience_ms);
    for (size_t i = 0; i < n; i++)
        if (platform_record_runs(&records[i]))
            killed += kill(records[i].pid, SIGKILL) == 0;
    wait_for_end(records, n, 5000);
    killed += leaders ? kill_sessions(leaders, n_leaders) : 0;
    free(leaders);
    reap(records, n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(records[i].kind, "cgroup") == 0)
            killed += remove_group(records[i].name);
    platform_record_clear(state);
    return killed;
}
