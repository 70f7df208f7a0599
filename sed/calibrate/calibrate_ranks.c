/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/calibrate/calibrate_ranks.h"

#include "core/forecast/parallel_model.h"
#include "sed/calibrate/calibrate_call.h"
#include "sed/ranks/ranks.h"
#include "util/clock.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define START_NS    (90 * NS_PER_S)
#define FIRST_ORDER 48
#define GROWTH      1.35 /* of orders: a factor of about 2.5 in time */
#define LEAST_S     5e-4
#define REPETITIONS 3
#define MOST_SIZES  32
/* Grids whose forecast exceeds that of the fastest by this factor are skipped: at first, and when they
 * have been measured at smaller sizes. */
#define SLOW       2.5
#define KNOWN_SLOW 1.3

enum esp_status calibrate_ranks_await(struct workers *ranks, struct esp_error *error)
{
    struct ranks_counts counts;
    const int64_t until = clock_now_ns(&clock_system) + START_NS;
    do {
        usleep(10000);
        ranks_count(ranks, &counts);
        if (counts.failed)
            return error_set(error, ESP_SYSTEM, "the ranks of this server cannot be started");
    } while (counts.ranks == 0 && clock_now_ns(&clock_system) < until);
    return counts.ranks
               ? ESP_OK
               : error_set(error, ESP_TIMEOUT, "the ranks were not ready within %.3g s", START_NS / 1e9);
}

struct grid_run {
    struct calibration *calibration;
    const struct problem *problem;
    const struct implementation *implementation;
    struct design design;
    struct process_grid *grids;
    bool *measured;
    uint32_t n_grids;
    int64_t begun_ns;
    struct calibrate_ranks_result *result;
    double errors; /* summed over `forecasts` calls */
    unsigned forecasts;
};

static void list_grids(struct grid_run *run, uint32_t ranks, struct process_grid fixed)
{
    for (uint32_t rows = 1; rows <= ranks; rows++)
        for (uint32_t cols = 1; cols <= ranks / rows; cols++)
            for (int i = 0; i < PARALLEL_BLOCKS; i++)
                if ((fixed.rows == 0 || (fixed.rows == rows && fixed.cols == cols)) &&
                    (fixed.block == 0 || i == 0))
                    run->grids[run->n_grids++] = (struct process_grid){
                        rows, cols, fixed.block ? fixed.block : (uint32_t)parallel_blocks[i]};
}

static bool is_stopped(const struct grid_run *run)
{
    const struct calibrate_options *options = &run->calibration->options;
    return options->stop && atomic_load(options->stop);
}

static double spent(const struct grid_run *run)
{
    return (double)(clock_now_ns(&clock_system) - run->begun_ns) / 1e9 / run->calibration->options.budget_s;
}

static void show(const struct grid_run *run)
{
    const struct calibrate_options *options = &run->calibration->options;
    if (options->progress)
        options->progress(options->arg, run->problem->name, fmin(spent(run), 1), run->result->calls);
}

/* ---- one size ---- */

static bool propose(const struct grid_run *run, const struct measured_call *call, struct process_grid only,
                    struct parallel_proposal *proposal)
{
    struct workers *ranks = run->calibration->workers;
    const struct parallel_question question = {.problem = run->problem,
                                               .implementation = run->implementation,
                                               .scope = call->plan.scope,
                                               .work_flop = call->plan.work_flop,
                                               .bytes = call->plan.reserve_bytes,
                                               .only = only};
    return ranks->ops->propose(ranks, &question, proposal);
}

static double fastest(const struct grid_run *run, const struct measured_call *call)
{
    struct parallel_proposal proposal;
    double best = INFINITY;
    for (uint32_t i = 0; i < run->n_grids; i++)
        if (propose(run, call, run->grids[i], &proposal))
            best = fmin(best, proposal.seconds);
    return best;
}

static bool is_wanted(const struct grid_run *run, const struct parallel_proposal *proposal, double fastest_s,
                      uint32_t index, unsigned repetition)
{
    const bool known =
        !run->calibration->options.again &&
        ranks_known_calls(run->calibration->workers, run->implementation, proposal) > repetition;
    return !known && proposal->seconds < fastest_s * (run->measured[index] ? KNOWN_SLOW : SLOW);
}

/* The pool learns from the call by itself. The last repetition measures the error of forecasts. */
static enum esp_status measure_one(struct grid_run *run, struct measured_call *call, uint32_t index,
                                   unsigned repetition, double fastest_s, struct esp_error *error)
{
    struct parallel_proposal proposal;
    double seconds, cpu_s;
    if (!propose(run, call, run->grids[index], &proposal) ||
        !is_wanted(run, &proposal, fastest_s, index, repetition))
        return ESP_OK;
    call->job.proposal = proposal;
    call->job.grid = spread_cut_grid(run->problem, run->implementation, call->plan.scope, proposal.grid);
    const int64_t begun = clock_now_ns(&clock_system);
    enum esp_status status = measured_run(run->calibration, call, &seconds, &cpu_s, NULL, error);
    if (status != ESP_OK)
        return status;
    const double taken_s = (double)(clock_now_ns(&clock_system) - begun) / 1e9;
    run->result->calls++;
    if (repetition + 1 == REPETITIONS) {
        run->errors += fabs(proposal.seconds - taken_s) / taken_s;
        run->forecasts++;
        run->result->grids += !run->measured[index];
        run->measured[index] = true;
    }
    show(run);
    return ESP_OK;
}

/* Takes turns between all grids, so that other load on the machine affects all of them. */
static enum esp_status measure_grids(struct grid_run *run, struct measured_call *call,
                                     struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (unsigned repetition = 0; repetition < REPETITIONS; repetition++) {
        const double fastest_s = fastest(run, call);
        for (uint32_t i = 0; i < run->n_grids && status == ESP_OK && spent(run) < 1; i++) {
            if (is_stopped(run))
                return error_set(error, ESP_CANCELLED, "told to stop");
            status = measure_one(run, call, i, repetition, fastest_s, error);
        }
    }
    return status;
}

/* *ended: no larger size is measured. */
static enum esp_status measure_size(struct grid_run *run, int64_t order, bool *ended, struct esp_error *error)
{
    const struct calibrate_options *options = &run->calibration->options;
    struct design_point point = {.x = {0}};
    struct measured_call call;
    int64_t sizes[COST_MOST_VARIABLES];
    for (uint32_t i = 0; i < run->design.n_sizes; i++)
        sizes[i] = order;
    if (!design_at(&run->design, 0, sizes, &point) ||
        !implementation_suits(run->problem, run->implementation, point.scope))
        return ESP_OK;
    enum esp_status status = measured_open(run->problem, &point, &run->calibration->random, &call, error);
    if (status != ESP_OK)
        return status;
    call.job.implementation = run->implementation;
    call.job.timed = false;
    call.job.attended = true;
    const double seconds = fastest(run, &call);
    *ended = !(seconds < options->longest_s) || 2 * (double)call.plan.reserve_bytes > options->bytes;
    if (!*ended && seconds >= LEAST_S)
        status = measure_grids(run, &call, error);
    measured_close(&call);
    return status;
}

static enum esp_status measure(struct grid_run *run, struct esp_error *error)
{
    enum esp_status status = design_begin(run->problem, &run->design, error);
    double order = FIRST_ORDER;
    bool ended = false;
    run->begun_ns = clock_now_ns(&clock_system);
    random_seed(&run->calibration->random, run->problem->digest);
    for (int i = 0; i < MOST_SIZES && status == ESP_OK && !ended && spent(run) < 1; i++, order *= GROWTH)
        status = measure_size(run, (int64_t)order, &ended, error);
    run->result->error = run->forecasts ? run->errors / run->forecasts : 0;
    return status == ESP_FAILED || status == ESP_CRASHED
               ? error_prefix(error, "%s is not measured on ranks", run->problem->name)
               : status;
}

enum esp_status calibrate_ranks(struct calibration *calibration, uint32_t ranks, struct process_grid fixed,
                                const struct problem *problem, struct calibrate_ranks_result *result,
                                struct esp_error *error)
{
    struct grid_run run = {.calibration = calibration, .problem = problem, .result = result};
    uint32_t grids = 0;
    *result = (struct calibrate_ranks_result){0};
    for (uint32_t i = 0; i < problem->n_implementations && !run.implementation; i++)
        if (implementation_is_parallel(&problem->implementations[i]))
            run.implementation = &problem->implementations[i];
    if (!run.implementation)
        return error_set(error, ESP_NOT_FOUND, "%s has no parallel implementation", problem->name);
    for (uint32_t rows = 1; rows <= ranks; rows++)
        grids += ranks / rows;
    run.grids = calloc(grids * PARALLEL_BLOCKS, sizeof *run.grids);
    run.measured = calloc(grids * PARALLEL_BLOCKS, sizeof *run.measured);
    enum esp_status status = ESP_NO_MEMORY;
    if (run.grids && run.measured) {
        list_grids(&run, ranks, fixed);
        status = measure(&run, error);
    } else {
        error_no_memory(error, "a calibration of ranks");
    }
    free(run.grids);
    free(run.measured);
    return status;
}
