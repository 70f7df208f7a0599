/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's out-of-memory killer. Computing processes make themselves its first choice, so that it
 * spares the daemon, and the daemon finds out whether the killer was active when one of them was killed by
 * SIGKILL. */
#ifndef SED_OOM_H
#define SED_OOM_H

#include "util/control_group.h"

#include <stdbool.h>
#include <stdint.h>

#define OOM_TEXT                                                                                             \
    "was killed by the kernel, which was out of memory (of this machine or of the server's control group)"

/* Makes the calling process, and every process that it starts, the killer's first choice. The memory of
 * arguments also counts as the daemon's, so the daemon would often be the largest process. If the kernel
 * refuses, nothing changes. */
void oom_offer_self(void);

/* How many processes of the server's control group the killer has ended, now and at earlier readings. If
 * the kernel does not count by groups: of the whole machine. All members are zero at first, except those
 * for tests. */
struct oom_watch {
    const char *file;                         /* with the number; NULL: the group's */
    const struct control_group_files *groups; /* NULL: those of the system */
    bool looked_for_group;
    char of_group[320]; /* the file of the group; "": there is none */
    uint64_t before, last;
    int64_t looked_ns; /* 0: never */
};

/* Reads the number, at most once a second. Call it when a process begins to compute, and often while it
 * does. After some seconds without a reading, all earlier kills count as long ago. */
void oom_look(struct oom_watch *watch, int64_t now_ns);
/* Whether the killer has ended a process since the reading before the last one, which is one to two
 * seconds old if oom_look() is called often. False if the kernel does not say. */
bool oom_is_recent(const struct oom_watch *watch);

#endif
