/* SPDX-License-Identifier: Apache-2.0
 *
 * Alone or together: which implementation computes a session, a worker's or the ranks', as their forecasts
 * say. The first implementation of a problem is a worker's, unless it has none that can be called here.
 */
#include "sed/server_state.h"

const struct implementation *server_parallel(const struct problem *problem, const struct number *scope)
{
    for (uint32_t i = 0; i < problem->n_implementations; i++)
        if (implementation_is_parallel(&problem->implementations[i]) &&
            implementation_suits(problem, &problem->implementations[i], scope))
            return &problem->implementations[i];
    return NULL;
}

/* Whether ranks would be through sooner than a worker, which takes `alone_s`. */
static bool propose(const struct server *server, const struct problem *problem, const struct number *scope,
                    double work_flop, uint64_t bytes, double alone_s, struct parallel_choice *choice)
{
    const struct workers_ops *ops = server->workers->ops;
    choice->implementation = server_parallel(problem, scope);
    if (!choice->implementation || !ops->propose ||
        !ops->propose(server->workers, problem, choice->implementation, scope, work_flop, bytes,
                      &choice->grid, &choice->seconds))
        return false;
    return choice->seconds < alone_s || implementation_is_parallel(&problem->implementations[0]);
}

bool server_choose(const struct server *server, const struct problem *problem, const struct number *scope,
                   double work_flop, uint64_t bytes, double alone_s, struct parallel_choice *choice)
{
    if (propose(server, problem, scope, work_flop, bytes, alone_s, choice))
        return true;
    *choice = (struct parallel_choice){
        .implementation = &problem->implementations[0], .grid = {1, 1, 64}, .seconds = alone_s};
    return false;
}
