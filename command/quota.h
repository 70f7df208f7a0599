/* SPDX-License-Identifier: Apache-2.0
 *
 * Making a server really slower: a CPU quota of the kernel where that is permitted, else processes that
 * compete with it for one processor.
 */
#ifndef COMMAND_QUOTA_H
#define COMMAND_QUOTA_H

#include "util/error.h"
#include <limits.h>
#include <sys/types.h>

enum quota_means {
    QUOTA_NONE,
    QUOTA_CGROUP, /* cpu.max (version 2) or cpu.cfs_quota_us (version 1) */
    QUOTA_LOAD    /* pinned to one processor together with busy processes */
};

struct quota {
    enum quota_means means;
    char group[256]; /* folder of the control group */
    int processor;   /* QUOTA_LOAD */
    unsigned loads;  /* QUOTA_LOAD: busy processes */
};

/* Finds the means for `cpus` processors (0.3: 30 % of one) and makes the control group. `name` is unique on
 * this machine. Never fails: the load needs no permission. */
void quota_prepare(const char *name, double cpus, struct quota *quota);

/* In the child, before it executes the program: enters the group, or moves to the processor.
 * False with errno when that fails. Calls only what may be called after fork(). */
int quota_enter(const struct quota *quota);

/* Starts one busy process that competes with `victim` and ends when it does. Returns its pid, -1 with errno.
 */
pid_t quota_start_load(const struct quota *quota, pid_t victim);

/* "at most 30 % of a processor (control group)". Returns `text`. */
const char *quota_text(const struct quota *quota, double cpus, char *text, size_t size);

#endif
