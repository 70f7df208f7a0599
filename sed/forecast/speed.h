/* SPDX-License-Identifier: Apache-2.0
 *
 * Forecasts without a cost model rest on the speed of one slot in flop/s, measured at the start and
 * while the server is idle (sed/server/server_measure.c), and what the latest calls of each problem took.
 *
 * The time of a problem is base_s + work / flops. Both numbers come from the latest calls alone, from the
 * first call on: the description's work may be far too small, far too large or missing. They are medians, so
 * that one call that met a storm of page faults moves nothing. The measured speed only decides what calls of
 * one size leave open, namely which part of the time grows with the work. A problem that was never called is
 * forecast by the measured speed, whatever other problems reached. So is a problem of which a single call
 * shorter than ESTIMATE_UNKNOWN_S is known: a worker's first call of a routine also loads the library.
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
#define SPEED_LEAST_FLOP   1e6   /* less work says more about overheads, too */
/* Calls that take more than so many times what the measured speed promises were declared with too little
 * work: their time is taken for one that does not grow with the work until calls of other sizes tell. */
#define SPEED_PLAUSIBLE 100
#define SPEED_MOST      CAP_PROBLEM_SPEEDS /* problems; the one that was called the longest ago makes room */

/* Calls of one problem. */
struct speed_calls {
    uint64_t digest;
    char implementation[PROBLEM_MAX_NAME + 1]; /* that they were of */
    struct speed_call {
        double work_flop, seconds;
    } observed[SPEED_OBSERVATIONS];
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
 * Returns whether forecasts of a problem that was called have changed, as speed_observe() does. */
bool speed_measured(struct speed *speed, double flops);

/* A call of the problem with that digest, by that implementation, took `seconds` inside the routine, with
 * that declared work (0: none). Returns whether the forecast of such a call has changed by more than 5 % and
 * 20 us, which agents should hear. A smaller change is not made. Without memory nothing is
 * learned. */
bool speed_observe(struct speed *speed, uint64_t digest, const char *implementation, double work_flop,
                   double seconds);

/* The latest timed call of the problem waited for that share of its time (0 to 1), whoever else wanted the
 * processor. Returns whether agents should hear: the share that forecasts use has moved. */
bool speed_waits(struct speed *speed, uint64_t digest, double share);

/* The latest calls, as lines that a text may have among others, and back: one problem each, by its digest,
 * with the implementation and WORK:SECONDS of each call, the oldest first. Returns whether the line was one,
 * and of a problem of which nothing is known yet; what is nonsense in it is left out. */
void speed_write(const struct speed *speed, FILE *file);
bool speed_take(struct speed *speed, const char *line);

/* A loop of multiplications and additions, run for about `seconds`: what it reaches in a second of processor
 * time, a lower bound for servers that have no
 * problem to measure with. Blocks; before serving. */
double speed_of_plain_loop(double seconds);

#endif
