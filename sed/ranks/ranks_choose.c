/* SPDX-License-Identifier: Apache-2.0
 *
 * How many ranks, which grid and which block size, by the models of parallel routines
 * (core/forecast/parallel_model.h) with what the ranks have measured.
 */
#include "core/forecast/grid_search.h"
#include "core/forecast/parallel_alike.h"
#include "core/forecast/parallel_model.h"
#include "sed/ranks/ranks_pool.h"
#include "sed/ranks/ranks_wait.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* To wake ranks that sleep, and until all have answered, on a machine that has other work too. */
#define CALL_S 5e-4
/* Of many ranks: grids that look best, and grids of which calls are known, whose forecasts are corrected by
 * what calls took: that takes longer than a forecast. */
#define MOST_FOUND     24
#define MOST_KNOWN     32
#define MOST_PROPOSALS 256 /* all grids of GRID_SEARCH_ALL ranks, or those */

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
         trans = (char)value_of(problem, scope, "transa", value_of(problem, scope, "trans", 'N'));
    int64_t rows = as->m, cols = as->n;
    bool left = side == 'L' || side == 'l';
    as->n = left ? rows : cols;
    as->m = left ? cols : rows;
    as->trsm_case = parallel_trsm_case(uplo, side, trans == 'C' || trans == 'c' ? 'T' : trans);
}

/* Rows and columns of a matrix. */
struct extents {
    int64_t rows, cols;
};

static bool is_filled(int64_t ranks, int64_t extent, int64_t block)
{
    int64_t n = (extent + block - 1) / block;
    return ranks <= (n > 0 ? n : 1);
}

/* Of the call's largest matrix, on which most of the work is done: a single right-hand side does not make a
 * column of ranks of those that factorise. */
static struct extents largest_extents(const struct problem *problem,
                                      const struct implementation *implementation, const struct number *scope)
{
    struct extents largest = {0, 0};
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        struct block_cyclic_matrix layout;
        if (implementation->spreads[i].kind != SPREAD_BLOCKS ||
            spread_layout(problem, implementation, i, scope, (struct process_grid){1, 1, 1}, &layout, NULL) !=
                ESP_OK)
            continue;
        if ((double)layout.rows.n * (double)layout.cols.n > (double)largest.rows * (double)largest.cols)
            largest = (struct extents){layout.rows.n, layout.cols.n};
    }
    return largest;
}

static int64_t order_of(struct extents extents)
{
    return extents.rows < extents.cols ? extents.rows : extents.cols;
}

static struct parallel_problem as_modelled(const struct problem *problem,
                                           const struct implementation *implementation,
                                           const struct number *scope, double work_flop)
{
    struct parallel_alike alike;
    const bool known = parallel_alike(implementation->symbol, &alike);
    struct parallel_problem as = {.routine = alike.model};
    as.n = value_of(problem, scope, "n", 0);
    as.m = value_of(problem, scope, "m", as.n);
    as.k = value_of(problem, scope, "k", as.m);
    if (parallel_alike_has_rhs(&alike))
        as.k = value_of(problem, scope, "nrhs", 1);
    if (strcmp(as.routine, "pdtrsm") == 0)
        model_trsm(problem, scope, &as);
    if (strcmp(as.routine, "pdgetrf") == 0 && work_flop > 0)
        as.n = (int64_t)cbrt(1.5 * work_flop);
    else if (!known) /* an LU of what it is given, at most: of a long column that is nothing */
        as.n = order_of(largest_extents(problem, implementation, scope));
    return as;
}

/* ---- the grids in question ---- */

struct choice {
    const struct parallel_question *question;
    struct process_grid wanted; /* rows 0, block 0: any */
    struct parallel_machine machine;
    struct parallel_problem as;
    struct parallel_alike alike;
    struct extents largest;
    struct parallel_speed speed;
    uint32_t ranks;
    struct busy busy[RANK_RINGS_MOST];
    uint32_t n_busy;
    uint32_t n, capacity;
    struct parallel_proposal *proposals;
};

static bool is_alike(struct process_grid a, struct process_grid b)
{
    return a.rows == b.rows && a.cols == b.cols && a.block == b.block;
}

/* Bytes that lie there already. */
static uint64_t lying(const struct parallel_question *question, struct process_grid grid, bool *some)
{
    for (uint32_t i = 0; i < question->n_places; i++)
        if (is_alike(question->places[i].grid, grid)) {
            *some = true;
            return question->places[i].bytes;
        }
    *some = false;
    return 0;
}

/* Ranks of which the slower ones are slower by so much, in their summed speed, are unequal. */
#define LEAST_GAIN 1.1

/* All ranks side by side, and only where they differ. */
static bool is_useful_unequal(const struct choice *choice, struct process_grid grid)
{
    return choice->speed.gain >= LEAST_GAIN && grid.rows == 1 && grid.cols == choice->ranks;
}

/* Rows (or columns) of ranks that would have nothing are of no use, unless they are asked for. */
static bool is_useful(const struct choice *choice, struct process_grid grid)
{
    bool lies;
    if (choice->alike.unequal && !is_useful_unequal(choice, grid))
        return false;
    lying(choice->question, grid, &lies);
    return choice->wanted.rows > 0 || lies ||
           (is_filled(grid.rows, choice->largest.rows, grid.block) &&
            is_filled(grid.cols, choice->largest.cols, grid.block));
}

/* The model is that of equal shares, which goes at the pace of the slowest rank. Matrices go to their owners
 * and back. */
static double unequal_s(const struct choice *choice, struct process_grid grid, double seconds)
{
    const double moved = 2 * (double)choice->question->bytes / grid.cols;
    return choice->alike.unequal ? seconds / choice->speed.gain + moved * choice->speed.byte_s : seconds;
}

/* What lies on that grid already need not be moved; all else has to be, whatever grid it comes from. So A
 * moves to B's grid, B to A's, or both to another one, as it is soonest (section 5 of the FAST paper). False:
 * it is of no use. */
static bool propose(const struct choice *choice, struct process_grid grid, struct parallel_proposal *proposal)
{
    const struct parallel_question *question = choice->question;
    struct parallel_forecast forecast;
    if (!is_useful(choice, grid) ||
        parallel_forecast(&choice->machine, &choice->as, (struct parallel_grid){grid.rows, grid.cols},
                          grid.block, &forecast, NULL) != ESP_OK)
        return false;
    bool lies;
    const uint64_t stays = lying(question, grid, &lies);
    const double moved = (double)(question->bytes > stays ? question->bytes - stays : 0);
    const double routine_s =
        unequal_s(choice, grid, forecast.seconds * choice->alike.part * choice->alike.type);
    const double seconds =
        routine_s + CALL_S + parallel_speed_fill_s(&choice->speed, moved, (double)grid.rows * grid.cols);
    *proposal = (struct parallel_proposal){
        .grid = grid,
        .seconds = seconds,
        .model_s = seconds,
        .wait_s = ranks_wait_s(choice->busy, choice->n_busy, choice->ranks, grid.rows * grid.cols)};
    return true;
}

static double weigh(void *arg, struct parallel_grid grid, int64_t block)
{
    struct parallel_proposal proposal;
    return propose(arg, (struct process_grid){(uint32_t)grid.p, (uint32_t)grid.q, (uint32_t)block}, &proposal)
               ? proposal.wait_s + proposal.seconds
               : INFINITY;
}

static bool is_wanted(const struct choice *choice, struct process_grid grid)
{
    const struct process_grid *wanted = &choice->wanted;
    return (uint64_t)grid.rows * grid.cols <= choice->ranks &&
           (wanted->rows == 0 || (wanted->rows == grid.rows && wanted->cols == grid.cols)) &&
           (wanted->block == 0 || wanted->block == grid.block);
}

static void add(struct choice *choice, struct process_grid grid)
{
    for (uint32_t i = 0; i < choice->n; i++)
        if (is_alike(choice->proposals[i].grid, grid))
            return;
    if (choice->n < choice->capacity && is_wanted(choice, grid))
        choice->n += propose(choice, grid, &choice->proposals[choice->n]);
}

/* Those that look best by the models; of few ranks all. */
static void add_found(struct choice *choice, const int64_t *blocks, size_t n_blocks)
{
    struct grid_weighed *found;
    size_t n;
    if (grid_search(choice->ranks, blocks, n_blocks, weigh, choice, &found, &n, NULL) != ESP_OK)
        return;
    const size_t most = choice->ranks <= GRID_SEARCH_ALL ? n : MOST_FOUND;
    for (size_t i = 0; i < n && i < most; i++)
        add(choice, (struct process_grid){(uint32_t)found[i].grid.p, (uint32_t)found[i].grid.q,
                                          (uint32_t)found[i].block});
    free(found);
}

/* And those on which something lies, or calls of the routine have been. */
static bool list_grids(struct choice *choice, const struct process_grid *known, uint32_t n_known)
{
    const struct process_grid *wanted = &choice->wanted;
    const int64_t own = wanted->block;
    const int64_t *blocks = own ? &own : parallel_blocks;
    const size_t n_blocks = own ? 1 : PARALLEL_BLOCKS;
    choice->capacity = MOST_PROPOSALS;
    choice->proposals = malloc(choice->capacity * sizeof *choice->proposals);
    if (!choice->proposals)
        return false;
    for (uint32_t i = 0; i < choice->question->n_places; i++)
        add(choice, choice->question->places[i].grid);
    for (size_t i = 0; wanted->rows > 0 && i < n_blocks; i++)
        add(choice, (struct process_grid){wanted->rows, wanted->cols, (uint32_t)blocks[i]});
    if (wanted->rows == 0)
        add_found(choice, blocks, n_blocks);
    for (uint32_t i = 0; i < n_known; i++)
        add(choice, known[i]);
    return choice->n > 0;
}

/* ---- the best of them ---- */

/* What is left of a call under way. One that is late goes on for as long again as it has taken. */
static double left_s(const struct gang *gang, int64_t now_ns)
{
    const double taken_s = (double)(now_ns - gang->started_ns) / 1e9,
                 expected_s = gang->handoff.job.proposal.seconds;
    return taken_s < expected_s ? expected_s - taken_s : taken_s;
}

/* Grids of the routine of which calls are known, where not all grids are weighed. With the lock. */
static uint32_t list_known(const struct rank_pool *pool, const char *symbol, struct process_grid *known)
{
    const struct parallel_experience *experience = &pool->profile.experience;
    uint32_t n = 0;
    for (uint32_t i = experience->n; i > 0 && n < MOST_KNOWN && pool->options.ranks > GRID_SEARCH_ALL; i--) {
        const struct experience_grid *of = &experience->grids[i - 1];
        if (strcmp(of->routine, symbol) == 0)
            known[n++] =
                (struct process_grid){(uint32_t)of->grid.p, (uint32_t)of->grid.q, (uint32_t)of->block};
    }
    return n;
}

static void list_busy(const struct rank_pool *pool, struct choice *choice)
{
    const int64_t now_ns = ranks_now_ns();
    for (uint32_t i = 0; i < pool->n_gangs; i++) {
        const struct gang *gang = &pool->gangs[i];
        if (gang->used)
            choice->busy[choice->n_busy++] = (struct busy){gang->first, gang->n, left_s(gang, now_ns)};
    }
}

/* False: the ranks are not there. */
static bool take_state(struct rank_pool *pool, struct choice *choice, struct process_grid *known,
                       uint32_t *n_known)
{
    pthread_mutex_lock(&pool->lock);
    const bool there = pool->state == JOB_UP;
    choice->machine = parallel_profile_machine(&pool->profile);
    choice->speed = pool->profile.speed;
    *n_known = list_known(pool, choice->question->implementation->symbol, known);
    if (choice->question->now)
        list_busy(pool, choice);
    pthread_mutex_unlock(&pool->lock);
    return there;
}

static void correct(struct rank_pool *pool, struct choice *choice)
{
    const char *symbol = choice->question->implementation->symbol;
    pthread_mutex_lock(&pool->lock);
    if (choice->question->now)
        ranks_profile_pass(pool, symbol);
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
    const double end_a = a->wait_s + a->seconds, end_b = b->wait_s + b->seconds;
    return end_a < end_b || (end_a <= end_b && ranks_a < ranks_b);
}

#define PEAK_ORDER 256 /* of the product by which kernels are measured at their best */

/* Of all ranks in products of their own, without a word to each other. */
static double peak_flops(const struct choice *choice)
{
    const double n = PEAK_ORDER;
    const struct parallel_machine machine = parallel_machine_for(&choice->machine, choice->ranks);
    const double seconds = parallel_kernel_s(&machine, PARALLEL_GEMM, n, n, n) * choice->alike.type;
    return seconds > 0 ? choice->ranks * 2 * n * n * n / seconds : 0;
}

bool ranks_propose(struct workers *workers, const struct parallel_question *question,
                   struct parallel_proposal *proposal)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    struct process_grid known[MOST_KNOWN];
    uint32_t n_known;
    struct choice choice = {.question = question,
                            .wanted = question->only.rows ? question->only : pool->options.grid,
                            .ranks = pool->options.ranks};
    if (!take_state(pool, &choice, known, &n_known))
        return false;
    parallel_alike(question->implementation->symbol, &choice.alike);
    choice.as =
        as_modelled(question->problem, question->implementation, question->scope, question->work_flop);
    choice.largest = largest_extents(question->problem, question->implementation, question->scope);
    const bool found = list_grids(&choice, known, n_known);
    if (found) {
        correct(pool, &choice);
        *proposal = choice.proposals[0];
        for (uint32_t i = 1; i < choice.n; i++)
            if (is_better(&choice.proposals[i], proposal))
                *proposal = choice.proposals[i];
        proposal->peak_flops = peak_flops(&choice);
    }
    free(choice.proposals);
    return found;
}
