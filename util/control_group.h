/* SPDX-License-Identifier: Apache-2.0
 *
 * The limits of the control groups of this process (cgroups(7), versions 1 and 2). */
#ifndef UTIL_CONTROL_GROUP_H
#define UTIL_CONTROL_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The files to read; tests use their own. */
struct control_group_files {
    const char *groups; /* NULL: /proc/self/cgroup */
    const char *mounts; /* NULL: /proc/self/mounts */
    const char *root;   /* prefix of every mount point; NULL: none */
};

/* Calls visit() with the folder of the process's own group and of each above it, up to the root, wherever
 * `controller` ("cpu", "memory") is mounted. `files` NULL: those of the system. Unreadable files are
 * skipped. Any thread. */
void control_groups_visit(const struct control_group_files *files, const char *controller,
                          void (*visit)(const char *folder, bool version2, void *arg), void *arg);

/* Returns the least processor quota of the groups of this process, from its own up to the root (0.3: 30 %
 * of one processor). HUGE_VAL: there is no quota, or it cannot be read. Any thread; reads a few files. */
double control_groups_quota(const struct control_group_files *files);

/* Returns the least memory limit of these groups in bytes; UINT64_MAX: none has one. Any thread. */
uint64_t control_groups_memory(const struct control_group_files *files);
/* Like control_groups_memory(); also sets *id to a number that is the same in all processes of this
 * machine in the group with that limit (0: none has a limit). */
uint64_t control_groups_memory_of(const struct control_group_files *files, uint64_t *id);

/* A limit of processes and threads, and how many exist. */
struct control_group_tasks {
    uint64_t most, used; /* UINT64_MAX, 0: no group has a limit */
    char folder[256];    /* of the group, cut */
};

/* Finds the limit (pids.max) that leaves the least room. Any thread. */
void control_groups_tasks(const struct control_group_files *files, struct control_group_tasks *tasks);

/* Reads the first line of the file `name` in the folder, with its '\n' if it has one; false: there is
 * none. */
bool control_group_line(const char *folder, const char *name, char *line, size_t size);
/* Reads the whole number in the first line of that file; false: there is none. */
bool control_group_number(const char *folder, const char *name, uint64_t *number);

#endif
