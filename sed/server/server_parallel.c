/* SPDX-License-Identifier: Apache-2.0
 *
 * Alone or together: which implementation computes a session, a worker's or the ranks', as their forecasts
 * say. The first implementation of a problem is a worker's, unless it has none that can be called here.
 */
#include "sed/server/server_state.h"

const struct implementation *server_parallel(const struct problem *problem, const struct number *scope)
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

/* Each grid over which matrices of the call lie: it may be taken, and what lies otherwise moves there. */
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
    /* Those who compete for the processors hold up ranks as they do workers, in whose forecast they are. */
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
