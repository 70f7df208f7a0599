/* SPDX-License-Identifier: Apache-2.0
 *
 * One processor for a benchmark, and somebody else who wants it too.
 */
#ifndef BENCH_COMPETITOR_H
#define BENCH_COMPETITOR_H

#include <sys/types.h>

/* This process, and those that it starts from now on, use the first of their processors only. */
void competitor_confine(void);

/* A process that wants all of a processor that this one may use, and is no child of it: no sensor takes it
 * for its own. Returns its pid; kill() it. It ends with the benchmark in any case. */
pid_t competitor_start(void);

#endif
