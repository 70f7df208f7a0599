/* SPDX-License-Identifier: Apache-2.0
 *
 * The control groups that this process is in (cgroups(7), versions 1 and 2): each of them may have limits.
 */
#ifndef SERVICES_NWS_CONTROL_GROUP_H
#define SERVICES_NWS_CONTROL_GROUP_H

#include <stdbool.h>
#include <stddef.h>

/* Where to look; a test has files of its own. */
struct control_group_files {
    const char *groups; /* NULL: /proc/self/cgroup */
    const char *mounts; /* NULL: /proc/self/mounts */
    const char *root;   /* put before every mount point; NULL: nothing */
};

/* Calls visit() with the folder of the process's own group and of each above it, up to the root, wherever
 * `controller` ("cpu", "memory") is mounted. `files` NULL: those of the system. What cannot be read is passed
 * over. Any thread. */
void control_groups_visit(const struct control_group_files *files, const char *controller,
                          void (*visit)(const char *folder, bool version2, void *arg), void *arg);

/* The first line of the file `name` there, with its '\n' if it has one; false: there is none. */
bool control_group_line(const char *folder, const char *name, char *line, size_t size);

#endif
