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

const uint32_t ranks_blocks[RANKS_BLOCKS] = {16, 32, 64, 128};

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
    if (strcmp(as.routine, "pdgetrf") == 0 && work_flop > 0)
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

/* ---- the grids in question ---- */

struct choice {
    const struct parallel_question *question;
    struct process_grid wanted; /* rows 0, block 0: any */
    struct parallel_machine machine;
    struct parallel_problem as;
    struct extents least;
    struct parallel_speed speed;
    uint32_t ranks, n, capacity;
    struct parallel_proposal *proposals;
};

static bool is_alike(struct process_grid a, struct process_grid b)
{
    return a.rows == b.rows && a.cols == b.cols && a.block == b.block;
}

/* Rows (or columns) of ranks that would have nothing are of no use, unless they are asked for. */
static bool is_useful(const struct choice *choice, struct process_grid grid)
{
    return choice->wanted.rows > 0 || is_alike(grid, choice->question->lies) ||
           (is_filled(grid.rows, choice->least.rows, grid.block) &&
            is_filled(grid.cols, choice->least.cols, grid.block));
}

/* Where arguments lie already they need not be moved. */
static void add(struct choice *choice, struct process_grid grid)
{
    const struct parallel_question *question = choice->question;
    const char *symbol = question->implementation->symbol;
    struct parallel_forecast forecast;
    if (choice->n == choice->capacity || !is_useful(choice, grid) ||
        parallel_forecast(&choice->machine, &choice->as, (struct parallel_grid){grid.rows, grid.cols},
                          grid.block, &forecast, NULL) != ESP_OK)
        return;
    const uint64_t stays = is_alike(grid, question->lies) ? question->lying_bytes : 0;
    const double moved = (double)(question->bytes > stays ? question->bytes - stays : 0);
    const double seconds = forecast.seconds * type_factor(symbol[0] == 'p' ? symbol[1] : 'd') + CALL_S +
                           parallel_speed_fill_s(&choice->speed, moved, (double)grid.rows * grid.cols);
    choice->proposals[choice->n++] = (struct parallel_proposal){grid, seconds, seconds};
}

static void add_blocks(struct choice *choice, uint32_t rows, uint32_t cols)
{
    const struct process_grid *lies = &choice->question->lies;
    bool added = false;
    for (int i = 0; i < RANKS_BLOCKS && choice->wanted.block == 0; i++) {
        add(choice, (struct process_grid){rows, cols, ranks_blocks[i]});
        added |= lies->block == ranks_blocks[i];
    }
    if (choice->wanted.block > 0)
        add(choice, (struct process_grid){rows, cols, choice->wanted.block});
    else if (!added && lies->rows == rows && lies->cols == cols)
        add(choice, *lies);
}

static bool list_grids(struct choice *choice)
{
    const struct process_grid *wanted = &choice->wanted;
    uint32_t grids = 0;
    for (uint32_t rows = 1; rows <= choice->ranks; rows++)
        grids += choice->ranks / rows;
    choice->capacity = grids * (RANKS_BLOCKS + 1);
    choice->proposals = malloc(choice->capacity * sizeof *choice->proposals);
    if (!choice->proposals)
        return false;
    for (uint32_t rows = 1; rows <= choice->ranks; rows++)
        for (uint32_t cols = 1; cols <= choice->ranks / rows; cols++)
            if (wanted->rows == 0 || (wanted->rows == rows && wanted->cols == cols))
                add_blocks(choice, rows, cols);
    return choice->n > 0;
}

/* ---- the best of them ---- */

/* False: the ranks are not there. */
static bool take_machine(struct rank_pool *pool, struct choice *choice)
{
    pthread_mutex_lock(&pool->lock);
    bool there = pool->state == JOB_UP;
    choice->machine = parallel_profile_machine(&pool->profile);
    choice->speed = pool->profile.speed;
    pthread_mutex_unlock(&pool->lock);
    return there;
}

static void correct(struct rank_pool *pool, struct choice *choice)
{
    const char *symbol = choice->question->implementation->symbol;
    pthread_mutex_lock(&pool->lock);
    for (uint32_t i = 0; i < choice->n; i++) {
        struct parallel_proposal *proposal = &choice->proposals[i];
        const struct parallel_grid grid = {proposal->grid.rows, proposal->grid.cols};
        proposal->seconds *= experience_factor(&pool->profile.experience, symbol, grid, proposal->grid.block,
                                               proposal->model_s);
    }
    pthread_mutex_unlock(&pool->lock);
}

static bool is_better(const struct parallel_proposal *a, const struct parallel_proposal *b)
{
    const uint32_t ranks_a = a->grid.rows * a->grid.cols, ranks_b = b->grid.rows * b->grid.cols;
    return a->seconds < b->seconds || (a->seconds <= b->seconds && ranks_a < ranks_b);
}

bool ranks_propose(struct workers *workers, const struct parallel_question *question,
                   struct parallel_proposal *proposal)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    struct choice choice = {.question = question,
                            .wanted = question->only.rows ? question->only : pool->options.grid,
                            .ranks = pool->options.ranks};
    if (!take_machine(pool, &choice))
        return false;
    choice.as =
        as_modelled(question->problem, question->implementation, question->scope, question->work_flop);
    choice.least = least_extents(question->problem, question->implementation, question->scope);
    bool found = list_grids(&choice);
    if (found) {
        correct(pool, &choice);
        *proposal = choice.proposals[0];
        for (uint32_t i = 1; i < choice.n; i++)
            if (is_better(&choice.proposals[i], proposal))
                *proposal = choice.proposals[i];
    }
    free(choice.proposals);
    return found;
}
