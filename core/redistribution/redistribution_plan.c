/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan: its messages, and its steps in order.
 */
#include "core/redistribution/redistribution_plan.h"

#include <stdlib.h>

void redistribution_plan_destroy(struct redistribution_plan *plan)
{
    if (!plan)
        return;
    free(plan->messages);
    free(plan->first);
    free(plan->step_cost);
    free(plan);
}

static bool is_kept(const struct redistribution *what, int64_t source, int64_t target)
{
    return what->from_ids && what->from_ids[source] == what->to_ids[target];
}

enum esp_status plan_open(const struct redistribution *what, const struct line *rows, const struct line *cols,
                          struct redistribution_plan **made, struct esp_error *error)
{
    if (rows->n && cols->n > REDISTRIBUTION_MOST_MESSAGES / rows->n)
        return error_set(error, ESP_LIMIT,
                         "expected a redistribution of at most %d messages, found %zu x %zu",
                         REDISTRIBUTION_MOST_MESSAGES, rows->n, cols->n);
    struct redistribution_plan *plan = calloc(1, sizeof *plan);
    if (plan)
        plan->messages = malloc((rows->n * cols->n + 1) * sizeof *plan->messages);
    if (!plan || !plan->messages) {
        redistribution_plan_destroy(plan);
        return error_no_memory(error, "the messages of a redistribution");
    }
    for (size_t i = 0; i < rows->n; i++)
        for (size_t j = 0; j < cols->n; j++) {
            const struct line_message *row = &rows->messages[i], *col = &cols->messages[j];
            int64_t source = block_cyclic_matrix_rank(&what->from, row->source, col->source);
            int64_t target = block_cyclic_matrix_rank(&what->to, row->target, col->target);
            int32_t step = is_kept(what, source, target) ? -1 : row->step * cols->steps + col->step;
            plan->messages[plan->n++] = (struct redistribution_message){(int32_t)source, (int32_t)target,
                                                                        step, row->elements * col->elements};
        }
    plan->summary.steps = rows->steps * cols->steps;
    *made = plan;
    return ESP_OK;
}

struct step_order {
    int64_t cost;
    int32_t step;
};

static int compare_dearer(const void *a, const void *b)
{
    const struct step_order *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? 1 : -1;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* Numbers the steps from dear to cheap and drops empty ones (the caterpillar keeps its own). */
static enum esp_status number_steps(struct redistribution_plan *plan, bool as_they_are)
{
    size_t steps = (size_t)plan->summary.steps;
    struct step_order *order = calloc(steps + 1, sizeof *order);
    int32_t *number = malloc((steps + 1) * sizeof *number);
    plan->step_cost = calloc(steps + 1, sizeof *plan->step_cost);
    enum esp_status status = order && number && plan->step_cost ? ESP_OK : ESP_NO_MEMORY;
    for (size_t i = 0; status == ESP_OK && i < plan->n; i++) {
        const struct redistribution_message *message = &plan->messages[i];
        if (message->step >= 0 && message->elements > order[message->step].cost)
            order[message->step].cost = message->elements;
    }
    for (size_t i = 0; status == ESP_OK && i < steps; i++)
        order[i].step = (int32_t)i;
    if (status == ESP_OK && !as_they_are)
        qsort(order, steps, sizeof *order, compare_dearer);
    int32_t used = 0;
    for (size_t i = 0; status == ESP_OK && i < steps; i++) {
        number[order[i].step] = (int32_t)i;
        plan->step_cost[i] = order[i].cost;
        plan->summary.cost += order[i].cost;
        used += order[i].cost > 0;
    }
    for (size_t i = 0; status == ESP_OK && i < plan->n; i++)
        if (plan->messages[i].step >= 0)
            plan->messages[i].step = number[plan->messages[i].step];
    if (!as_they_are)
        plan->summary.steps = used;
    free(order);
    free(number);
    return status;
}

/* Messages step by step (a counting sort), those that are kept first. */
static enum esp_status sort_messages(struct redistribution_plan *plan)
{
    size_t steps = (size_t)plan->summary.steps;
    size_t *next = calloc(steps + 2, sizeof *next);
    struct redistribution_message *sorted = malloc((plan->n + 1) * sizeof *sorted);
    plan->first = calloc(steps + 2, sizeof *plan->first);
    bool done = next && sorted && plan->first;
    if (done) {
        for (size_t i = 0; i < plan->n; i++)
            next[plan->messages[i].step + 1]++;
        plan->kept = next[0];
        for (size_t step = 0, at = 0; step <= steps; step++) {
            size_t n = next[step];
            next[step] = at;
            at += n;
            plan->first[step] = at;
        }
        for (size_t i = 0; i < plan->n; i++)
            sorted[next[plan->messages[i].step + 1]++] = plan->messages[i];
        free(plan->messages);
        plan->messages = sorted;
        sorted = NULL;
    }
    free(sorted);
    free(next);
    return done ? ESP_OK : ESP_NO_MEMORY;
}

static int32_t used_steps(const struct redistribution_plan *plan)
{
    int32_t used = 0;
    for (int32_t step = 0; step < plan->summary.steps; step++)
        used += plan->step_cost[step] > 0;
    return used;
}

static void summarize(struct redistribution_plan *plan, const struct search *search,
                      enum redistribution_schedule schedule)
{
    struct redistribution_summary *summary = &plan->summary;
    summary->schedule = schedule;
    for (size_t i = 0; i < plan->n; i++)
        *(i < plan->kept ? &summary->kept : &summary->sent) += plan->messages[i].elements;
    summary->messages = plan->n - plan->kept;
    summary->least_steps = search->bounds.degree;
    summary->least_cost = search->bounds.cost;
    summary->seconds =
        search->costs.step_s * used_steps(plan) + search->costs.element_s * (double)summary->cost;
    summary->least_seconds =
        search->costs.step_s * summary->least_steps + search->costs.element_s * (double)summary->least_cost;
}

enum esp_status plan_graph(const struct search *search, const struct redistribution_plan *plan,
                           struct colour_graph *graph, struct esp_error *error)
{
    *graph = (struct colour_graph){malloc((plan->n + 1) * sizeof *graph->edges), 0,
                                   (int32_t)block_cyclic_matrix_ranks(&search->what->from),
                                   (int32_t)block_cyclic_matrix_ranks(&search->what->to)};
    if (!graph->edges)
        return error_no_memory(error, "the messages of a redistribution");
    for (size_t i = 0; i < plan->n; i++) {
        const struct redistribution_message *message = &plan->messages[i];
        if (message->step >= 0)
            graph->edges[graph->n_edges++] = (struct colour_edge){
                .left = message->source, .right = message->target, .weight = message->elements};
    }
    return ESP_OK;
}

/* The bounds are those of the messages, whatever the schedule. */
static enum esp_status find_bounds(struct search *search, const struct redistribution_plan *plan,
                                   struct esp_error *error)
{
    struct colour_graph graph;
    if (search->has_bounds)
        return ESP_OK;
    enum esp_status status = plan_graph(search, plan, &graph, error);
    if (status == ESP_OK)
        status = edge_colouring_bounds(&graph, &search->bounds, error);
    search->has_bounds = status == ESP_OK;
    free(graph.edges);
    return status;
}

enum esp_status plan_close(struct search *search, struct redistribution_plan *plan,
                           enum redistribution_schedule schedule, struct redistribution_plan **made,
                           struct esp_error *error)
{
    enum esp_status status = find_bounds(search, plan, error);
    if (status == ESP_OK && (number_steps(plan, schedule == REDISTRIBUTION_CATERPILLAR) != ESP_OK ||
                             sort_messages(plan) != ESP_OK))
        status = error_no_memory(error, "the steps of a redistribution");
    if (status != ESP_OK) {
        redistribution_plan_destroy(plan);
        return status;
    }
    summarize(plan, search, schedule);
    *made = plan;
    return ESP_OK;
}

const struct redistribution_summary *redistribution_plan_summary(const struct redistribution_plan *plan)
{
    return &plan->summary;
}

const struct redistribution_message *redistribution_plan_step(const struct redistribution_plan *plan,
                                                              int32_t step, size_t *n)
{
    size_t begin = step < 0 ? 0 : plan->first[step], end = step < 0 ? plan->kept : plan->first[step + 1];
    *n = end - begin;
    return plan->messages + begin;
}

int64_t redistribution_plan_step_cost(const struct redistribution_plan *plan, int32_t step)
{
    return plan->step_cost[step];
}
