/* SPDX-License-Identifier: Apache-2.0
 *
 * Measuring parallel implementations on the ranks of a server: each on all grids and with all block sizes
 * that may be the fastest, for sizes of calls that grow. What calls take corrects the models of parallel
 * routines (core/forecast/parallel_experience.h); the pool of ranks keeps it in the file that the server goes
 * on with.
 */
#ifndef SED_CALIBRATE_RANKS_H
#define SED_CALIBRATE_RANKS_H

#include "sed/calibrate/calibrate.h"

struct calibrate_ranks_result {
    unsigned grids, calls; /* grids and block sizes measured now, with so many calls */
    double error;          /* mean, of what the last calls were forecast to take, relative */
};

/* Waits until the ranks are there. ESP_SYSTEM, ESP_TIMEOUT: they do not come. */
enum esp_status calibrate_ranks_await(struct workers *ranks, struct esp_error *error);

/* Measures the first parallel implementation of the problem, which `calibration`, made of a pool of `ranks`
 * ranks, can call. `fixed`: the grid that all calls there run on; rows 0, block 0: the fastest. Sizes are the
 * same in all directions, from calls of some milliseconds to options.longest_s, as long as options.budget_s
 * lasts. What is known already is not measured, unless options.again. ESP_NOT_FOUND: the problem has no such
 * implementation. Others as calibrate_problem(). */
enum esp_status calibrate_ranks(struct calibration *calibration, uint32_t ranks, struct process_grid fixed,
                                const struct problem *problem, struct calibrate_ranks_result *result,
                                struct esp_error *error);

#endif
