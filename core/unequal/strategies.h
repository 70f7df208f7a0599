/* SPDX-License-Identifier: Apache-2.0
 *
 * Strategies for a dense factorisation on processors of different speed, simulated on its task graph, after
 * "A Proposal for a Heterogeneous Cluster ScaLAPACK" (Boudet, Rastello, Robert), section 4 (figures 10 to
 * 12).
 *
 * The matrix is square, in column blocks. Level k has one factor task F(k) and the update tasks U(k, j),
 * j > k. F(k) is broadcast to all updates of its level. A message delays its receiver and occupies no
 * processor. Each owner of block k + 1 updates and factors it before its other updates of level k
 * (look-ahead), except in the heuristic by levels and in the master-slave strategies, which go level by
 * level.
 *
 * Pure computation; any thread.
 */
#ifndef CORE_UNEQUAL_STRATEGIES_H
#define CORE_UNEQUAL_STRATEGIES_H

#include "core/unequal/allocation.h"

#define STRATEGIES_MOST_BLOCKS 2048

enum strategy {
    STRATEGY_CYCLIC,
    STRATEGY_STATIC,           /* section 2.2 */
    STRATEGY_OPTIMISED,        /* section 4.4: the fastest processor factors */
    STRATEGY_SEMI_STATIC,      /* section 4.5: phases, between which remaining blocks are dealt anew */
    STRATEGY_LEVELS,           /* section 4.3: heuristic of Maheswaran and Siegel */
    STRATEGY_MASTER_CENTRAL,   /* section 4.2: the master, who is the fastest, has all blocks */
    STRATEGY_MASTER_DECENTRAL, /* section 4.2: a block belongs to the last processor that updated it */
    STRATEGIES
};
extern const char *const strategy_names[STRATEGIES]; /* "cyclic", "static", "optimised", ... */

enum strategies_factorisation { FACTORISE_LU, FACTORISE_QR };

struct strategies_question {
    enum strategies_factorisation factorisation;
    const double *cycle_times; /* seconds of a floating-point operation, of each processor */
    uint32_t processors;
    uint32_t blocks, width;      /* the order of the matrix is blocks * width */
    double latency_s, element_s; /* of a message */
    const double *later;         /* cycle times from change_s on; NULL: they do not change */
    double change_s;
    uint32_t phase; /* STRATEGY_SEMI_STATIC: levels of a phase; 0: 1/32 of all */
};

struct strategies_result {
    double makespan_s;
    double summed_s; /* the paper's figure: of each processor its tasks and its messages, the largest sum */
    uint64_t moves;  /* of column blocks between processors, without the broadcasts of pivot blocks */
};

/* Runs one strategy. task_owners, unless NULL, has blocks * blocks elements: element k * blocks + j becomes
 * the processor of F(k) (j = k) or U(k, j) (j > k); elements with j < k are not written. ESP_INVALID: cycle
 * times that are not positive, sizes out of range, no such strategy. ESP_NO_MEMORY. */
enum esp_status strategies_simulate(const struct strategies_question *question, enum strategy strategy,
                                    struct strategies_result *result, uint32_t *task_owners,
                                    struct esp_error *error);

#endif
