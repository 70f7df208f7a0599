/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the results that the ranks of a grid have computed together. Each rank checks its own parts. */
#include "sed/mpi/prd.h"
#include "sed/ranks/gang.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static void agree(const struct system_parts *parts, double *values, int64_t n, bool adds)
{
    const struct rank_grid *grid = parts->arg;
    for (int64_t at = 0; at < n; at += INT_MAX) {
        const int count = n - at > INT_MAX ? INT_MAX : (int)(n - at);
        MPI_Allreduce(MPI_IN_PLACE, values + at, count, MPI_DOUBLE, adds ? MPI_SUM : MPI_MAX,
                      grid->communicator);
    }
}

/* Of equal copies of a vector the first one counts. */
static bool is_counted(const struct rank_state *state, const struct ring_part *part)
{
    const struct process_grid *grid = &state->ring->job.grid;
    return (part->layout.rows.ranks > 1 || grid->rows == 1 || state->grid->row == 0) &&
           (part->layout.cols.ranks > 1 || grid->cols == 1 || state->grid->col == 0);
}

static struct system_part part_of(const struct rank_state *state, uint32_t index, bool is_result)
{
    const struct ring_part *part = &state->ring->job.parts[index];
    const struct rank_part *own = &state->parts[index];
    return (struct system_part){.layout = &part->layout,
                                .row = own->row,
                                .col = own->col,
                                .leading = own->leading,
                                .data = is_result && own->into ? own->into : own->data,
                                .counts = is_counted(state, part)};
}

/* ---- elements of results ---- */

/* Returns the first element of this rank's part that is NaN, or infinite unless that is allowed, by its
 * index in the whole array; -1: none. */
static int64_t first_bad(const struct rank_state *state, const struct ring_result *result, bool is_result)
{
    const struct system_part part = part_of(state, result->parameter, is_result);
    const struct block_cyclic *rows = &part.layout->rows, *cols = &part.layout->cols;
    const enum base_type type = (enum base_type)result->type;
    const int64_t n = block_cyclic_count(rows, part.row);
    for (int64_t l = 0; l < block_cyclic_count(cols, part.col); l++) {
        const char *column = part.data + (size_t)(l * part.leading) * base_type_size(type);
        const int64_t k = results_first_bad(type, column, n, is_result && !result->goes_in);
        if (k >= 0)
            return block_cyclic_global(rows, part.row, k) + block_cyclic_global(cols, part.col, l) * rows->n;
    }
    return -1;
}

/* Keeps results that are finite on all ranks; none, when an input is not. */
static void begin_results(const struct rank_state *state, struct rank_look *look)
{
    const struct ring_job *job = &state->ring->job;
    look->n_results = job->n_results;
    for (uint32_t i = 0; i < job->n_results; i++)
        look->bad[i] = first_bad(state, &job->results[i], false) >= 0 ? 1 : 0;
    agree(&look->parts, look->bad, job->n_results, false);
    for (uint32_t i = 0; i < job->n_results; i++)
        if (look->bad[i] > 0 && job->results[i].goes_in)
            look->n_results = 0;
}

static void end_results(const struct rank_state *state, struct rank_look *look, struct ring_verdict *verdict)
{
    const struct ring_job *job = &state->ring->job;
    double found[PROBLEM_MAX_ARGUMENTS];
    for (uint32_t i = 0; i < look->n_results; i++) {
        const bool looks = job->results[i].comes_back && look->bad[i] == 0;
        const int64_t at = looks ? first_bad(state, &job->results[i], true) : -1;
        found[i] = at < 0 ? -INFINITY : -(double)at; /* the first one is the largest */
    }
    agree(&look->parts, found, look->n_results, false);
    for (uint32_t i = 0; i < look->n_results && !verdict->is_spoilt; i++)
        if (found[i] <= 0 && found[i] > -INFINITY) {
            verdict->is_spoilt = 1;
            verdict->spoilt_argument = job->results[i].argument;
            verdict->spoilt_element = (uint64_t)-found[i];
        }
}

/* ---- both ---- */

void rank_look_begin(const struct rank_state *state, void *const *operands, struct rank_look *look)
{
    const struct ring_job *job = &state->ring->job;
    const struct ring_system *system = &job->system;
    look->parts = (struct system_parts){
        .is_first = state->place == 0, .agree = agree, .arg = (void *)(uintptr_t)state->grid};
    if (system->wanted) {
        look->parts.matrix = part_of(state, system->matrix, false);
        look->parts.rhs = part_of(state, system->rhs, false);
        look->parts.solution = part_of(state, system->solution, true);
    }
    system_look_begin(job, operands, &look->parts, &look->system);
    begin_results(state, look);
}

void rank_look_end(const struct rank_state *state, void *const *operands, struct rank_look *look,
                   struct ring_verdict *verdict)
{
    const struct ring_job *job = &state->ring->job;
    *verdict = (struct ring_verdict){0};
    verdict->is_wrong = system_look_end(job, operands, &look->parts, &look->system, &verdict->backward_error,
                                        &verdict->condition);
    end_results(state, look, verdict);
}
