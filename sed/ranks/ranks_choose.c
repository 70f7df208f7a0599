/* SPDX-License-Identifier: Apache-2.0
 *
 * How many ranks, which grid and which block size, by the models of parallel routines
 * (core/forecast/parallel_model.h) with what the ranks have measured.
 */
#include "core/forecast/parallel_model.h"
#include "sed/ranks/ranks_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* To wake ranks that sleep, and until all have answered, on a machine that has other work too. */
#define CALL_S 5e-4

static const int64_t blocks[] = {16, 32, 64, 128};

/* Routines are told by their symbol, less "p", the type and "_"; what is not here is taken for an LU of the
 * same work. */
static const struct {
    const char *name, *model;
} models[] = {{"gemm", "pdgemm"},  {"symm", "pdgemm"},   {"hemm", "pdgemm"},  {"syrk", "pdgemm"},
              {"herk", "pdgemm"},  {"potrf", "pdpotrf"}, {"posv", "pdpotrf"}, {"geqrf", "pdgeqrf"},
              {"gels", "pdgeqrf"}, {"trsm", "pdtrsm"}};

static int64_t value_of(const struct problem *problem, const struct number *scope, const char *name,
                        int64_t otherwise)
{
    int index = problem_argument_index(problem, name);
    return index >= 0 && scope[index].kind == NUMBER_INTEGER ? scope[index].integer : otherwise;
}

/* B has m rows and n columns; the model wants the order of the triangle, and how many right-hand sides. */
static void model_trsm(const struct problem *problem, const struct number *scope, struct parallel_problem *as)
{
    char side = (char)value_of(problem, scope, "side", 'L'),
         uplo = (char)value_of(problem, scope, "uplo", 'U'),
         trans = (char)value_of(problem, scope, "transa", 'N');
    int64_t rows = as->m, cols = as->n;
    bool left = side == 'L' || side == 'l';
    as->n = left ? rows : cols;
    as->m = left ? cols : rows;
    as->trsm_case = parallel_trsm_case(uplo, side, trans == 'C' || trans == 'c' ? 'T' : trans);
}

static struct parallel_problem as_modelled(const struct problem *problem,
                                           const struct implementation *implementation,
                                           const struct number *scope, double work_flop)
{
    const char *symbol = implementation->symbol;
    struct parallel_problem as = {.routine = "pdgetrf"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strlen(symbol) > 2 && strncmp(symbol + 2, models[i].name, strlen(models[i].name)) == 0)
            as.routine = models[i].model;
    as.n = value_of(problem, scope, "n", 0);
    as.m = value_of(problem, scope, "m", as.n);
    as.k = value_of(problem, scope, "k", as.m);
    if (strcmp(as.routine, "pdtrsm") == 0)
        model_trsm(problem, scope, &as);
    if (strcmp(as.routine, "pdgetrf") == 0)
        as.n = (int64_t)cbrt(1.5 * work_flop);
    return as;
}

/* Real work takes so many times that of the same routine on doubles. */
static double type_factor(char letter)
{
    return letter == 's' ? 0.5 : letter == 'c' ? 2 : letter == 'z' ? 4 : 1;
}

/* The fewest rows and columns of the matrices that come back. */
struct extents {
    int64_t rows, cols;
};

static bool is_filled(int64_t ranks, int64_t extent, int64_t block)
{
    int64_t n = (extent + block - 1) / block;
    return ranks <= (n > 0 ? n : 1);
}

/* Rows (or columns) of ranks that would have nothing are of no use. */
static bool is_useful(const struct parallel_forecast *forecast, const struct extents *least)
{
    return is_filled(forecast->grid.p, least->rows, forecast->block) &&
           is_filled(forecast->grid.q, least->cols, forecast->block);
}

static struct extents least_extents(const struct problem *problem,
                                    const struct implementation *implementation, const struct number *scope)
{
    struct extents least = {INT32_MAX, INT32_MAX};
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        struct block_cyclic_matrix layout;
        if (implementation->spreads[i].kind != SPREAD_BLOCKS || problem->arguments[i].mode == MODE_IN ||
            spread_layout(problem, implementation, i, scope, (struct process_grid){1, 1, 1}, &layout, NULL) !=
                ESP_OK)
            continue;
        least.rows = layout.rows.n < least.rows ? layout.rows.n : least.rows;
        least.cols = layout.cols.n < least.cols ? layout.cols.n : least.cols;
    }
    return least;
}

static bool best(const struct parallel_machine *machine, const struct parallel_problem *as,
                 const struct process_grid *wanted, uint32_t ranks, const struct extents *least,
                 struct parallel_forecast *chosen)
{
    struct parallel_forecast *all;
    size_t n;
    int64_t block = wanted->block;
    if (parallel_grids(machine, as, ranks, block ? &block : blocks,
                       block ? 1 : sizeof blocks / sizeof *blocks, &all, &n, NULL) != ESP_OK)
        return false;
    bool found = false;
    for (size_t i = 0; i < n && !found; i++) {
        found = wanted->rows ? all[i].grid.p == wanted->rows && all[i].grid.q == wanted->cols
                             : is_useful(&all[i], least);
        if (found)
            *chosen = all[i];
    }
    free(all);
    return found;
}

/* Where arguments lie already, unless another grid is faster by more than moving them takes. */
static bool best_or_where_it_lies(const struct rank_pool *pool, const struct parallel_machine *machine,
                                  const struct parallel_problem *as, const struct parallel_question *question,
                                  double moving_s, struct parallel_forecast *chosen, bool *stays)
{
    const struct process_grid *lies = &question->lies;
    const struct extents least = least_extents(question->problem, question->implementation, question->scope);
    struct parallel_forecast there;
    *stays = false;
    bool found = best(machine, as, &pool->options.grid, pool->options.ranks, &least, chosen);
    if (pool->options.grid.rows > 0 || lies->rows == 0 ||
        (uint64_t)lies->rows * lies->cols > pool->options.ranks ||
        !best(machine, as, lies, pool->options.ranks, &least, &there))
        return found;
    if (!found || there.seconds <= chosen->seconds + moving_s) {
        *stays = true;
        *chosen = there;
    }
    return true;
}

/* False: the ranks are not there. */
static bool ranks_known(struct rank_pool *pool, struct parallel_profile *profile)
{
    pthread_mutex_lock(&pool->lock);
    bool there = pool->state == JOB_UP;
    *profile = pool->profile;
    pthread_mutex_unlock(&pool->lock);
    return there;
}

bool ranks_propose(struct workers *workers, const struct parallel_question *question,
                   struct process_grid *grid, double *seconds)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    struct parallel_profile profile;
    struct parallel_forecast chosen;
    bool stays;
    if (!ranks_known(pool, &profile))
        return false;
    struct parallel_machine machine = parallel_profile_machine(&profile);
    struct parallel_problem as =
        as_modelled(question->problem, question->implementation, question->scope, question->work_flop);
    double moving_s = (double)question->lying_bytes * profile.byte_s;
    if (!best_or_where_it_lies(pool, &machine, &as, question, moving_s, &chosen, &stays))
        return false;
    *grid = (struct process_grid){(uint32_t)chosen.grid.p, (uint32_t)chosen.grid.q, (uint32_t)chosen.block};
    const char *symbol = question->implementation->symbol;
    *seconds = chosen.seconds * type_factor(symbol[0] == 'p' ? symbol[1] : 'd') +
               (double)question->bytes * profile.byte_s - (stays ? moving_s : 0) + CALL_S;
    *seconds *= parallel_profile_factor(&profile, symbol);
    return true;
}
