/* SPDX-License-Identifier: Apache-2.0
 *
 * Strategies that choose the processor of each task while the factorisation goes on: master and slaves
 * (section 4.2), and the heuristic by levels (section 4.3).
 */
#include "core/unequal/strategies_internal.h"

#include <math.h>

/* ---- the heuristic of Maheswaran and Siegel ---- */

static double *critical_of(struct simulation *simulation, uint32_t k, uint32_t j)
{
    return &simulation->critical[(size_t)k * simulation->question->blocks + j];
}

/* cp(s) = e + max(c + cp(successor)), with the blocks where the static allocation has them. An update's
 * successor works on the same block, so only a factor task has messages to successors. */
static void find_critical_paths(struct simulation *simulation)
{
    const struct strategies_question *question = simulation->question;
    for (uint32_t k = question->blocks; k-- > 0;) {
        double longest = 0;
        for (uint32_t j = k + 1; j < question->blocks; j++) {
            const uint32_t owner = simulation->owners[j];
            const bool far = owner != simulation->owners[k];
            double *critical = critical_of(simulation, k, j);
            *critical = strategy_flop(question, k, j) * question->cycle_times[owner] +
                        *critical_of(simulation, k + 1, j);
            longest = fmax(longest, *critical + (far ? strategy_message_s(question, k) : 0));
        }
        *critical_of(simulation, k, k) =
            strategy_flop(question, k, k) * question->cycle_times[simulation->owners[k]] + longest;
    }
}

/* The processor with the least partial completion time. */
static uint32_t soonest(const struct simulation *simulation, uint32_t k, uint32_t j)
{
    const struct strategies_question *question = simulation->question;
    uint32_t best = 0;
    double least = INFINITY;
    for (uint32_t i = 0; i < question->processors; i++) {
        const double end =
            strategy_end(question, i, strategy_start(simulation, k, j, i), strategy_flop(question, k, j));
        if (end < least) {
            least = end;
            best = i;
        }
    }
    return best;
}

/* The update of level k that was not run yet and has the longest critical path. 0: none is left. */
static uint32_t most_critical(struct simulation *simulation, uint32_t k)
{
    uint32_t best = 0;
    double longest = 0;
    for (uint32_t j = k + 1; j < simulation->question->blocks; j++)
        if (*critical_of(simulation, k, j) > longest) {
            longest = *critical_of(simulation, k, j);
            best = j;
        }
    return best;
}

void strategy_levels(struct simulation *simulation)
{
    find_critical_paths(simulation);
    for (uint32_t k = 0; k < simulation->question->blocks; k++) {
        strategy_run(simulation, k, k, soonest(simulation, k, k));
        for (uint32_t j = most_critical(simulation, k); j > 0; j = most_critical(simulation, k)) {
            strategy_run(simulation, k, j, soonest(simulation, k, j));
            *critical_of(simulation, k, j) = 0;
        }
    }
}

/* ---- master and slaves ---- */

/* The processor that is idle first. The master of a centralised factorisation has no updates, unless it is
 * alone. */
static uint32_t first_idle(const struct simulation *simulation, bool central)
{
    const struct strategies_question *question = simulation->question;
    uint32_t best = question->processors;
    for (uint32_t i = 0; i < question->processors; i++) {
        if (central && i == simulation->fastest && question->processors > 1)
            continue;
        if (best == question->processors || simulation->available[i] < simulation->available[best])
            best = i;
    }
    return best;
}

/* A slave gets the block from the master and sends it back. The master's link carries one block at a time. */
static void run_by_slave(struct simulation *simulation, uint32_t k, uint32_t j, uint32_t slave, double *link)
{
    const uint32_t master = simulation->fastest;
    const double seconds =
        simulation->question->processors > 1 ? strategy_message_s(simulation->question, k) : 0;
    simulation->ready[j] = fmax(simulation->ready[j], *link);
    *link = simulation->ready[j] + seconds;
    strategy_run(simulation, k, j, slave);
    simulation->ready[j] += seconds;
    simulation->places[j] = master;
    simulation->sums[slave] += seconds;
    simulation->sums[master] += seconds;
    simulation->result->moves += slave != master;
}

void strategy_master(struct simulation *simulation, bool central)
{
    const uint32_t n = simulation->question->blocks, master = simulation->fastest;
    double link = 0;
    for (uint32_t j = 0; j < n && central; j++)
        simulation->places[j] = master;
    for (uint32_t k = 0; k < n; k++) {
        strategy_run(simulation, k, k, master);
        for (uint32_t j = k + 1; j < n; j++)
            if (central)
                run_by_slave(simulation, k, j, first_idle(simulation, true), &link);
            else
                strategy_run(simulation, k, j, first_idle(simulation, false));
    }
}
