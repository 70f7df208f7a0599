/* SPDX-License-Identifier: Apache-2.0
 *
 * The choice between a worker and the ranks, by their forecasts. The first implementation of a problem is a
 * worker's, unless the problem has none that can be called here.
 */
#include "sed/server/server_state.h"

#include <math.h>
#include <stdlib.h>

struct ranks_told {
    bool absent;  /* the ranks, as the parent knows */
    size_t first; /* the problem for which the ranks are asked first, next time */
    size_t left;  /* how many problems from there on were not asked for since the last news */
};

/* The problem's implementation for ranks that suits the call, or NULL. */
static const struct implementation *server_parallel(const struct problem *problem, const struct number *scope)
{
    for (uint32_t i = 0; i < problem->n_implementations; i++)
        if (implementation_is_parallel(&problem->implementations[i]) &&
            implementation_suits(problem, &problem->implementations[i], scope))
            return &problem->implementations[i];
    return NULL;
}

enum esp_status server_suits(const struct problem *problem, const struct number *scope,
                             struct esp_error *error)
{
    const struct expr *suits = problem->n_implementations ? problem->implementations[0].suits : NULL;
    const struct scope values = {.values = scope, .n_values = problem->n_arguments};
    char found[200];
    if (problem->n_implementations == 0 || !implementation_is_parallel(&problem->implementations[0]) ||
        server_parallel(problem, scope))
        return ESP_OK;
    expr_describe_values(suits, &values, found, sizeof found);
    return error_set(
        error, ESP_INVALID,
        "%s: expected arguments that suit one of its implementations, all of which are for ranks "
        "(%s: suits %s), found %s",
        problem->name, problem->implementations[0].name, expr_text(suits), found);
}

bool server_lacks_ranks(const struct server *server, char *why, size_t size)
{
    struct esp_error error = {0};
    const struct workers_ops *ops = server->workers->ops;
    if (!ops->admits || ops->admits(server->workers, &error) == ESP_OK)
        return false;
    snprintf(why, size, "%.*s", (int)strcspn(error.text, "\n"), error.text);
    return true;
}

enum esp_status server_can_now(const struct server *server, const struct problem *problem,
                               struct esp_error *error)
{
    struct esp_error why;
    const bool for_ranks =
        problem->n_implementations > 0 && implementation_is_parallel(&problem->implementations[0]);
    if (!for_ranks || !server->workers->ops->admits ||
        server->workers->ops->admits(server->workers, &why) == ESP_OK)
        return ESP_OK;
    return error_set(error, ESP_REFUSED, "%s: %s", problem->name, why.text);
}

/* ---- data that lie in pieces ---- */

/* The grid of its layout; blocks of ScaLAPACK's routines are square. */
static bool grid_of(const struct job_file *file, struct process_grid *grid)
{
    const struct block_cyclic_matrix *layout = &file->layout;
    *grid = (struct process_grid){(uint32_t)layout->rows.ranks, (uint32_t)layout->cols.ranks,
                                  (uint32_t)layout->rows.block};
    return file->in_pieces && layout->rows.block == layout->cols.block && layout->rows.block < INT32_MAX;
}

static bool is_alike(struct process_grid a, struct process_grid b)
{
    return a.rows == b.rows && a.cols == b.cols && a.block == b.block;
}

static const struct job_file *input_of(const struct session *session, uint32_t index)
{
    const struct job_argument *argument = &session->job.arguments[index];
    return argument->writable ? argument->source : argument->file;
}

static struct parallel_place_taken *place_of(struct parallel_question *question, struct process_grid grid)
{
    for (uint32_t i = 0; i < question->n_places; i++)
        if (is_alike(question->places[i].grid, grid))
            return &question->places[i];
    if (question->n_places == PARALLEL_PLACES)
        return NULL;
    question->places[question->n_places] = (struct parallel_place_taken){.grid = grid};
    return &question->places[question->n_places++];
}

/* Tries each grid over which matrices of the call lie; the other matrices are moved to that grid. */
static void find_places(const struct session *session, struct parallel_question *question)
{
    for (uint32_t i = 0; i < session->problem->n_arguments; i++) {
        const struct job_file *file = input_of(session, i);
        struct process_grid grid;
        if (!file || question->implementation->spreads[i].kind != SPREAD_BLOCKS || !grid_of(file, &grid))
            continue;
        struct parallel_place_taken *place = place_of(question, grid);
        if (place)
            place->bytes += file->bytes;
    }
}

/* ---- the choice ---- */

static bool ends_sooner(const struct parallel_proposal *a, const struct parallel_proposal *b)
{
    return a->wait_s + a->seconds < b->wait_s + b->seconds;
}

/* The parallel implementation that suits the call and ends first by forecast, with its grid. */
static bool propose_best(const struct server *server, struct parallel_question *question,
                         const struct session *session, struct parallel_choice *choice)
{
    const struct problem *problem = question->problem;
    choice->implementation = NULL;
    for (uint32_t i = 0; i < problem->n_implementations; i++) {
        struct parallel_proposal proposal;
        question->implementation = &problem->implementations[i];
        question->n_places = 0;
        if (!implementation_is_parallel(question->implementation) ||
            !implementation_suits(problem, question->implementation, question->scope))
            continue;
        if (session)
            find_places(session, question);
        if (!server->workers->ops->propose(server->workers, question, &proposal) ||
            (choice->implementation && !ends_sooner(&proposal, &choice->proposal)))
            continue;
        choice->implementation = question->implementation;
        choice->proposal = proposal;
    }
    return choice->implementation != NULL;
}

/* Whether ranks would be through sooner than a worker, which takes `alone_s`. */
static bool propose(const struct server *server, const struct problem *problem, const struct number *scope,
                    double work_flop, uint64_t bytes, const struct session *session, double alone_s,
                    struct parallel_choice *choice)
{
    struct parallel_question question = {
        .problem = problem, .scope = scope, .work_flop = work_flop, .bytes = bytes, .now = session != NULL};
    if (!server_parallel(problem, scope) || !server->workers->ops->propose)
        return false;
    choice->ranks_absent = !propose_best(server, &question, session, choice);
    if (choice->ranks_absent)
        return false;
    choice->grid = spread_cut_grid(problem, choice->implementation, scope, choice->proposal.grid);
    /* Other programs slow the ranks down as they do workers; the forecast of workers includes them. */
    const double available = server_computer(server).available;
    if (available > 0 && available < 1) {
        choice->proposal.seconds /= available;
        choice->proposal.model_s /= available;
    }
    return choice->proposal.wait_s + choice->proposal.seconds < alone_s ||
           implementation_is_parallel(&problem->implementations[0]);
}

bool server_choose(const struct server *server, const struct problem *problem, const struct number *scope,
                   double work_flop, uint64_t bytes, const struct session *session, double alone_s,
                   struct parallel_choice *choice)
{
    choice->ranks_absent = false;
    if (propose(server, problem, scope, work_flop, bytes, session, alone_s, choice))
        return true;
    const struct implementation *first = &problem->implementations[0],
                                *suiting = implementation_is_parallel(first) ? server_parallel(problem, scope)
                                                                             : NULL;
    *choice = (struct parallel_choice){.implementation = suiting ? suiting : first,
                                       .grid = {1, 1, 64},
                                       .proposal = {.seconds = alone_s},
                                       .ranks_absent = choice->ranks_absent};
    return false;
}

/* What calls take on the ranks, told to agents: they weigh this server by it against others. */

/* The orders of matrices for which the ranks are asked, a point each. */
#define LEAST_ORDER 64
#define GROWTH      1.4142135623730951

/* A change of all points by less than this is not reported. */
#define WORTH_TELLING 0.05

/* How long the thread of the pool may do this instead of its own work. */
#define MOST_NS (200 * NS_PER_MS)

/* Options have their defaults. */
static struct number option_of(const struct problem *problem, uint32_t index, const struct number *scope)
{
    const struct argument *argument = &problem->arguments[index];
    unsigned char raw[16];
    const bool has_one = argument_is_input(argument) && argument->n_dims == 0 && argument->initial &&
                         argument->type <= TYPE_DOUBLE;
    return has_one && problem_default(problem, index, scope, raw, NULL) == ESP_OK
               ? number_load(argument->type, raw)
               : (struct number){.kind = NUMBER_UNKNOWN};
}

/* All sizes alike, options by default. */
static void fill_scope(const struct problem *problem, int64_t order, struct number *scope)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        scope[i] = (struct number){.kind = NUMBER_UNKNOWN};
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        const bool is_size = argument_is_input(argument) && argument->n_dims == 0 &&
                             (argument->type == TYPE_INT || argument->type == TYPE_LONG);
        scope[i] = is_size ? (struct number){.kind = NUMBER_INTEGER, .integer = order}
                           : option_of(problem, i, scope);
    }
}

/* The first implementation is a worker's, where there is one. */
static bool is_for_ranks_only(const struct problem *problem)
{
    return problem->n_implementations > 0 && implementation_is_parallel(&problem->implementations[0]);
}

static bool ask(const struct server *server, const struct problem *problem, int64_t order, double *work_flop,
                double *seconds, struct process_grid *grid, double *peak_flops)
{
    struct workers *workers = server->workers;
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct parallel_proposal proposal;
    fill_scope(problem, order, scope);
    struct parallel_question question = {
        .problem = problem, .implementation = server_parallel(problem, scope), .scope = scope};
    if (!question.implementation || problem_work(problem, scope, work_flop, NULL) != ESP_OK ||
        !(*work_flop >= 1))
        return false;
    question.work_flop = *work_flop;
    question.bytes =
        spread_bytes(problem, question.implementation, scope, (struct process_grid){1, 1, LEAST_ORDER});
    if (!workers->ops->propose(workers, &question, &proposal) || !(proposal.seconds < COST_MOST_S))
        return false;
    *seconds = proposal.seconds;
    *peak_flops = fmax(*peak_flops, proposal.peak_flops);
    *grid = spread_cut_grid(problem, question.implementation, scope, proposal.grid);
    return true;
}

static void fill_points(const struct server *server, const struct problem *problem, struct cost_ranks *ranks,
                        double *peak_flops)
{
    double order = LEAST_ORDER, work, seconds;
    struct process_grid grid;
    *ranks = (struct cost_ranks){.digest = problem->digest, .only = is_for_ranks_only(problem)};
    for (int i = 0;
         i < COST_RANKS_POINTS && ask(server, problem, (int64_t)order, &work, &seconds, &grid, peak_flops);
         i++, order *= GROWTH) {
        if (ranks->n > 0 && (float)work <= ranks->work_flop[ranks->n - 1])
            break; /* the work does not depend on the sizes */
        ranks->grids[ranks->n] = grid;
        ranks->work_flop[ranks->n] = (float)work;
        ranks->seconds[ranks->n++] = (float)seconds;
    }
}

/* Asks for at most `most` problems from number *first on, as many as there is time for. Sets *first for the
 * next time. */
static uint32_t fill_all(const struct server *server, const struct problem_set *set, size_t *first,
                         size_t most, struct cost_ranks *ranks, double *peak_flops)
{
    const int64_t until = clock_now_ns(&clock_system) + MOST_NS;
    uint32_t n = 0;
    for (size_t i = 0; i < most && clock_now_ns(&clock_system) < until; i++) {
        fill_points(server, set->problems[*first % set->n_problems], &ranks[n], peak_flops);
        n += ranks[n].n > 0;
        ++*first;
    }
    return n;
}

static bool is_among(const struct cost_ranks *ranks, uint32_t n, uint64_t digest)
{
    for (uint32_t i = 0; i < n; i++)
        if (ranks[i].digest == digest)
            return true;
    return false;
}

/* Problems without an answer keep their last one. */
static uint32_t keep_known(const struct cost_set *known, uint32_t n_known, struct cost_ranks *ranks,
                           uint32_t n)
{
    const uint32_t fresh = n;
    for (uint32_t i = 0; i < n_known && i < known->n_ranks; i++)
        if (!is_among(ranks, fresh, known->ranks[i].digest))
            ranks[n++] = known->ranks[i];
    return n;
}

/* Problems that only ranks compute are reported also before there are ranks, or without declared work. */
static uint32_t add_unmeasured(const struct problem_set *set, struct cost_ranks *ranks, uint32_t n)
{
    for (size_t i = 0; i < set->n_problems; i++)
        if (is_for_ranks_only(set->problems[i]) && !is_among(ranks, n, set->problems[i]->digest))
            ranks[n++] = (struct cost_ranks){.digest = set->problems[i]->digest, .only = true};
    return n;
}

static bool is_worth_telling(const struct cost_set *known, const struct cost_ranks *ranks, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < ranks[i].n; k++) {
            const double now = (double)ranks[i].seconds[k],
                         before = cost_ranks_s(known, ranks[i].digest, (double)ranks[i].work_flop[k]);
            if (!(fabs(now / before - 1) < WORTH_TELLING))
                return true;
        }
    return n != known->n_ranks;
}

/* The highest speed of calls on the ranks, at most the peak of the ranks: descriptions may declare too much
 * work. */
static double fastest_flops(const struct cost_ranks *ranks, uint32_t n, double peak_flops)
{
    double most = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < ranks[i].n; k++)
            most = fmax(most, (double)ranks[i].work_flop[k] / (double)ranks[i].seconds[k]);
    return peak_flops > 0 ? fmin(most, peak_flops) : most;
}

/* The ranks give the speed of a server without a problem for workers. */
static void take_speed(struct server *server, const struct cost_ranks *ranks, uint32_t n, double peak_flops)
{
    const struct problem_set *set = server->shelf->set;
    for (size_t i = 0; i < set->n_problems; i++)
        if (!set->problems[i]->abstract && !is_for_ranks_only(set->problems[i]))
            return;
    if (server->options.speed_flops <= 0)
        server_speed_measured(server, fastest_flops(ranks, n, peak_flops));
}

/* With the lock. */
static void take(struct server *server, struct cost_ranks *ranks, uint32_t n, double peak_flops)
{
    if (!is_worth_telling(server_models(server), ranks, n) || !server_set_rank_models(server, ranks, n))
        return;
    take_speed(server, ranks, n, peak_flops);
    server_load_changed(server, 1);
}

/* With the lock. */
static void tell_absence(struct server *server)
{
    char why[200];
    const bool absent = server_lacks_ranks(server, why, sizeof why);
    if (absent != server->ranks->absent)
        server_load_changed(server, 1);
    server->ranks->absent = absent;
}

bool server_ranks_changed(void *arg, bool news)
{
    struct server *server = arg;
    if (!server->workers->ops->propose)
        return false;
    endpoint_enter(server->endpoint);
    struct shelf *shelf = server->shelf;
    const uint32_t known = server_models(server)->n_ranks;
    size_t first = server->ranks->first, left = server->ranks->left;
    if (news || left > shelf->set->n_problems)
        left = shelf->set->n_problems;
    shelf->users++;
    endpoint_leave(server->endpoint);
    /* Without the lock: models of large matrices on many grids take their time. */
    struct cost_ranks *ranks = calloc(shelf->set->n_problems + known + 1, sizeof *ranks);
    const size_t begun = first;
    double peak_flops = 0;
    uint32_t n = ranks ? fill_all(server, shelf->set, &first, left, ranks, &peak_flops) : 0;
    left = ranks ? left - (first - begun) : 0;
    endpoint_enter(server->endpoint);
    if (ranks) {
        n = keep_known(server_models(server), known, ranks, n);
        n = add_unmeasured(shelf->set, ranks, n);
        take(server, ranks, n, peak_flops);
        server->ranks->first = first;
    }
    server->ranks->left = left;
    tell_absence(server);
    shelf_release(shelf);
    endpoint_leave(server->endpoint);
    free(ranks);
    return left > 0;
}

bool server_ranks_create(struct server *server)
{
    return (server->ranks = calloc(1, sizeof *server->ranks));
}

void server_ranks_destroy(struct server *server)
{
    free(server->ranks);
}
