/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures parallel implementations on the ranks of a server: each on all grids and block sizes that may
 * be the fastest, for growing sizes. The times correct the models of parallel routines
 * (core/forecast/parallel_experience.h); the pool of ranks saves them in the file that the server reads. */
#ifndef SED_CALIBRATE_RANKS_H
#define SED_CALIBRATE_RANKS_H

#include "sed/calibrate/calibrate.h"

struct calibrate_ranks_result {
    unsigned grids, calls; /* grids and block sizes measured now, and their calls */
    double error;          /* mean relative error of the last calls' forecasts */
};

/* Waits until the ranks are ready. ESP_SYSTEM, ESP_TIMEOUT: they could not be started. */
enum esp_status calibrate_ranks_await(struct workers *ranks, struct esp_error *error);

/* Measures the first parallel implementation of the problem that `calibration`, made of a pool of `ranks`
 * ranks, can call. `fixed`: the grid for all calls; rows 0, block 0: the fastest. Sizes are equal in all
 * dimensions, from calls of some milliseconds to options.longest_s, for at most options.budget_s. Known
 * grids are skipped, unless options.again. ESP_NOT_FOUND: the problem has no such implementation. Other
 * errors as for calibrate_problem(). */
enum esp_status calibrate_ranks(struct calibration *calibration, uint32_t ranks, struct process_grid fixed,
                                const struct problem *problem, struct calibrate_ranks_result *result,
                                struct esp_error *error);

#endif
