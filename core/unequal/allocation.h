/* SPDX-License-Identifier: Apache-2.0
 *
 * Static allocation of equal chunks of work to processors of different speed, after "A Proposal for a
 * Heterogeneous Cluster ScaLAPACK" (Boudet, Rastello, Robert), sections 2.1, 2.2 and 4.4.
 *
 * A cycle time is the time that a processor takes for one chunk, in any unit. Cycle times are positive and
 * finite; functions below do not check this, allocation_check() does. Pure computation; any thread.
 */
#ifndef CORE_UNEQUAL_ALLOCATION_H
#define CORE_UNEQUAL_ALLOCATION_H

#include "util/error.h"

#include <stdint.h>

#define ALLOCATION_MOST_PROCESSORS 4096

/* ESP_INVALID unless there are 1 to ALLOCATION_MOST_PROCESSORS processors and each cycle time is positive and
 * finite; the text names the processor. */
enum esp_status allocation_check(const double *cycle_times, uint32_t processors, struct esp_error *error);

/* Algorithm 2.1: how many of `chunks` independent chunks each processor gets. shares[] has one element a
 * processor. No other allocation has a smaller max(shares[i] * cycle_times[i]) (proposition 1). */
void allocation_shares(const double *cycle_times, uint32_t processors, int64_t chunks, int64_t *shares);

/* Cost of an allocation: max(shares[i] * cycle_times[i]) / sum(shares), the mean time of a chunk. 0 without
 * chunks. */
double allocation_cost(const double *cycle_times, uint32_t processors, const int64_t *shares);
/* Cost of the best allocation of infinitely many chunks: 1 / sum(1 / cycle_times[i]). */
double allocation_limit(const double *cycle_times, uint32_t processors);

/* The dynamic programming algorithm of section 2.2: owners[i] is the processor of chunk i. The first k chunks
 * are an optimal allocation of k chunks, for each k (proposition 2). Of equally good processors the one with
 * the lowest number is taken, as in table 2. costs[i], unless costs is NULL, is the cost of the first i + 1
 * chunks. start[], unless NULL, are chunks that processors have before: section 4.4 starts with (2, 0, ...)
 * where processor 0 is the fastest. */
void allocation_deal(const double *cycle_times, uint32_t processors, const int64_t *start, uint32_t chunks,
                     uint32_t *owners, double *costs);

/* Owners of the `blocks` column blocks of a matrix whose factorisation goes from left to right: slices of
 * `slice` blocks, each dealt in reverse order (figures 3 and 4). The last slice may be shorter. slice >= 1.
 */
void allocation_columns(const double *cycle_times, uint32_t processors, uint32_t blocks, uint32_t slice,
                        uint32_t *owners);

/* Time of the updates that are left of a factorisation whose next pivot block is `first`: for each level the
 * longest of all processors. Heights shrink by one block a level, so a chunk of the level with k blocks below
 * its pivot counts k. In units of one block times a cycle time. */
double allocation_remaining(const double *cycle_times, uint32_t processors, const uint32_t *owners,
                            uint32_t first, uint32_t blocks);

/* How long a factorisation on all processors takes with equal shares, over what it takes with shares
 * proportional to speed: max(cycle_times) / (processors * allocation_limit()). 1: all are equally fast. */
double allocation_gain(const double *cycle_times, uint32_t processors);

#endif
