/* SPDX-License-Identifier: Apache-2.0
 *
 * Daemons in network namespaces joined by emulated links (tests/e2e/slow_link.c), for benchmarks as root: a
 * folder for their files, and their processes, which end with the benchmark. Functions that fail end it.
 */
#ifndef BENCH_SITE_H
#define BENCH_SITE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* The folder, and that of the build. */
extern char site_folder[64], site_build[4096];

/* Whether namespaces and links can be made here; false: it has been said on standard error, with the
 * benchmark's name, that nothing is measured. */
bool site_is_possible(const char *benchmark);

/* Makes the folder, which is removed at the end (unless $BENCH_KEEP is set); what is handed to atexit() after
 * this is done before. */
void site_begin(void);

/* A command for the shell, which has to succeed. */
void site_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Starts a command in the folder, with its output in NAME.out. */
pid_t site_start(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends it, if it was started: *pid is 0 then. */
void site_stop(pid_t *pid);

/* A file in the folder, to be written. */
FILE *site_create(const char *name);
/* Waits until there is such a file in the folder. */
void site_await(const char *name);
/* Waits for the address file, and returns what is in it. */
const char *site_address(const char *name);
void site_rest_ms(long ms);
#define SITE_PATIENCE_S 120.0

/* This process goes into the network namespace of that name; threads that it starts from now on are there. */
void site_enter(const char *space);

#endif
