/* SPDX-License-Identifier: Apache-2.0
 *
 * Simulated factorisations: the task graph, and the strategies in which blocks have owners.
 */
#include "core/unequal/strategies_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const strategy_names[STRATEGIES] = {"cyclic", "static",         "optimised",       "semi-static",
                                                "levels", "master-central", "master-decentral"};

/* ---- tasks and messages ---- */

double strategy_flop(const struct strategies_question *question, uint32_t k, uint32_t j)
{
    const double r = question->width, rows = (double)(question->blocks - k) * r;
    const double lu = j == k ? r * r * (rows - r / 3) : r * r * r + 2 * r * r * (rows - r);
    const double qr = j == k ? 2 * r * r * (rows - r / 3) : 2 * r * r * (2 * rows - r);
    return question->factorisation == FACTORISE_LU ? lu : qr;
}

double strategy_message_s(const struct strategies_question *question, uint32_t k)
{
    const double r = question->width;
    return question->latency_s + question->element_s * r * r * (double)(question->blocks - k);
}

double strategy_end(const struct strategies_question *question, uint32_t processor, double start, double flop)
{
    const double first = start + flop * question->cycle_times[processor];
    if (!question->later || first <= question->change_s)
        return first;
    if (start >= question->change_s)
        return start + flop * question->later[processor];
    const double done = (question->change_s - start) / question->cycle_times[processor];
    return question->change_s + (flop - done) * question->later[processor];
}

static double arrival(const struct simulation *simulation, uint32_t k, uint32_t j, uint32_t processor)
{
    const bool here = simulation->places[j] == processor;
    return simulation->ready[j] + (here ? 0 : strategy_message_s(simulation->question, k));
}

double strategy_start(const struct simulation *simulation, uint32_t k, uint32_t j, uint32_t processor)
{
    const double has_block = arrival(simulation, k, j, processor);
    const double has_pivot = j > k ? simulation->panel_at[k % 2][processor] : 0;
    return fmax(simulation->available[processor], fmax(has_block, has_pivot));
}

static void fetch(struct simulation *simulation, uint32_t k, uint32_t j, uint32_t processor)
{
    if (simulation->places[j] == processor)
        return;
    const double seconds = strategy_message_s(simulation->question, k);
    simulation->sums[simulation->places[j]] += seconds;
    simulation->sums[processor] += seconds;
    simulation->places[j] = processor;
    simulation->result->moves++;
}

static void broadcast(struct simulation *simulation, uint32_t k, uint32_t from, double at)
{
    const double seconds = strategy_message_s(simulation->question, k);
    for (uint32_t i = 0; i < simulation->question->processors; i++) {
        simulation->panel_at[k % 2][i] = at + (i == from ? 0 : seconds);
        simulation->sums[i] += simulation->question->processors > 1 ? seconds : 0;
    }
}

void strategy_run(struct simulation *simulation, uint32_t k, uint32_t j, uint32_t processor)
{
    const struct strategies_question *question = simulation->question;
    const double start = strategy_start(simulation, k, j, processor), flop = strategy_flop(question, k, j),
                 end = strategy_end(question, processor, start, flop);
    fetch(simulation, k, j, processor);
    simulation->available[processor] = simulation->ready[j] = end;
    simulation->sums[processor] += end - start;
    simulation->phase_s[processor] += end - start;
    simulation->phase_flop[processor] += flop;
    simulation->result->makespan_s = fmax(simulation->result->makespan_s, end);
    if (simulation->task_owners)
        simulation->task_owners[(size_t)k * question->blocks + j] = processor;
    if (j == k)
        broadcast(simulation, k, processor, end);
}

/* ---- blocks with owners ---- */

static void deal(struct simulation *simulation, enum strategy strategy)
{
    const struct strategies_question *question = simulation->question;
    const uint32_t n = question->blocks;
    int64_t start[ALLOCATION_MOST_PROCESSORS] = {0};
    if (strategy == STRATEGY_CYCLIC || strategy == STRATEGY_MASTER_DECENTRAL)
        for (uint32_t j = 0; j < n; j++)
            simulation->owners[j] = j % question->processors;
    else
        allocation_columns(question->cycle_times, question->processors, n, n, simulation->owners);
    if (strategy != STRATEGY_OPTIMISED)
        return;
    start[simulation->fastest] = 2;
    allocation_deal(question->cycle_times, question->processors, start, n, simulation->owners, NULL);
    for (uint32_t i = 0; i < n / 2; i++) {
        const uint32_t other = simulation->owners[n - 1 - i];
        simulation->owners[n - 1 - i] = simulation->owners[i];
        simulation->owners[i] = other;
    }
}

/* New owners of the blocks from `first` on, when these end sooner by more than it takes to move blocks. */
static void deal_again(struct simulation *simulation, uint32_t first, uint32_t *fresh)
{
    const struct strategies_question *question = simulation->question;
    const uint32_t n = question->blocks, p = question->processors;
    const double r = question->width, unit = 2 * r * r * r;
    uint32_t moves = 0;
    for (uint32_t i = 0; i < p; i++)
        if (simulation->phase_flop[i] > 0)
            simulation->cycle_times[i] = simulation->phase_s[i] / simulation->phase_flop[i];
    memset(simulation->phase_s, 0, p * sizeof *simulation->phase_s);
    memset(simulation->phase_flop, 0, p * sizeof *simulation->phase_flop);
    memcpy(fresh, simulation->owners, n * sizeof *fresh);
    allocation_columns(simulation->cycle_times, p, n - first, n - first, fresh + first);
    for (uint32_t j = first; j < n; j++)
        moves += fresh[j] != simulation->owners[j];
    const double now_s =
                     unit * allocation_remaining(simulation->cycle_times, p, simulation->owners, first, n),
                 then_s = unit * allocation_remaining(simulation->cycle_times, p, fresh, first, n);
    if (then_s + moves * strategy_message_s(question, first) / p < now_s)
        memcpy(simulation->owners, fresh, n * sizeof *fresh);
}

static uint32_t factor_owner(const struct simulation *simulation, enum strategy strategy, uint32_t k)
{
    return strategy == STRATEGY_OPTIMISED ? simulation->fastest : simulation->owners[k];
}

/* Level by level with look-ahead. `fresh` has room for an owner of each block. */
static void run_owned(struct simulation *simulation, enum strategy strategy, uint32_t *fresh)
{
    const struct strategies_question *question = simulation->question;
    const uint32_t n = question->blocks, phase = question->phase ? question->phase : n / 32 + 1;
    strategy_run(simulation, 0, 0, factor_owner(simulation, strategy, 0));
    for (uint32_t k = 0; k + 1 < n; k++) {
        if (strategy == STRATEGY_SEMI_STATIC && k > 0 && k % phase == 0)
            deal_again(simulation, k + 1, fresh);
        strategy_run(simulation, k, k + 1, factor_owner(simulation, strategy, k + 1));
        strategy_run(simulation, k + 1, k + 1, factor_owner(simulation, strategy, k + 1));
        for (uint32_t j = k + 2; j < n; j++)
            strategy_run(simulation, k, j, simulation->owners[j]);
    }
}

/* ---- all of them ---- */

static enum esp_status check(const struct strategies_question *question, enum strategy strategy,
                             struct esp_error *error)
{
    enum esp_status status = allocation_check(question->cycle_times, question->processors, error);
    if (status == ESP_OK && question->later)
        status = allocation_check(question->later, question->processors, error);
    if (status != ESP_OK)
        return status;
    if (question->blocks < 1 || question->blocks > STRATEGIES_MOST_BLOCKS || question->width < 1)
        return error_set(error, ESP_INVALID,
                         "strategies: expected 1 to %d blocks of 1 column or more, found %u of %u",
                         STRATEGIES_MOST_BLOCKS, question->blocks, question->width);
    if (!(question->latency_s >= 0) || !(question->element_s >= 0) || (uint32_t)strategy >= STRATEGIES)
        return error_set(error, ESP_INVALID,
                         "strategies: expected a strategy and times of messages of 0 or more, found number "
                         "%d, %g s and %g s",
                         (int)strategy, question->latency_s, question->element_s);
    return ESP_OK;
}

static uint32_t find_fastest(const struct strategies_question *question)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < question->processors; i++)
        if (question->cycle_times[i] < question->cycle_times[best])
            best = i;
    return best;
}

/* Cuts zeroed memory into the arrays. */
static void place_arrays(struct simulation *simulation, double *numbers, uint32_t *indices)
{
    const uint32_t n = simulation->question->blocks, p = simulation->question->processors;
    double **arrays[] = {&simulation->available,   &simulation->sums,    &simulation->panel_at[0],
                         &simulation->panel_at[1], &simulation->phase_s, &simulation->phase_flop,
                         &simulation->cycle_times};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++, numbers += p)
        *arrays[i] = numbers;
    simulation->ready = numbers;
    simulation->critical = numbers + n;
    simulation->owners = indices;
    simulation->places = indices + n;
}

static void run(struct simulation *simulation, enum strategy strategy, uint32_t *fresh)
{
    const struct strategies_question *question = simulation->question;
    const uint32_t n = question->blocks;
    simulation->fastest = find_fastest(question);
    memcpy(simulation->cycle_times, question->cycle_times, question->processors * sizeof(double));
    deal(simulation, strategy);
    memcpy(simulation->places, simulation->owners, n * sizeof *simulation->places);
    if (strategy == STRATEGY_LEVELS)
        strategy_levels(simulation);
    else if (strategy == STRATEGY_MASTER_CENTRAL || strategy == STRATEGY_MASTER_DECENTRAL)
        strategy_master(simulation, strategy == STRATEGY_MASTER_CENTRAL);
    else
        run_owned(simulation, strategy, fresh);
    for (uint32_t i = 0; i < question->processors; i++)
        simulation->result->summed_s = fmax(simulation->result->summed_s, simulation->sums[i]);
}

enum esp_status strategies_simulate(const struct strategies_question *question, enum strategy strategy,
                                    struct strategies_result *result, uint32_t *task_owners,
                                    struct esp_error *error)
{
    const enum esp_status status = check(question, strategy, error);
    if (status != ESP_OK)
        return status;
    const size_t n = question->blocks, p = question->processors;
    struct simulation simulation = {.question = question, .result = result, .task_owners = task_owners};
    double *numbers = calloc(7 * p + n + (strategy == STRATEGY_LEVELS ? n * n : 0), sizeof *numbers);
    uint32_t *indices = calloc(3 * n, sizeof *indices);
    if (numbers && indices) {
        *result = (struct strategies_result){0};
        place_arrays(&simulation, numbers, indices);
        run(&simulation, strategy, indices + 2 * n);
    }
    const bool done = numbers && indices;
    free(numbers);
    free(indices);
    return done ? ESP_OK : error_no_memory(error, "a simulated factorisation");
}
