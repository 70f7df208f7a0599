/* SPDX-License-Identifier: Apache-2.0
 *
 * The fastest process grid and block size, without weighing all of them where there are many: thousands of
 * grids have at most some hundreds of ranks, and each takes microseconds to forecast.
 *
 * Pure computation; any thread.
 */
#ifndef CORE_GRID_SEARCH_H
#define CORE_GRID_SEARCH_H

#include "core/forecast/parallel_model.h"

/* Up to so many ranks all grids are weighed with all blocks. */
#define GRID_SEARCH_ALL 16

struct grid_weighed {
    struct parallel_grid grid;
    int64_t block;
    double seconds;
};

/* When a call on that grid is through; INFINITY: it is of no use, which is cheap to find out. */
typedef double grid_weigh(void *arg, struct parallel_grid grid, int64_t block);

/* Grids of at most `ranks` ranks that were weighed, the fastest first (of equally fast ones that with fewer
 * ranks); those of no use are left out. Beyond GRID_SEARCH_ALL ranks these are: grids whose rows and columns
 * are powers of 2 and those that leave few ranks idle, with a block size or two; what lies around the best
 * few of them; the other block sizes of the best few; and what lies around the best few of all. (On models of
 * up to 600 ranks the first one has been within 5 % of the best of all, mostly within 1 %.) *found is the
 * caller's (free). ESP_INVALID: no rank, more than BLOCK_CYCLIC_MOST_RANKS, or no block size; ESP_NO_MEMORY.
 */
enum esp_status grid_search(int64_t ranks, const int64_t *blocks, size_t n_blocks, grid_weigh *weigh,
                            void *arg, struct grid_weighed **found, size_t *n, struct esp_error *error);

#endif
