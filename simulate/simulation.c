/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/simulation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct simulation {
    struct clock clock; /* first, so that a pointer to it is a pointer to the simulation */
    struct star *star;
    struct flow_run *run;
    struct simulation_result *result;
    size_t span_capacity;
    bool out_of_memory;
};

static int64_t now_ns(const struct clock *clock)
{
    const struct simulation *simulation = (const struct simulation *)clock;
    return (int64_t)llround(star_now(simulation->star) * 1e9);
}

static void *grow(void *items, size_t n, size_t *capacity, size_t size, bool *failed)
{
    if (n < *capacity)
        return items;
    size_t wanted = *capacity ? 2 * *capacity : 64;
    void *moved = realloc(items, wanted * size);
    if (!moved) {
        *failed = true;
        return items;
    }
    *capacity = wanted;
    return moved;
}

/* ---- what the run asks for ---- */

static void compute(void *self, void *ticket, const struct flow_step *step)
{
    struct simulation *simulation = self;
    simulation->result->work_s += step->seconds;
    if (!star_compute(simulation->star, step->node, step->seconds, ticket))
        simulation->out_of_memory = true;
}

static void transfer(void *self, void *ticket, const struct flow_transfer *transfer)
{
    struct simulation *simulation = self;
    if (!star_transfer(simulation->star, transfer->from, transfer->to, transfer->bytes, ticket))
        simulation->out_of_memory = true;
}

static void node_used(void *self, unsigned node, bool used)
{
    struct simulation *simulation = self;
    struct simulation_result *result = simulation->result;
    result->spans = grow(result->spans, result->n_spans, &simulation->span_capacity, sizeof *result->spans,
                         &simulation->out_of_memory);
    if (!simulation->out_of_memory)
        result->spans[result->n_spans++] =
            (struct simulation_span){.at_s = star_now(simulation->star), .node = node, .used = used};
}

/* ---- the whole ---- */

static enum esp_status collect(struct simulation *simulation, const struct simulation_spec *spec,
                               struct esp_error *error)
{
    struct simulation_result *result = simulation->result;
    unsigned n = spec->platform->n_nodes, n_operations = flow_n_operations(spec->graph);
    result->seconds = star_now(simulation->star);
    flow_run_counts(simulation->run, &result->counts);
    result->n_nodes = n;
    result->n_operations = n_operations;
    result->use = calloc(n, sizeof *result->use);
    result->peak_bytes = calloc(n, sizeof *result->peak_bytes);
    result->instances = calloc(n_operations, sizeof *result->instances);
    if (!result->use || !result->peak_bytes || !result->instances)
        return error_no_memory(error, "the result of a simulation");
    for (unsigned i = 0; i < n; i++) {
        star_use(simulation->star, i, &result->use[i]);
        result->peak_bytes[i] = flow_run_peak_bytes(simulation->run, i);
    }
    for (unsigned i = 0; i < n_operations; i++)
        result->instances[i] = flow_run_instances(simulation->run, i);
    for (size_t i = 0; i < result->n_spans; i++) {
        double left = result->seconds - result->spans[i].at_s;
        result->node_s += result->spans[i].used ? left : -left;
    }
    return ESP_OK;
}

static enum esp_status play_all(struct simulation *simulation, struct esp_error *error)
{
    void *ticket;
    bool is_transfer;
    uint64_t n = 0;
    while (!simulation->out_of_memory && star_next(simulation->star, &ticket, &is_transfer)) {
        if (n++ == SIMULATION_MOST_STEPS)
            return error_set(error, ESP_LIMIT, "the simulation has more than %d computations and transfers",
                             SIMULATION_MOST_STEPS);
        if (is_transfer)
            flow_transfer_ended(simulation->run, ticket);
        else
            flow_step_ended(simulation->run, ticket);
    }
    if (simulation->out_of_memory || simulation->result->record.out_of_memory)
        return error_no_memory(error, "a simulation");
    return flow_run_outcome(simulation->run, error);
}

enum esp_status simulation_run(const struct simulation_spec *spec, struct simulation_result *result,
                               struct esp_error *error)
{
    struct simulation simulation = {.clock = {.now_ns = now_ns}, .result = result};
    *result = (struct simulation_result){0};
    enum esp_status status = star_create(spec->platform, &simulation.star, error);
    if (status != ESP_OK)
        return status;
    struct flow_run_spec run = {
        .graph = spec->graph,
        .n_nodes = spec->platform->n_nodes,
        .memory_bytes = spec->memory_bytes,
        .clock = &simulation.clock,
        .executor = {.self = &simulation, .compute = compute, .transfer = transfer, .node_used = node_used}};
    if (spec->events)
        run.observer = flow_record_observer(&result->record);
    status = flow_run_create(&run, &simulation.run, error);
    if (status == ESP_OK)
        status = flow_run_start(simulation.run, spec->entry, &spec->message, error);
    if (status == ESP_OK)
        status = play_all(&simulation, error);
    if (status == ESP_OK)
        status = collect(&simulation, spec, error);
    flow_run_destroy(simulation.run);
    star_destroy(simulation.star);
    if (status != ESP_OK)
        simulation_clear(result);
    return status;
}

void simulation_clear(struct simulation_result *result)
{
    free(result->use);
    free(result->peak_bytes);
    free(result->instances);
    flow_record_clear(&result->record);
    free(result->spans);
    *result = (struct simulation_result){0};
}

/* Adds `amount`, spread evenly over [begin, end), to the intervals of `width`. */
static void spread(double *intervals, unsigned n, double width, double begin, double end, double amount)
{
    if (!(end > begin))
        return;
    unsigned first = (unsigned)fmin(begin / width, n - 1), last = (unsigned)fmin(end / width, n - 1);
    for (unsigned i = first; i <= last; i++) {
        double from = fmax(begin, i * width), to = i == n - 1 ? end : fmin(end, (i + 1) * width);
        if (to > from)
            intervals[i] += amount * (to - from) / (end - begin);
    }
}

void simulation_efficiency(const struct simulation_result *result, unsigned n, double *efficiency)
{
    double width = result->seconds / n;
    double *available = calloc(n, sizeof *available);
    for (unsigned i = 0; i < n; i++)
        efficiency[i] = 0;
    if (!available || !(width > 0)) {
        free(available);
        return;
    }
    for (size_t i = 0; i < result->record.n_events; i++) {
        const struct flow_event *event = &result->record.events[i];
        if (!event->is_transfer)
            spread(efficiency, n, width, event->begin_s, event->end_s, event->seconds);
    }
    for (size_t i = 0; i < result->n_spans; i++) {
        const struct simulation_span *span = &result->spans[i];
        double left = result->seconds - span->at_s;
        spread(available, n, width, span->at_s, result->seconds, span->used ? left : -left);
    }
    for (unsigned i = 0; i < n; i++)
        efficiency[i] = available[i] > width * 1e-9 ? efficiency[i] / available[i] : 0;
    free(available);
}
