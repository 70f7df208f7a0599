/* SPDX-License-Identifier: Apache-2.0
 *
 * The limits of this process: resource limits, control groups, the set of processors. */
#ifndef UTIL_PROCESS_LIMITS_H
#define UTIL_PROCESS_LIMITS_H

#include "util/control_group.h"

#define PROCESS_LIMITS_TEXT 320

/* UINT64_MAX: no limit. */
struct process_limits {
    uint64_t descriptors;     /* "ulimit -n" */
    uint64_t user_processes;  /* "ulimit -u": processes and threads of this user; not for a privileged user */
    uint64_t group_processes; /* pids.max */
    uint64_t file_bytes;      /* "ulimit -f" */
    uint64_t memory_bytes;    /* of control groups */
    double quota;             /* processors; HUGE_VAL: no quota */
    uint32_t processors;      /* that this thread may run on: affinity and cpuset */
    uint32_t machine_processors;
};

/* Reads all limits; an unreadable one counts as none. `files` NULL: those of the system. Any thread. */
void process_limits_read(const struct control_group_files *files, struct process_limits *limits);

/* Writes one line: "descriptors 65536; processes and threads 100 (pids.max); ...". */
void process_limits_text(const struct process_limits *limits, char *text, size_t size);

/* Returns how many computations can have a whole processor each: the processors of this process, limited
 * by the quota; at least 1. */
uint32_t process_limits_processors(const struct process_limits *limits);

/* Explains why a process or a thread could not be created (EAGAIN): names the limit that is reached, with
 * its number. Any thread. */
void process_limits_blame(const struct control_group_files *files, char *text, size_t size);

/* Why a process or a thread could not be made, by its error number: the limit that is reached, or the error's
 * text. Any thread. */
void process_limits_why(int number, char *text, size_t size);

#endif
