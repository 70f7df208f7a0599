/* SPDX-License-Identifier: Apache-2.0
 *
 * State of a simulated factorisation: who has which column block, and until when each processor is busy.
 */
#ifndef CORE_UNEQUAL_STRATEGIES_INTERNAL_H
#define CORE_UNEQUAL_STRATEGIES_INTERNAL_H

#include "core/unequal/strategies.h"

#include <stdbool.h>

struct simulation {
    const struct strategies_question *question;
    struct strategies_result *result;
    uint32_t *task_owners;        /* may be NULL */
    double *available;            /* of each processor: when it ends its last task */
    double *sums;                 /* of each processor: its tasks and its messages */
    double *panel_at[2];          /* of each processor: when it has the pivot block of an even, odd level */
    double *phase_s, *phase_flop; /* of each processor: tasks of this phase */
    double *cycle_times;          /* of each processor: as measured in the last phase */
    uint32_t *owners;             /* of each block: who updates it */
    uint32_t *places;             /* of each block: who has it */
    double *ready;                /* of each block: when its place has its newest version */
    double *critical;             /* blocks * blocks, STRATEGY_LEVELS only: critical path of each task */
    uint32_t fastest;
};

/* Operations of F(k) (j = k) or U(k, j). */
double strategy_flop(const struct strategies_question *question, uint32_t k, uint32_t j);
/* Seconds of a message with a column block whose first row is row block k. */
double strategy_message_s(const struct strategies_question *question, uint32_t k);
/* When a processor that begins at `start` has done so many operations. */
double strategy_end(const struct strategies_question *question, uint32_t processor, double start,
                    double flop);
/* When the processor could begin that task: it is free, and has the block and the pivot block. */
double strategy_start(const struct simulation *simulation, uint32_t k, uint32_t j, uint32_t processor);
/* Runs the task on that processor, and sends a factored block to all others. */
void strategy_run(struct simulation *simulation, uint32_t k, uint32_t j, uint32_t processor);

/* strategies_dynamic.c: whole factorisations. */
void strategy_levels(struct simulation *simulation);
void strategy_master(struct simulation *simulation, bool central);

#endif
