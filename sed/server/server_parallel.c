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

/* The grid over which most bytes of the call's matrices lie. */
static uint64_t find_lying(const struct session *session, const struct implementation *implementation,
                           struct process_grid *lies)
{
    uint64_t most = 0;
    *lies = (struct process_grid){0};
    for (uint32_t i = 0; i < session->problem->n_arguments; i++) {
        const struct job_file *file = input_of(session, i);
        struct process_grid grid, other;
        uint64_t bytes = 0;
        if (!file || implementation->spreads[i].kind != SPREAD_BLOCKS || !grid_of(file, &grid))
            continue;
        for (uint32_t k = 0; k < session->problem->n_arguments; k++)
            if (input_of(session, k) && grid_of(input_of(session, k), &other) && is_alike(grid, other))
                bytes += input_of(session, k)->bytes;
        if (bytes > most) {
            most = bytes;
            *lies = grid;
        }
    }
    return most;
}

/* ---- the choice ---- */

/* Whether ranks would be through sooner than a worker, which takes `alone_s`. */
static bool propose(const struct server *server, const struct problem *problem, const struct number *scope,
                    double work_flop, uint64_t bytes, const struct session *session, double alone_s,
                    struct parallel_choice *choice)
{
    const struct workers_ops *ops = server->workers->ops;
    struct parallel_question question = {.problem = problem,
                                         .implementation = server_parallel(problem, scope),
                                         .scope = scope,
                                         .work_flop = work_flop,
                                         .bytes = bytes};
    if (question.implementation && session)
        question.lying_bytes = find_lying(session, question.implementation, &question.lies);
    if (!question.implementation || !ops->propose ||
        !ops->propose(server->workers, &question, &choice->proposal))
        return false;
    choice->implementation = question.implementation;
    choice->grid = spread_cut_grid(problem, choice->implementation, scope, choice->proposal.grid);
    /* Those who compete for the processors hold up ranks as they do workers, in whose forecast they are. */
    const double available = server_computer(server).available;
    if (available > 0 && available < 1)
        choice->proposal =
            (struct parallel_proposal){choice->proposal.grid, choice->proposal.seconds / available,
                                       choice->proposal.model_s / available};
    return choice->proposal.seconds < alone_s || implementation_is_parallel(&problem->implementations[0]);
}

bool server_choose(const struct server *server, const struct problem *problem, const struct number *scope,
                   double work_flop, uint64_t bytes, const struct session *session, double alone_s,
                   struct parallel_choice *choice)
{
    if (propose(server, problem, scope, work_flop, bytes, session, alone_s, choice))
        return true;
    *choice = (struct parallel_choice){
        .implementation = &problem->implementations[0], .grid = {1, 1, 64}, .proposal = {.seconds = alone_s}};
    return false;
}
