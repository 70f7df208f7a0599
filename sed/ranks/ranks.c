/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/grid_search.h"
#include "core/forecast/parallel_alike.h"
#include "core/forecast/parallel_model.h"
#include "sed/porter/porter_order.h"
#include "sed/ranks/ranks_pool.h"
#include "sed/ranks/ranks_wait.h"
#include "util/log.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void ranks_profile_pass(struct rank_pool *pool, const char *symbol);
static char *ranks_profile_tell(struct workers *workers, size_t most);

static double latest_s(const struct busy *busy, uint32_t n, uint32_t first, uint32_t wanted)
{
    double latest = 0;
    for (uint32_t i = 0; i < n; i++)
        if (busy[i].first < first + wanted && first < busy[i].first + busy[i].n)
            latest = fmax(latest, busy[i].left_s);
    return latest;
}

/* Ranks that become free earliest are followed by equally early ones up to a call that ends later, so only
 * starts at rank 0 or directly after a call are tried. */
double ranks_wait_s(const struct busy *busy, uint32_t n, uint32_t ranks, uint32_t wanted)
{
    double soonest = wanted <= ranks ? latest_s(busy, n, 0, wanted) : INFINITY;
    for (uint32_t i = 0; i < n && soonest > 0; i++) {
        const uint32_t first = busy[i].first + busy[i].n;
        if (first <= ranks && wanted <= ranks - first)
            soonest = fmin(soonest, latest_s(busy, n, first, wanted));
    }
    return soonest;
}

/* Chooses number of ranks, grid and block size by the models of parallel routines
 * (core/forecast/parallel_model.h) with the ranks' measurements. */

/* Time to wake sleeping ranks, and until all have answered, on a machine with other load. */
#define CALL_S 5e-4

/* With many ranks, only the grids that look best are evaluated exactly, and grids with earlier calls,
 * whose forecasts are corrected by these calls' times, because that takes longer than a forecast. */
#define MOST_FOUND     24
#define MOST_KNOWN     32
#define MOST_PROPOSALS 256 /* all grids of GRID_SEARCH_ALL ranks, or these */

static int64_t value_of(const struct problem *problem, const struct number *scope, const char *name,
                        int64_t otherwise)
{
    int index = problem_argument_index(problem, name);
    return index >= 0 && scope[index].kind == NUMBER_INTEGER ? scope[index].integer : otherwise;
}

/* B has m rows and n columns; the model needs the order of the triangle, and the number of right-hand
 * sides. */
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

/* Of the call's largest matrix, on which most of the work is done, so that a single right-hand side does
 * not limit the grid to one column. */
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
    else if (!known) /* at most an LU of the matrix */
        as.n = order_of(largest_extents(problem, implementation, scope));
    return as;
}

/* ---- candidate grids ---- */

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

/* Returns the bytes that lie on that grid already. */
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

/* Ranks count as unequal if the sum of their speeds exceeds that of equal shares by this factor. */
#define LEAST_GAIN 1.1

/* Unequal shares need all ranks in one row, and only if their speeds differ. */
static bool is_useful_unequal(const struct choice *choice, struct process_grid grid)
{
    return choice->speed.gain >= LEAST_GAIN && grid.rows == 1 && grid.cols == choice->ranks;
}

/* Grids with rows (or columns) of ranks without elements are skipped, unless requested. */
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

/* The model assumes equal shares, so the slowest rank limits it. Matrices are redistributed to their
 * owners and back. */
static double unequal_s(const struct choice *choice, struct process_grid grid, double seconds)
{
    const double moved = 2 * (double)choice->question->bytes / grid.cols;
    return choice->alike.unequal ? seconds / choice->speed.gain + moved * choice->speed.byte_s : seconds;
}

/* Arguments that lie on that grid already need not be moved; all others must be, whatever grid they come
 * from. So A moves to B's grid, B to A's, or both to another one, whichever is fastest (section 5 of the
 * FAST paper). False: the grid is not usable. */
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

/* Adds the grids that look best by the models; with few ranks, all. */
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

/* Adds grids on which arguments lie, or calls of the routine have run. */
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

/* ---- the best candidate ---- */

/* Returns the remaining time of a running call. A late one is assumed to take as long again as it has
 * taken. */
static double left_s(const struct gang *gang, int64_t now_ns)
{
    const double taken_s = (double)(now_ns - gang->started_ns) / 1e9,
                 expected_s = gang->handoff.job.proposal.seconds;
    return taken_s < expected_s ? expected_s - taken_s : taken_s;
}

/* Lists grids with earlier calls of the routine, if not all grids are evaluated. With the lock. */
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

/* False: the ranks are missing. */
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

#define PEAK_ORDER 256 /* order of the product with which kernels are measured at their best */

/* Returns the speed of all ranks together, in products without communication. */
static double peak_flops(const struct choice *choice)
{
    const double n = PEAK_ORDER;
    const struct parallel_machine machine = parallel_machine_for(&choice->machine, choice->ranks);
    const double seconds = parallel_kernel_s(&machine, PARALLEL_GEMM, n, n, n) * choice->alike.type;
    return seconds > 0 ? choice->ranks * 2 * n * n * n / seconds : 0;
}

static bool ranks_propose(struct workers *workers, const struct parallel_question *question,
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

/* Tracks which calls ranks have prepared before. A call that all of them have prepared, with small
 * arguments, cannot fail before the routine is entered, so ranks need not wait for each other, before or
 * after it. */

/* Returns an upper bound of a rank's memory for its part; more than there is if the part is not small. */
static uint64_t small_bytes(const struct ring_part *part)
{
    const struct block_cyclic_matrix *layout = &part->layout;
    const int64_t block = layout->rows.block > layout->cols.block ? layout->rows.block : layout->cols.block;
    const int64_t elements = RANK_SMALL_PART / part->element_bytes;
    if (part->from.there || part->to.there || layout->rows.n > elements || layout->cols.n > elements ||
        block > elements || layout->rows.n * layout->cols.n + block + 1 > elements)
        return UINT64_MAX / PROBLEM_MAX_ARGUMENTS / 2;
    uint64_t bytes = (uint64_t)(layout->rows.n * layout->cols.n + block + 1) * part->element_bytes;
    return (part->into ? 2 : 1) * (bytes + 3 * RANK_SMALL_FENCE);
}

static bool is_small(const struct ring_job *job)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < job->n_parts; i++)
        bytes += small_bytes(&job->parts[i]);
    return job->front >= RING_RESULTS_FROM && job->n_areas == 0 && job->n_queries == 0 &&
           job->n_descriptors == 0 && bytes <= RANK_SMALL_BYTES;
}

/* Whether each of the n ranks already has everything that the job in the ring needs, so that nothing can
 * fail before they enter the routine. From now on they keep its call instead of another. */
static bool ranks_are_sure(struct rank_pool *pool, const struct ring_job *job, uint32_t first, uint32_t n)
{
    const uint64_t key = job->signature.key;
    bool sure = key != 0 && is_small(job);
    for (uint32_t i = first; i < first + n; i++) {
        uint64_t *known = &pool->known[i][key % RANK_CALLS_KEPT];
        sure &= *known == key;
        if (*known != key)
            *known = 0;
    }
    return sure;
}

void ranks_know(struct rank_pool *pool, const struct gang *gang)
{
    const uint64_t key = gang->ring->job.signature.key;
    for (uint32_t i = gang->first; i < gang->first + gang->n - gang->beside; i++)
        pool->known[i][key % RANK_CALLS_KEPT] = key;
}

void ranks_forget_calls(struct rank_pool *pool)
{
    memset(pool->known, 0, pool->options.ranks * sizeof *pool->known);
}

/* The pool of ranks: gives them calls, and waits for the answers. */

#define LOOK_NS      100000 /* time to poll for the answer of a tiny call */
#define LOOKS        4      /* between two looks at the clock */
#define PREEMPTED_NS 250000 /* that many checks take so long only if another program computes here; */
#define SHY_CALLS    200    /* then polling is suspended for so many calls */

int64_t ranks_now_ns(void)
{
    return clock_now_ns(&clock_system);
}

void ranks_wake(struct rank_pool *pool)
{
    static const uint64_t one = 1;
    if (write(pool->wake, &one, sizeof one) < 0)
        return; /* it is full: the monitor will wake up */
}

static struct gang *find(struct rank_pool *pool, uint64_t job_id)
{
    for (uint32_t i = 0; i < pool->n_gangs; i++)
        if (pool->gangs[i].used && pool->gangs[i].job_id == job_id)
            return &pool->gangs[i];
    return NULL;
}

/* ---- starting ---- */

static bool are_free(const struct rank_pool *pool, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++)
        if (pool->busy[i])
            return false;
    return true;
}

/* Chooses consecutive free ranks; if possible, where grids of that size have been before, because making
 * one takes time. */
static bool choose_ranks(const struct rank_pool *pool, uint32_t n, uint32_t *first)
{
    for (uint32_t step = n; step > 0; step = step > 1 ? 1 : 0)
        for (*first = 0; *first + n <= pool->options.ranks; *first += step)
            if (are_free(pool, *first, n))
                return true;
    return false;
}

static enum esp_status check_grid(const struct rank_pool *pool, const struct job *job,
                                  struct esp_error *error)
{
    struct process_grid grid = job->grid;
    if (grid.rows < 1 || grid.cols < 1 || (uint64_t)grid.rows * grid.cols > pool->options.ranks)
        return error_set(
            error, ESP_INVALID,
            "%s: a grid of %u x %u ranks cannot be made: expected at least 1 x 1 and at most %u ranks "
            "in all",
            job->problem->name, grid.rows, grid.cols, pool->options.ranks);
    if (grid.block < 1 || grid.block > INT32_MAX / 2)
        return error_set(error, ESP_INVALID, "%s: a block size of %u cannot be: expected 1 to %d",
                         job->problem->name, grid.block, INT32_MAX / 2);
    return ESP_OK;
}

static bool wants_stop(const struct rank_pool *pool)
{
    for (uint32_t i = 0; i < pool->n_gangs; i++)
        if (pool->gangs[i].used && pool->gangs[i].verdict != ESP_OK)
            return true;
    return pool->worn[0] != 0;
}

static struct gang *free_gang(struct rank_pool *pool)
{
    for (uint32_t i = 0; i < pool->n_gangs; i++)
        if (!pool->gangs[i].used && pool->gangs[i].users == 0)
            return &pool->gangs[i];
    return NULL;
}

/* Whether calls are accepted now; ESP_LIMIT: after a moment. */
static enum esp_status check_state(const struct rank_pool *pool, struct esp_error *error)
{
    if (pool->state == JOB_UP && !wants_stop(pool))
        return ESP_OK;
    if (pool->failed)
        return error_set(error, ESP_SYSTEM, "the ranks of this server are not there: %s", pool->trouble);
    return error_set(error, ESP_LIMIT, "the ranks are being started");
}

static enum esp_status pool_admits(struct workers *workers, struct esp_error *error)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    pthread_mutex_lock(&pool->lock);
    enum esp_status status = check_state(pool, error);
    pthread_mutex_unlock(&pool->lock);
    return status == ESP_SYSTEM ? error->status = ESP_REFUSED : ESP_OK;
}

/* A call with small arguments needs none, except for envoys, which do not read the board. */
static bool send_files(struct rank_pool *pool, struct gang *gang)
{
    const struct rank_message message = {.kind = RANK_FILES, .ring = (uint32_t)(gang - pool->gangs)};
    for (uint32_t i = gang->first; i < gang->first + gang->n; i++)
        if ((gang->handoff.n_descriptors > 0 || pool->ranks[i].far) &&
            !rank_link_send(pool->ranks[i].socket, &message, gang->handoff.descriptors,
                            gang->handoff.n_descriptors, MSG_DONTWAIT))
            return false;
    return true;
}

static bool is_apart(const struct rank_pool *pool, uint32_t first, uint32_t n)
{
    bool apart = false;
    for (uint32_t i = first; i < first + n; i++)
        apart |= pool->ranks[i].far;
    return apart;
}

/* Ranks on other hosts keep parts of data, and identify them by name. */
static void name_data(struct rank_pool *pool, struct ring_job *to, const struct job *job)
{
    for (uint32_t i = 0; i < to->n_parts && to->apart; i++) {
        struct ring_part *part = &to->parts[i];
        const struct job_argument *argument = &job->arguments[part->argument];
        const struct job_file *input = argument->writable ? argument->source : argument->file;
        if (part->from.there && input)
            part->from.name = envoys_name(pool->envoys, input->key);
        if (part->to.there && argument->file)
            part->to.name = envoys_name(pool->envoys, argument->file->key);
    }
}

/* Returns the number of ranks on which data of the call lie, if it exceeds the grid's n: the others send
 * their parts, if the grid is on other hosts and would otherwise get them from the daemon. */
static uint32_t ranks_of_data(const struct job *job, uint32_t n)
{
    int64_t most = n;
    for (uint32_t i = 0; i < job->problem->n_arguments; i++) {
        const struct job_argument *argument = &job->arguments[i];
        const struct job_file *input = argument->writable ? argument->source : argument->file;
        if (!input || !argument_is_input(&job->problem->arguments[i]) || job_key_is_none(input->key))
            continue;
        const int64_t now = input->in_pieces ? block_cyclic_matrix_ranks(&input->layout) : 1;
        const int64_t before = input->laid ? block_cyclic_matrix_ranks(&input->before) : 1;
        most = now > most && now <= RANKS_MOST ? now : most;
        most = before > most && before <= RANKS_MOST ? before : most;
    }
    return (uint32_t)most;
}

/* Chooses where the n ranks of the grid begin, and how many more ranks help: busy ones do not. */
static bool place_call(const struct rank_pool *pool, const struct job *job, uint32_t n, uint32_t *first,
                       uint32_t *beside)
{
    const uint32_t all = pool->envoys ? ranks_of_data(job, n) : n;
    *beside = 0;
    if (all > n && choose_ranks(pool, all, first) && is_apart(pool, *first, n)) {
        *beside = all - n;
        return true;
    }
    return choose_ranks(pool, n, first);
}

/* `n`: including the ranks outside the grid. */
static void post(struct rank_pool *pool, struct gang *gang, const struct job *job, uint32_t first, uint32_t n,
                 uint32_t beside)
{
    struct ring *ring = gang->ring;
    gang->used = true;
    gang->claimed = false;
    gang->job_id = job->id;
    gang->first = first;
    gang->n = n;
    gang->beside = beside;
    gang->verdict = ESP_OK;
    gang->held_up = false;
    gang->alone_ns = 0;
    gang->started_ns = ranks_now_ns();
    gang->due_ns = CLOCK_NEVER;
    if (job->time_limit_ms > 0 && job->time_limit_ms < (CLOCK_NEVER - gang->started_ns) / NS_PER_MS)
        gang->due_ns = gang->started_ns + job->time_limit_ms * NS_PER_MS;
    for (uint32_t i = first; i < first + n; i++)
        pool->busy[i] = true;
    ring->job.first_rank = first;
    ring->job.beside = beside;
    ring->job.apart = is_apart(pool, first, n - beside);
    name_data(pool, &ring->job, job);
    ring->job.sure = ranks_are_sure(pool, &ring->job, first, n - beside) && !ring->job.apart;
    atomic_store(&ring->gang.prepared, 0);
    atomic_store(&ring->gang.unable, 0);
    atomic_store(&ring->gang.starved, 0);
    atomic_store(&ring->gang.touched, 0);
    atomic_store(&ring->gang.compute_ns, 0);
    atomic_store(&ring->gang.strayed, 0);
    atomic_store(&ring->gang.refuser, 0);
    atomic_store(&ring->gang.refused, 0);
    ring->answer.memory_bytes = pool->options.memory;
    atomic_store(&ring->gang.left, n);
    gang->promised = job->attended;
    if (gang->promised)
        atomic_fetch_add(&ring->attended, 1);
    atomic_store(&ring->reply, RING_POSTED);
    atomic_fetch_add(&ring->request, 1);
    pool->n_calls++;
}

static enum esp_status start_locked(struct rank_pool *pool, const struct job *job, bool *wake,
                                    struct esp_error *error)
{
    uint32_t first, beside, n = job->grid.rows * job->grid.cols;
    enum esp_status status = check_grid(pool, job, error);
    if (status == ESP_OK)
        status = check_state(pool, error);
    if (status != ESP_OK)
        return status;
    struct gang *gang = free_gang(pool);
    if (!gang || !place_call(pool, job, n, &first, &beside))
        return error_set(error, ESP_LIMIT, "not enough ranks are free");
    struct job cut = *job;
    cut.grid = spread_cut_grid(job->problem, job->implementation, job->scope, job->grid);
    status = handoff_write(gang->ring, &cut, &gang->handoff, error);
    if (status != ESP_OK)
        return status;
    post(pool, gang, job, first, n + beside, beside);
    if (send_files(pool, gang))
        board_post(pool->board, gang->first, gang->n, (uint32_t)(gang - pool->gangs));
    else /* a rank has just died: the started call is ended and reported */
        ranks_end_job(pool, "a rank ended before a call came to it");
    int64_t until = atomic_load(&pool->until_ns);
    *wake = until == CLOCK_NEVER || gang->due_ns < until;
    if (*wake)
        atomic_store(&pool->until_ns, 0);
    return ESP_OK;
}

static enum esp_status pool_start(struct workers *workers, const struct job *job, struct esp_error *error)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    bool wake = false;
    pthread_mutex_lock(&pool->lock);
    enum esp_status status = start_locked(pool, job, &wake, error);
    pthread_mutex_unlock(&pool->lock);
    if (wake)
        ranks_wake(pool);
    return status;
}

/* ---- stopping a call, and waiting for it ---- */

static void pool_cancel(struct workers *workers, uint64_t job_id)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    pthread_mutex_lock(&pool->lock);
    struct gang *gang = find(pool, job_id);
    if (gang && !gang->claimed && gang->verdict == ESP_OK) {
        gang->verdict = ESP_CANCELLED;
        ranks_end_when_wanted(pool);
    }
    pthread_mutex_unlock(&pool->lock);
    ranks_wake(pool);
}

/* Polls for the answer of a tiny call, because waking a sleeping processor takes longer than the call.
 * Yields at each check, because ranks may need the same processor. Returns whether another program
 * computed there. */
static bool look_for_answer(const struct gang *gang, uint32_t request, int64_t until_ns)
{
    int64_t now = ranks_now_ns(), before = now;
    const int64_t until = now + LOOK_NS < until_ns ? now + LOOK_NS : until_ns;
    for (; now < until && now - before < PREEMPTED_NS; now = ranks_now_ns()) {
        before = now;
        for (int i = 0; i < LOOKS; i++, sched_yield())
            if (ranks_is_answered(gang) || atomic_load(&gang->ring->request) != request)
                return false;
    }
    return now - before >= PREEMPTED_NS;
}

static bool pool_help(struct workers *workers, uint64_t job_id, int64_t until_ns)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    pthread_mutex_lock(&pool->lock);
    struct gang *gang = find(pool, job_id);
    if (gang && gang->claimed)
        gang = NULL;
    bool expected = gang && gang->promised;
    uint32_t request = gang ? atomic_load(&gang->ring->request) : 0;
    bool looks = false, in_the_way = false;
    if (gang) {
        looks = gang->ring->job.sure && gang->shy == 0;
        gang->shy -= gang->shy > 0;
        gang->users++;
        gang->promised = false;
    }
    pthread_mutex_unlock(&pool->lock);
    if (!gang)
        return false;
    if (!expected)
        atomic_fetch_add(&gang->ring->attended, 1);
    if (looks)
        in_the_way = look_for_answer(gang, request, until_ns);
    ring_await_answer(gang->ring, request, until_ns);
    atomic_fetch_sub(&gang->ring->attended, 1);
    /* Check again: the last rank may not have rung the bell, because it saw this thread waiting. */
    if (ranks_is_answered(gang))
        ranks_collect(pool, gang);
    pthread_mutex_lock(&pool->lock);
    bool running = gang->used && gang->job_id == job_id && !gang->claimed;
    gang->users--;
    gang->shy = in_the_way ? SHY_CALLS : gang->shy;
    pthread_mutex_unlock(&pool->lock);
    return running;
}

/* ---- queries ---- */

static double pool_progress(struct workers *workers, uint64_t job_id)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    pthread_mutex_lock(&pool->lock);
    const struct gang *gang = find(pool, job_id);
    double progress = gang ? ring_progress(gang->ring) : -1;
    pthread_mutex_unlock(&pool->lock);
    return progress;
}

void ranks_count(struct workers *workers, struct ranks_counts *counts)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    *counts = (struct ranks_counts){0};
    pthread_mutex_lock(&pool->lock);
    counts->ranks = pool->state == JOB_UP ? pool->options.ranks : 0;
    for (uint32_t i = 0; i < pool->options.ranks; i++)
        counts->busy += pool->busy[i];
    counts->started = pool->n_started;
    counts->calls = pool->n_calls;
    counts->failed = pool->failed;
    pthread_mutex_unlock(&pool->lock);
    struct envoys_counts far = {0};
    if (pool->envoys)
        envoys_count(pool->envoys, &far);
    counts->far_sent = far.sent;
    counts->far_kept = far.kept;
    counts->far_moved = far.moved;
}

void ranks_porters(struct workers *workers, struct porter_list *list)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    pthread_mutex_lock(&pool->lock);
    list->n = 0; /* ranks on other hosts have no access to the memory of data */
    for (uint32_t i = 0; pool->state == JOB_UP && i < pool->options.ranks; i++)
        if (!pool->ranks[i].far)
            rank_porter_path(pool->path, i, list->paths[list->n++]);
    list->of_ranks = list->n > 0;
    pthread_mutex_unlock(&pool->lock);
}

void ranks_lenders(struct workers *workers, struct job_key key, uint64_t ticket,
                   struct porter_lenders *lenders)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    lenders->n = 0;
    if (pool->envoys)
        envoys_lenders(pool->envoys, key, ticket, lenders);
}

int32_t ranks_pid(struct workers *workers, uint32_t rank)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    pthread_mutex_lock(&pool->lock);
    int32_t pid = rank < pool->options.ranks && pool->ranks[rank].ready ? pool->ranks[rank].pid : 0;
    pthread_mutex_unlock(&pool->lock);
    return pid;
}

const struct workers_ops ranks_ops = {.start = pool_start,
                                      .cancel = pool_cancel,
                                      .help = pool_help,
                                      .progress = pool_progress,
                                      .propose = ranks_propose,
                                      .admits = pool_admits,
                                      .knows = ranks_profile_tell,
                                      .destroy = ranks_destroy};

/* The profile of the ranks (core/forecast/parallel_profile.h): from their measurements and the times of
 * calls, saved in a file between starts of the server. */

#define SAVE_NS (60 * NS_PER_S) /* between two saves */

/* A call that changes forecasts of its size by more than this is reported, */
#define WORTH_TELLING 0.03

/* at most this often, because all problems are then evaluated again. */
#define TELL_NS  (3 * NS_PER_S)
#define AGAIN_NS (500 * NS_PER_MS) /* after a report whose evaluation was not completed */

static struct timespec changed_at(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? info.st_mtim : (struct timespec){0};
}

/* A server that starts with an empty disk uses a profile that was saved elsewhere. */
static void take_told(struct rank_pool *pool)
{
    struct parallel_profile told;
    struct esp_error error;
    const char *text = pool->options.told;
    if (!text)
        return;
    if (parallel_profile_read(text, strlen(text), &told, &error) != ESP_OK)
        log_warning("what was told of the ranks is not heeded: %s", error.text);
    else if (told.ranks != pool->options.ranks)
        log_warning("what was told of %u ranks is not heeded: there are %u", told.ranks, pool->options.ranks);
    else {
        pool->profile = told;
        log_notice("forecasts for %u ranks begin with what was told of them", told.ranks);
    }
}

void ranks_profile_load(struct rank_pool *pool)
{
    char aside[4200];
    struct esp_error error = {0};
    pool->profile.ranks = pool->options.ranks;
    struct parallel_profile kept;
    enum esp_status status =
        pool->profile_path ? parallel_profile_load(pool->profile_path, &kept, &error) : ESP_NOT_FOUND;
    if (status == ESP_NOT_FOUND)
        take_told(pool);
    pool->profile_written = pool->profile_path ? changed_at(pool->profile_path) : (struct timespec){0};
    if (status == ESP_OK && kept.ranks == pool->options.ranks) {
        pool->profile = kept;
        log_notice("%s: forecasts for %u ranks go on as they were", pool->profile_path, kept.ranks);
    } else if (status == ESP_INVALID) {
        snprintf(aside, sizeof aside, "%s.damaged", pool->profile_path);
        log_warning("%s; it is set aside as %s, and what calls take is learned anew", error.text, aside);
        if (rename(pool->profile_path, aside) != 0)
            log_warning("%s cannot be renamed: %s", pool->profile_path, strerror(errno));
    }
}

void ranks_profile_measured(struct rank_pool *pool, const struct parallel_speed *speed)
{
    parallel_profile_measured(&pool->profile, speed);
    pool->profile_changed = pool->proposes_other = true;
}

void ranks_profile_learn(struct rank_pool *pool, const struct gang *gang, int64_t now_ns)
{
    const struct job *job = &gang->handoff.job;
    const struct process_grid *grid = &job->proposal.grid;
    if (gang->held_up)
        return;
    const double change = experience_learn(&pool->profile.experience, job->implementation->symbol,
                                           (struct parallel_grid){grid->rows, grid->cols}, grid->block,
                                           job->proposal.model_s, (double)(now_ns - gang->started_ns) / 1e9);
    pool->profile_changed = true;
    pool->has_news |= fabs(change - 1) > WORTH_TELLING;
}

/* With the lock: a call of that routine has arrived, and may go elsewhere. */
static void ranks_profile_pass(struct rank_pool *pool, const char *symbol)
{
    const bool faded = experience_pass(&pool->profile.experience, symbol);
    pool->profile_changed |= faded;
    pool->has_news |= faded;
}

static int64_t news_ns(const struct rank_pool *pool)
{
    return pool->proposes_other ? pool->told_ns : pool->has_news ? pool->told_ns + TELL_NS : CLOCK_NEVER;
}

int64_t ranks_profile_tells_ns(const struct rank_pool *pool)
{
    const int64_t news = news_ns(pool);
    return pool->has_more && pool->more_ns < news ? pool->more_ns : news;
}

void ranks_profile_tell_again(struct rank_pool *pool, int64_t now_ns)
{
    pool->has_more = true;
    pool->more_ns = now_ns + AGAIN_NS;
}

bool ranks_profile_tells(struct rank_pool *pool, int64_t now_ns, bool *news)
{
    const bool due = now_ns >= ranks_profile_tells_ns(pool);
    *news = now_ns >= news_ns(pool);
    if (*news) {
        pool->proposes_other = pool->has_news = false;
        pool->told_ns = now_ns;
    }
    if (due)
        pool->has_more = false;
    return due;
}

uint32_t ranks_known_calls(struct workers *workers, const struct implementation *implementation,
                           const struct parallel_proposal *proposal)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    const struct parallel_grid grid = {proposal->grid.rows, proposal->grid.cols};
    pthread_mutex_lock(&pool->lock);
    const uint32_t n = experience_count(&pool->profile.experience, implementation->symbol, grid,
                                        proposal->grid.block, proposal->model_s);
    pthread_mutex_unlock(&pool->lock);
    return n;
}

/* The operation `knows` of the pool. In a long text, most lines are times of calls. */
static char *ranks_profile_tell(struct workers *workers, size_t most)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    size_t length;
    pthread_mutex_lock(&pool->lock);
    char *text = parallel_profile_write(&pool->profile, &length);
    if (text && length >= most) {
        const struct parallel_profile measured = {.ranks = pool->profile.ranks, .speed = pool->profile.speed};
        free(text);
        text = parallel_profile_write(&measured, &length);
    }
    pthread_mutex_unlock(&pool->lock);
    return text;
}

/* ---- the file, which a separate calibration writes too ---- */

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Takes what another program has written there since our last save. */
static void adopt(struct rank_pool *pool)
{
    struct parallel_profile other;
    struct timespec now = changed_at(pool->profile_path);
    if (is_same_time(now, pool->profile_written) ||
        parallel_profile_load(pool->profile_path, &other, NULL) != ESP_OK ||
        other.ranks != pool->options.ranks)
        return;
    pthread_mutex_lock(&pool->lock);
    const uint32_t taken = parallel_profile_adopt(&pool->profile, &other);
    pool->profile_changed |= taken > 0;
    pool->proposes_other |= taken > 0;
    pthread_mutex_unlock(&pool->lock);
    pool->profile_written = now;
    if (taken > 0)
        log_notice("%s: what calls take on %u grids was measured by others", pool->profile_path, taken);
}

static bool write_whole(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "we");
    bool whole =
        file && fwrite(text, 1, length, file) == length && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (file && fclose(file) != 0)
        whole = false;
    return whole;
}

void ranks_profile_save(struct rank_pool *pool, bool now)
{
    static const char fresh_ending[] = ".new";
    const int64_t pause_ns = pool->options.profile_save_ns ? pool->options.profile_save_ns : SAVE_NS;
    char fresh[4200], *text = NULL;
    size_t length;
    if (!now && ranks_now_ns() - pool->profile_saved_ns < pause_ns)
        return;
    if (pool->profile_path)
        adopt(pool);
    pthread_mutex_lock(&pool->lock);
    if (pool->profile_path && pool->profile_changed)
        text = parallel_profile_write(&pool->profile, &length);
    pool->profile_changed = false;
    pool->profile_saved_ns = ranks_now_ns();
    pthread_mutex_unlock(&pool->lock);
    if (!text)
        return;
    snprintf(fresh, sizeof fresh, "%s%s", pool->profile_path, fresh_ending);
    if (!write_whole(fresh, text, length) || rename(fresh, pool->profile_path) != 0)
        log_warning("%s cannot be written: %s", pool->profile_path, strerror(errno));
    pool->profile_written = changed_at(pool->profile_path);
    free(text);
}

/* Calls that do not end: in a rank an allocation failed and the routine returned, while other ranks wait
 * in the routine for its message. No process dies, so no channel reports it, and MPI waits for ever. */

#define ALONE_NS (5 * NS_PER_S)

/* Whether an allocation failed in a rank, and others are still in the routine. */
static bool is_alone(const struct gang *gang)
{
    const struct ring_gang *all = &gang->ring->gang;
    return atomic_load(&all->refused) > 0 && atomic_load(&all->left) > 0 && !ranks_is_answered(gang);
}

/* Returns how long to wait: a routine that continues without the memory would not finish on one rank long
 * before the others. */
static int64_t patience_of(const struct rank_pool *pool, const struct gang *gang, int64_t now)
{
    const int64_t least = pool->options.alone_ns > 0 ? pool->options.alone_ns : ALONE_NS;
    const uint64_t took = atomic_load(&gang->ring->gang.compute_ns); /* as reported by the ranks */
    const uint64_t most = (uint64_t)(now - gang->started_ns);
    const int64_t own = (int64_t)(took < most ? took : most);
    return own > least ? own : least;
}

static void describe(const struct rank_pool *pool, struct gang *gang, int64_t now)
{
    const struct job *job = &gang->handoff.job;
    const uint32_t place = atomic_load(&gang->ring->gang.refuser) - 1;
    char who[140] = "one of them";
    if (place < gang->n) {
        const uint32_t number = gang->first + place;
        const struct rank *rank = &pool->ranks[number];
        snprintf(who, sizeof who, "rank %u of %u (process %d on %s)", number, pool->options.ranks, rank->pid,
                 rank->host);
    }
    snprintf(gang->why, sizeof gang->why,
             "%.60s on a grid of %u x %u ranks was stopped, as others were still in it %.3g s after %s had "
             "returned",
             job->implementation->symbol, job->grid.rows, job->grid.cols,
             (double)(now - gang->alone_ns) / NS_PER_S, who);
    handoff_append_refusal("rank", atomic_load(&gang->ring->gang.refused), pool->options.memory, gang->why,
                           sizeof gang->why);
}

static void look_at(const struct rank_pool *pool, struct gang *gang, int64_t now)
{
    if (!is_alone(gang)) {
        gang->alone_ns = 0;
        return;
    }
    if (gang->alone_ns == 0)
        gang->alone_ns = now;
    if (now - gang->alone_ns < patience_of(pool, gang, now))
        return;
    describe(pool, gang, now);
    gang->verdict = ESP_FAILED;
    gang->held_up = true;
    log_warning("%s", gang->why);
}

void ranks_look_for_alone(struct rank_pool *pool, int64_t now)
{
    for (uint32_t i = 0; i < pool->n_gangs; i++) {
        struct gang *gang = &pool->gangs[i];
        if (gang->used && !gang->claimed && gang->verdict == ESP_OK)
            look_at(pool, gang, now);
    }
}

/* Stopped ranks (SIGSTOP): they are alive, so no channel reports them, and a call waits for them. The
 * system reports those of this host; ranks on other hosts are sent a byte, which they return unless they
 * are stopped. */

#define STILL_LOOK_NS NS_PER_S
#define STILL_NS      (60 * NS_PER_S)
#define SILENT_NS     (3 * NS_PER_S) /* without an answer from another host, which may be busy */

static bool is_stopped(int32_t pid)
{
    char path[32], line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    const char *behind = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    fclose(file);
    return behind && strncmp(behind, ") T", 3) == 0;
}

/* Sends it a byte when it has answered the last one, or was not asked yet. */
static bool is_silent(struct rank *rank, int64_t now)
{
    char answers[64];
    while (rank->pulse >= 0 && recv(rank->pulse, answers, sizeof answers, MSG_DONTWAIT) > 0)
        rank->asked_ns = 0;
    if (rank->asked_ns == 0 && rank->pulse >= 0 && send(rank->pulse, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
        rank->asked_ns = now;
    return rank->asked_ns != 0 && now - rank->asked_ns >= SILENT_NS;
}

static void describe_still(const struct rank *rank, int64_t now, char *text, size_t size)
{
    const double seconds = (double)(now - rank->still_ns) / NS_PER_S;
    if (rank->far)
        snprintf(text, size, RANKS_SILENT, seconds);
    else
        snprintf(text, size, "was stopped for %.3g s", seconds);
}

static void warn(const struct rank_pool *pool, uint32_t number, int64_t now, int64_t patience)
{
    const struct rank *rank = &pool->ranks[number];
    char how[120] = "is stopped";
    if (rank->far)
        describe_still(rank, now, how, sizeof how);
    log_warning(
        "rank %u of %u (process %d on %s) %s, and a call waits for it: after %.3g s it counts as dead "
        "(kill -CONT %d there lets it go on)",
        number, pool->options.ranks, rank->pid, rank->host, how, (double)patience / NS_PER_S, rank->pid);
}

static void note_hold_up(struct rank_pool *pool, uint32_t number)
{
    for (uint32_t i = 0; i < pool->n_gangs; i++) {
        struct gang *gang = &pool->gangs[i];
        gang->held_up |= gang->used && number - gang->first < gang->n;
    }
}

/* Whether it has been stopped for too long. */
static bool look_at_still(struct rank_pool *pool, uint32_t number, int64_t now)
{
    struct rank *rank = &pool->ranks[number];
    const int64_t patience = pool->options.still_ns > 0 ? pool->options.still_ns : STILL_NS;
    if (!pool->busy[number] || !(rank->far ? is_silent(rank, now) : is_stopped(rank->pid))) {
        rank->still_ns = 0;
        return false;
    }
    note_hold_up(pool, number);
    if (rank->still_ns == 0) {
        rank->still_ns = rank->far ? rank->asked_ns : now;
        warn(pool, number, now, patience);
    }
    return now - rank->still_ns >= patience;
}

void ranks_look_for_stopped(struct rank_pool *pool, int64_t now)
{
    char text[300], how[120];
    if (now < pool->looked_ns + STILL_LOOK_NS)
        return;
    pool->looked_ns = now;
    for (uint32_t i = 0; i < pool->options.ranks; i++) {
        if (!look_at_still(pool, i, now))
            continue;
        describe_still(&pool->ranks[i], now, how, sizeof how);
        snprintf(text, sizeof text, "rank %u of %u (process %d on %s) %s", i, pool->options.ranks,
                 pool->ranks[i].pid, pool->ranks[i].host, how);
        ranks_end_job_for(pool, i, true, text);
        return;
    }
}
