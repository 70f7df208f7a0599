/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/pool/strays.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENVIRONMENT_MOST 1048576 /* most bytes of one that are read */
#define ROUNDS           20      /* most searches: processes may be forking */

/* Whether the value of one of these zero-terminated entries is the folder or a path below it. */
static bool names(const char *entries, size_t size, const char *folder)
{
    const size_t length = strlen(folder);
    for (const char *entry = entries, *end = entries + size; entry < end;
         entry += strnlen(entry, (size_t)(end - entry)) + 1) {
        const char *value = memchr(entry, '=', (size_t)(end - entry));
        if (value && (size_t)(end - ++value) > length && memcmp(value, folder, length) == 0 &&
            (value[length] == '\0' || value[length] == '/'))
            return true;
    }
    return false;
}

/* Returns its bytes; 0: it cannot be read, or is another user's. */
static size_t read_environment(const char *pid, char *to)
{
    char path[64];
    struct stat is;
    size_t size = 0;
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && fstat(file, &is) == 0 && is.st_uid == geteuid())
        for (ssize_t n; size < ENVIRONMENT_MOST && (n = read(file, to + size, ENVIRONMENT_MOST - size)) > 0;)
            size += (size_t)n;
    if (file >= 0)
        close(file);
    return size;
}

/* Opens a pidfd before checking, so that the checked process is killed, even if its number is reused
 * meanwhile. */
static bool kill_if_named(const char *pid, const char *folder, char *room)
{
    const int process = pidfd_open((pid_t)strtol(pid, NULL, 10), 0);
    if (process < 0)
        return false;
    const size_t size = read_environment(pid, room);
    const bool killed =
        size > 0 && names(room, size, folder) && pidfd_send_signal(process, SIGKILL, NULL, 0) == 0;
    close(process);
    return killed;
}

static unsigned look(const char *folder, char *room)
{
    unsigned n = 0;
    const long self = (long)getpid();
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    while (processes && (entry = readdir(processes)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && strtol(entry->d_name, NULL, 10) != self)
            n += kill_if_named(entry->d_name, folder, room);
    if (processes)
        closedir(processes);
    return n;
}

unsigned strays_kill(const char *folder)
{
    char *room = malloc(ENVIRONMENT_MOST + 1);
    unsigned all = 0, n = 1;
    for (int round = 0; room && n > 0 && round < ROUNDS; round++) {
        if (round > 0)
            usleep(1000); /* dying processes must not count twice */
        all += n = look(folder, room);
    }
    free(room);
    return all;
}
