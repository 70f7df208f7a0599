/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of espalier-crd: runs a program instead of a routine. The worker is its only parent: every
 * process that the program leaves behind becomes a child of the worker (it is a subreaper) and is killed. */
#ifndef SED_CRD_COMMAND_H
#define SED_CRD_COMMAND_H

#include "sed/crd/crd.h"

#include <sys/resource.h>

struct command_context {
    struct ring *ring;
    struct areas *areas; /* mapped */
    int folder, socket;
};

/* Runs the command of the job in the ring and fills the answer. */
void command_run(const struct command_context *context);

/* ---- crd_command.c ---- */

#define COMMAND_SAID 2047 /* bytes of the end of standard error */

struct command_process {
    char *const *words; /* the argument vector */
    const char *program;
    int input;            /* standard input; -1: none */
    int captured;         /* file that receives standard output; -1: it is passed on as it comes */
    uint64_t most;        /* most bytes in `captured` */
    char *said;           /* COMMAND_SAID + 1 bytes */
    bool flooded;         /* it wrote more, and was killed because of that */
    unsigned left_behind; /* processes that still existed when it ended; all killed */
    int status;           /* as from waitpid() */
    int64_t clock_ns;     /* from its start to its end */
    struct rusage usage;  /* of the process, and of children that it has waited for */
};

#endif
