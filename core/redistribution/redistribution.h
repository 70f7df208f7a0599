/* SPDX-License-Identifier: Apache-2.0
 *
 * Redistribution: moves a matrix (or vector) that is block-cyclic over one grid of ranks to another
 * layout, from CYCLIC(r) over P to CYCLIC(s) over Q in each dimension, in steps in which every rank sends
 * at most one message and receives at most one.
 *
 * Source: "Scheduling Block-Cyclic Array Redistribution" (definitions, lemmas and theorems below refer to
 * it). doc/redistribution.md has the mathematics of our part, and figures.
 *
 * Pure computation: every rank that is given the same layouts makes the same plan. Any thread. */
#ifndef CORE_REDISTRIBUTION_H
#define CORE_REDISTRIBUTION_H

#include "core/redistribution/block_cyclic.h"
#include <stddef.h>

/* Most rows, and most columns. */
#define REDISTRIBUTION_MOST_SIZE ((int64_t)1 << 40)
/* Most messages of one plan. */
#define REDISTRIBUTION_MOST_MESSAGES (1 << 22)

/* How steps are made. */
enum redistribution_schedule {
    REDISTRIBUTION_BEST,     /* the fastest of CLASSES, STEPWISE and GREEDY by the model */
    REDISTRIBUTION_CLASSES,  /* class by class: optimal in steps and cost when applicable (proposition 7) */
    REDISTRIBUTION_STEPWISE, /* as few steps as the busiest rank has messages (theorem 1), then least cost */
    REDISTRIBUTION_GREEDY,   /* least total cost found, with more steps if that helps */
    REDISTRIBUTION_CATERPILLAR /* ScaLAPACK's: in step t rank p sends to rank p - t, modulo the larger grid */
};
/* Returns a name like "classes"; never NULL. */
const char *redistribution_schedule_name(enum redistribution_schedule schedule);

/* The task: `from` and `to` have the same numbers of rows and columns. Ranks of both grids with the same
 * id are the same process: elements that stay there are copied and need no step. Without ids (both NULL)
 * no process is in both. */
struct redistribution {
    struct block_cyclic_matrix from, to;
    const int64_t *from_ids; /* of each rank of from's grid */
    const int64_t *to_ids;
};

/* A step takes `step` seconds and `element` seconds for each element of its longest message (section
 * E.4.3.1: alpha and tau; an element's bytes times the time of one byte). */
struct redistribution_costs {
    double step_s, element_s;
};

struct redistribution_message {
    int32_t source, target; /* ranks of from's grid and of to's */
    int32_t step;           /* -1: source and target are one process */
    int64_t elements;       /* >= 1 */
};

struct redistribution_summary {
    enum redistribution_schedule schedule; /* the schedule used; never BEST */
    int32_t steps;                         /* an empty step of the caterpillar counts too */
    int64_t cost;                          /* sum over the steps of their longest message, elements */
    int32_t least_steps;                   /* lower bound for any schedule: the most messages of a rank */
    int64_t least_cost;   /* lower bound for any schedule (core/redistribution/edge_colouring.h) */
    int64_t sent, kept;   /* elements */
    size_t messages;      /* sent ones */
    double seconds;       /* step_s * steps + element_s * cost */
    double least_seconds; /* the same for the two bounds */
};

struct redistribution_plan;

/* Computes a plan. ESP_INVALID: layouts that are invalid or of different sizes, or CLASSES where it does
 * not apply; ESP_LIMIT: too large, or too many messages; ESP_NO_MEMORY. The caller frees the plan. */
enum esp_status redistribution_plan_create(const struct redistribution *what,
                                           enum redistribution_schedule schedule,
                                           const struct redistribution_costs *costs,
                                           struct redistribution_plan **plan, struct esp_error *error);
void redistribution_plan_destroy(struct redistribution_plan *plan);

const struct redistribution_summary *redistribution_plan_summary(const struct redistribution_plan *plan);
/* Returns the messages of step 0 <= step < steps, most costly step first, or those within a process (step
 * -1). They belong to the plan. */
const struct redistribution_message *redistribution_plan_step(const struct redistribution_plan *plan,
                                                              int32_t step, size_t *n);
/* Returns the longest message of a step, elements. */
int64_t redistribution_plan_step_cost(const struct redistribution_plan *plan, int32_t step);

/* Adjacent elements that move from one rank to another in one dimension. */
struct redistribution_run {
    int64_t first;    /* their first index in the whole */
    int64_t from, to; /* their local indexes on the sender and on the receiver */
    int64_t length;
};

/* Computes the runs that move from one rank to another in one dimension, in the order of the indices: a
 * message holds, for each run of columns and each run of rows, those columns of these rows. `from` and
 * `to` are valid layouts of the same n. The caller frees *runs; NULL when there are none. The time depends
 * on the number of runs, not on n. ESP_NO_MEMORY. */
enum esp_status redistribution_runs(const struct block_cyclic *from, const struct block_cyclic *to,
                                    int64_t source, int64_t target, struct redistribution_run **runs,
                                    size_t *n, struct esp_error *error);

#endif
