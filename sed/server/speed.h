/* SPDX-License-Identifier: Apache-2.0
 *
 * The measured speed of one slot, in flop/s, as forecasts use it: measured at the start and while idle
 * (sed/server/server_measure.c), then refined by what calls really take.
 *
 * While running, the speed is the median of the latest calls that really computed: a single one
 * that met a storm of page faults or a neighbour's burst does not move it.
 *
 * One thread at a time.
 */
#ifndef SED_SPEED_H
#define SED_SPEED_H

#include <stdbool.h>
#include <stdint.h>

#define SPEED_OBSERVATIONS 15
#define SPEED_LEAST_S      0.010 /* calls shorter than this say more about overheads than about speed */
#define SPEED_LEAST_FLOP   1e6
/* Floating point operations per byte of arguments: routines below it (vectors, matrix times vector) are as
 * fast as the memory is, and say nothing about those that compute. */
#define SPEED_LEAST_INTENSITY 8

struct speed {
    double flops;    /* what forecasts use; 0: not known yet */
    double measured; /* the latest measurement */
    double observed[SPEED_OBSERVATIONS];
    uint32_t n, next;
};

/* The result of a measurement, which replaces the one before it (or from the configuration of a test). */
void speed_measured(struct speed *speed, double flops);

/* A call of so many operations on so many bytes took that long inside the routine. Returns whether the speed
 * changed by more than 10 % of what it was (worth telling the agents at once). */
bool speed_observe(struct speed *speed, double work_flop, uint64_t bytes, double seconds);

/* A loop of multiplications and additions, run for about `seconds`: what it reaches in a second of processor
 * time, a lower bound for servers that have no
 * problem to measure with. Blocks; before serving. */
double speed_of_plain_loop(double seconds);

#endif
