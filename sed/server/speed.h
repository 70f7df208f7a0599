/* SPDX-License-Identifier: Apache-2.0
 *
 * The speed of one slot, in flop/s, as forecasts without a cost model use it: measured at the start and while
 * idle (sed/server/server_measure.c), and, of each problem that was called, what its calls really reach.
 *
 * The speed of a problem is the median of its latest calls and of the measurement, which has some votes: a
 * single call that met a storm of page faults or a neighbour's burst does not move it. What was never called
 * keeps the measured speed, whatever else is called.
 *
 * One thread at a time.
 */
#ifndef SED_SPEED_H
#define SED_SPEED_H

#include "core/forecast/problem_speeds.h"
#include "core/problem/problem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SPEED_OBSERVATIONS 15
#define SPEED_LEAST_S      0.010 /* calls shorter than this say more about overheads than about speed */
#define SPEED_LEAST_FLOP   1e6
#define SPEED_MOST         CAP_PROBLEM_SPEEDS /* problems; the one that was called the longest ago makes room */

/* Calls of one problem. */
struct speed_calls {
    uint64_t digest;
    char implementation[PROBLEM_MAX_NAME + 1]; /* that they were of */
    double observed[SPEED_OBSERVATIONS];
    uint32_t n, next;
    uint64_t turn; /* of the latest one, among all calls */
};

/* All-zero is ready. */
struct speed {
    double measured;              /* the latest measurement; 0: not known yet */
    struct problem_speeds called; /* what forecasts use for problems that were called */
    struct speed_calls *calls;    /* of those, in the same order */
    uint64_t turns;
};

void speed_release(struct speed *speed);

/* The result of a measurement, which replaces the one before it (or from the configuration of a test).
 * Returns whether it changed the speed of a problem that was called, as speed_observe() does. */
bool speed_measured(struct speed *speed, double flops);

/* A call of the problem with that digest, by that implementation, took so long for so many operations inside
 * the routine. Returns whether its speed changed by more than 5 % of what it was, so that agents should hear
 * of it; by less it is not changed. Without memory nothing is learned. */
bool speed_observe(struct speed *speed, uint64_t digest, const char *implementation, double work_flop,
                   double seconds);

/* What calls reached, as lines that a text may have among others, and back: one problem each, by its digest,
 * with the implementation and the speeds, the oldest first. Returns whether the line was one, and of a
 * problem of which nothing is known yet; what is nonsense in it is left out. */
void speed_write(const struct speed *speed, FILE *file);
bool speed_take(struct speed *speed, const char *line);

/* A loop of multiplications and additions, run for about `seconds`: what it reaches in a second of processor
 * time, a lower bound for servers that have no
 * problem to measure with. Blocks; before serving. */
double speed_of_plain_loop(double seconds);

#endif
