/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the fastest process grid and block size without evaluating all of them: some hundreds of ranks
 * have thousands of grids, and each forecast takes microseconds.
 *
 * Pure computation; any thread. */
#ifndef CORE_GRID_SEARCH_H
#define CORE_GRID_SEARCH_H

#include "core/forecast/parallel_model.h"

/* Up to this many ranks, all grids are evaluated with all block sizes. */
#define GRID_SEARCH_ALL 16

struct grid_weighed {
    struct parallel_grid grid;
    int64_t block;
    double seconds;
};

/* Returns the time of a call on that grid; INFINITY: the grid is not usable, which is cheap to find out. */
typedef double grid_weigh(void *arg, struct parallel_grid grid, int64_t block);

/* Evaluates grids of at most `ranks` ranks and returns them, the fastest first (of equally fast ones, that
 * with fewer ranks), without unusable ones. Above GRID_SEARCH_ALL ranks it evaluates: grids whose rows and
 * columns are powers of 2 and those that leave few ranks idle, with one or two block sizes; neighbours of
 * the best few; the other block sizes for the best few; and neighbours of the best few of all. The first
 * result is within 5 % of the optimum, mostly within 1 %, on models of up to 600 ranks. The caller frees
 * *found. ESP_INVALID: no rank, more than BLOCK_CYCLIC_MOST_RANKS, or no block size; ESP_NO_MEMORY. */
enum esp_status grid_search(int64_t ranks, const int64_t *blocks, size_t n_blocks, grid_weigh *weigh,
                            void *arg, struct grid_weighed **found, size_t *n, struct esp_error *error);

#endif
