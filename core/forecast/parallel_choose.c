/* SPDX-License-Identifier: Apache-2.0
 *
 * Number of ranks, shape of the grid, block size and place by the models.
 */
#include "config.h"

#include "core/forecast/parallel_model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row per routine: its time, and the matrices that a rank holds a part of. */
struct routine {
    const char *name;
    double (*seconds)(const struct parallel_machine *, const struct parallel_problem *, struct parallel_grid,
                      int64_t block);
    int (*shapes)(const struct parallel_problem *, int64_t (*shapes)[2]);
};

static double gemm_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                           struct parallel_grid grid, int64_t block)
{
    return parallel_gemm_s(machine, grid, block, problem->m, problem->n, problem->k);
}

static double trsm_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                           struct parallel_grid grid, int64_t block)
{
    return parallel_trsm_s(machine, grid, block, problem->trsm_case, problem->n, problem->m);
}

static double getrf_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                            struct parallel_grid grid, int64_t block)
{
    return parallel_getrf_s(machine, grid, block, problem->n);
}

static double potrf_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                            struct parallel_grid grid, int64_t block)
{
    return parallel_potrf_s(machine, grid, block, problem->n);
}

static double geqrf_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                            struct parallel_grid grid, int64_t block)
{
    return parallel_geqrf_s(machine, grid, block, problem->m, problem->n);
}

static double getrs_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                            struct parallel_grid grid, int64_t block)
{
    return parallel_solves_s(machine, grid, block, problem->n, problem->k);
}

static double posv_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                           struct parallel_grid grid, int64_t block)
{
    return parallel_posv_s(machine, grid, block, problem->n, problem->k);
}

static double gels_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                           struct parallel_grid grid, int64_t block)
{
    return parallel_gels_s(machine, grid, block, problem->m, problem->n, problem->k);
}

static int gemm_shapes(const struct parallel_problem *problem, int64_t (*shapes)[2])
{
    int64_t all[3][2] = {{problem->m, problem->k}, {problem->k, problem->n}, {problem->m, problem->n}};
    memcpy(shapes, all, sizeof all);
    return 3;
}

static int trsm_shapes(const struct parallel_problem *problem, int64_t (*shapes)[2])
{
    int64_t all[2][2] = {{problem->n, problem->n}, {problem->m, problem->n}};
    memcpy(shapes, all, sizeof all);
    return 2;
}

static int square_shapes(const struct parallel_problem *problem, int64_t (*shapes)[2])
{
    shapes[0][0] = shapes[0][1] = problem->n;
    return 1;
}

static int geqrf_shapes(const struct parallel_problem *problem, int64_t (*shapes)[2])
{
    shapes[0][0] = problem->m;
    shapes[0][1] = problem->n;
    return 1;
}

static int solve_shapes(const struct parallel_problem *problem, int64_t (*shapes)[2])
{
    int64_t all[2][2] = {{problem->n, problem->n}, {problem->n, problem->k}};
    memcpy(shapes, all, sizeof all);
    return 2;
}

static int gels_shapes(const struct parallel_problem *problem, int64_t (*shapes)[2])
{
    const int64_t most = problem->m < problem->n ? problem->n : problem->m;
    int64_t all[2][2] = {{problem->m, problem->n}, {most, problem->k}};
    memcpy(shapes, all, sizeof all);
    return 2;
}

static const struct routine routines[] = {
    {"pdgemm", gemm_seconds, gemm_shapes},     {"pdtrsm", trsm_seconds, trsm_shapes},
    {"pdgetrf", getrf_seconds, square_shapes}, {"pdpotrf", potrf_seconds, square_shapes},
    {"pdgeqrf", geqrf_seconds, geqrf_shapes},  {"pdgetrs", getrs_seconds, solve_shapes},
    {"pdposv", posv_seconds, solve_shapes},    {"pdgels", gels_seconds, gels_shapes},
};

static enum esp_status find_routine(const struct parallel_problem *problem, const struct routine **routine,
                                    struct esp_error *error)
{
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
        if (strcmp(routines[i].name, problem->routine) == 0)
            *routine = &routines[i];
    if (!*routine)
        return error_set(error, ESP_INVALID,
                         "expected pdgemm, pdtrsm, pdgetrf, pdgetrs, pdpotrf, pdposv, pdgeqrf or pdgels, "
                         "found '%s': others "
                         "have no model",
                         problem->routine);
    if (problem->m < 0 || problem->n < 0 || problem->k < 0)
        return error_set(error, ESP_INVALID,
                         "%s: expected sizes of 0 or more, found %" PRId64 " x %" PRId64 " x %" PRId64,
                         problem->routine, problem->m, problem->n, problem->k);
    if (strcmp(problem->routine, "pdtrsm") == 0 && (problem->trsm_case < 1 || problem->trsm_case > 4))
        return error_set(error, ESP_INVALID, "pdtrsm: expected case 1 to 4, found %d", problem->trsm_case);
    return ESP_OK;
}

/* What rank 0, which has the most of every matrix, holds. */
static double held_elements(const struct routine *routine, const struct parallel_problem *problem,
                            struct parallel_grid grid, int64_t block)
{
    int64_t shapes[3][2];
    double elements = 0;
    for (int i = 0, n = routine->shapes(problem, shapes); i < n; i++) {
        struct block_cyclic rows = {shapes[i][0], block, grid.p, 0}, cols = {shapes[i][1], block, grid.q, 0};
        elements += (double)block_cyclic_count(&rows, 0) * (double)block_cyclic_count(&cols, 0);
    }
    return elements;
}

enum esp_status parallel_forecast(const struct parallel_machine *machine,
                                  const struct parallel_problem *problem, struct parallel_grid grid,
                                  int64_t block, struct parallel_forecast *forecast, struct esp_error *error)
{
    const struct routine *routine = NULL;
    enum esp_status status = find_routine(problem, &routine, error);
    if (status != ESP_OK)
        return status;
    if (grid.p < 1 || grid.q < 1 || grid.p > BLOCK_CYCLIC_MOST_RANKS || grid.q > BLOCK_CYCLIC_MOST_RANKS ||
        block < 1)
        return error_set(error, ESP_INVALID,
                         "%s: expected a grid of 1 x 1 or more and a block size of 1 or more, found %" PRId64
                         " x %" PRId64 " and %" PRId64,
                         problem->routine, grid.p, grid.q, block);
    const struct parallel_machine own = parallel_machine_for(machine, (double)(grid.p * grid.q));
    *forecast = (struct parallel_forecast){grid, block, routine->seconds(&own, problem, grid, block),
                                           held_elements(routine, problem, grid, block)};
    if (machine->memory_elements > 0 && forecast->elements > machine->memory_elements)
        forecast->seconds = INFINITY;
    return ESP_OK;
}

static int compare_forecasts(const void *a, const void *b)
{
    const struct parallel_forecast *x = a, *y = b;
    if (x->seconds < y->seconds || x->seconds > y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    int64_t ranks_x = x->grid.p * x->grid.q, ranks_y = y->grid.p * y->grid.q;
    if (ranks_x != ranks_y)
        return ranks_x < ranks_y ? -1 : 1;
    return x->grid.p < y->grid.p ? -1 : x->grid.p > y->grid.p;
}

const int64_t parallel_blocks[PARALLEL_BLOCKS] = {16, 32, 64, 128};

static enum esp_status best_block(const struct parallel_machine *machine,
                                  const struct parallel_problem *problem, struct parallel_grid grid,
                                  const int64_t *blocks, size_t n, struct parallel_forecast *best,
                                  struct esp_error *error)
{
    for (size_t i = 0; i < n; i++) {
        struct parallel_forecast forecast;
        enum esp_status status = parallel_forecast(machine, problem, grid, blocks[i], &forecast, error);
        if (status != ESP_OK)
            return status;
        if (i == 0 || forecast.seconds < best->seconds)
            *best = forecast;
    }
    return ESP_OK;
}

enum esp_status parallel_grids(const struct parallel_machine *machine, const struct parallel_problem *problem,
                               int64_t ranks, const int64_t *blocks, size_t n_blocks,
                               struct parallel_forecast **forecasts, size_t *n, struct esp_error *error)
{
    const int64_t most = 1 << 16;
    if (ranks < 1 || ranks > most || n_blocks == 0)
        return error_set(error, ESP_INVALID,
                         "expected 1 to %" PRId64 " ranks and a block size, found %" PRId64
                         " and %zu block sizes",
                         most, ranks, n_blocks);
    size_t room = 0, made = 0;
    for (int64_t p = 1; p <= ranks; p++)
        room += (size_t)(ranks / p);
    struct parallel_forecast *list = malloc(room * sizeof *list);
    enum esp_status status = list ? ESP_OK : error_no_memory(error, "forecasts of grids");
    for (int64_t p = 1; p <= ranks && status == ESP_OK; p++)
        for (int64_t q = 1; q <= ranks / p && status == ESP_OK; q++)
            status = best_block(machine, problem, (struct parallel_grid){p, q}, blocks, n_blocks,
                                &list[made++], error);
    if (status != ESP_OK) {
        free(list);
        return status;
    }
    qsort(list, made, sizeof *list, compare_forecasts);
    *forecasts = list;
    *n = made;
    return ESP_OK;
}

/* ---- places ---- */

enum esp_status parallel_redistribution(const struct parallel_machine *machine,
                                        const struct redistribution *what,
                                        struct redistribution_summary *summary, struct esp_error *error)
{
    struct redistribution_costs costs = {machine->latency_s, machine->element_s};
    struct redistribution_plan *plan;
    enum esp_status status = redistribution_plan_create(what, REDISTRIBUTION_BEST, &costs, &plan, error);
    if (status != ESP_OK)
        return status;
    *summary = *redistribution_plan_summary(plan);
    redistribution_plan_destroy(plan);
    return ESP_OK;
}

static enum esp_status move_s(const struct parallel_machine *machine, const struct parallel_place *from,
                              const struct parallel_place *on, double *seconds, struct esp_error *error)
{
    struct redistribution_summary summary;
    struct redistribution what = {from->layout, on->layout, from->ids, on->ids};
    what.to.rows.n = from->layout.rows.n;
    what.to.cols.n = from->layout.cols.n;
    enum esp_status status = parallel_redistribution(machine, &what, &summary, error);
    *seconds = status == ESP_OK ? summary.seconds : 0;
    return status;
}

enum esp_status parallel_align(const struct parallel_machine *machine, const struct parallel_place *a,
                               const struct parallel_place *b, const struct parallel_place *on,
                               struct parallel_alignment *alignment, struct esp_error *error)
{
    const struct block_cyclic_matrix *grid = &on->layout;
    if (a->layout.cols.n != b->layout.rows.n)
        return error_set(error, ESP_INVALID,
                         "A B: expected as many columns of A as rows of B, found %" PRId64 " and %" PRId64,
                         a->layout.cols.n, b->layout.rows.n);
    if (grid->rows.block != grid->cols.block)
        return error_set(error, ESP_INVALID, "A B: expected square blocks, found %" PRId64 " x %" PRId64,
                         grid->rows.block, grid->cols.block);
    struct parallel_forecast forecast;
    struct parallel_problem problem = {
        .routine = "pdgemm", .m = a->layout.rows.n, .n = b->layout.cols.n, .k = a->layout.cols.n};
    enum esp_status status = move_s(machine, a, on, &alignment->move_a_s, error);
    if (status == ESP_OK)
        status = move_s(machine, b, on, &alignment->move_b_s, error);
    if (status == ESP_OK)
        status =
            parallel_forecast(machine, &problem, (struct parallel_grid){grid->rows.ranks, grid->cols.ranks},
                              grid->rows.block, &forecast, error);
    if (status != ESP_OK)
        return status;
    alignment->compute_s = forecast.seconds;
    alignment->seconds = alignment->move_a_s + alignment->move_b_s + alignment->compute_s;
    return ESP_OK;
}
