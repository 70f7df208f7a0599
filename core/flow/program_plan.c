/* SPDX-License-Identifier: Apache-2.0 */
#include "core/flow/program_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- readers ---- */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_readers(const void *a, const void *b, void *plan_)
{
    const struct flow_plan *plan = plan_;
    const struct task_reader *x = a, *y = b;
    const struct task *to_x = &plan->tasks[x->task], *to_y = &plan->tasks[y->task];
    int order = compare(x->output, y->output);
    order = order ? order : compare(to_x->threads, to_y->threads);
    order = order ? order : compare(to_x->thread, to_y->thread);
    order = order ? order : compare(x->task, y->task);
    return order ? order : compare(x->position, y->position);
}

/* Whether one message serves both: the same output for the same thread. */
static bool together(const struct flow_plan *plan, const struct task_reader *a, const struct task_reader *b)
{
    const struct task *x = &plan->tasks[a->task], *y = &plan->tasks[b->task];
    return a->output == b->output && x->threads == y->threads && x->thread == y->thread;
}

static enum esp_status find_readers(struct flow_plan *plan, struct esp_error *error)
{
    plan->readers = malloc(((size_t)plan->n_inputs + 1) * sizeof *plan->readers);
    if (!plan->readers)
        return error_no_memory(error, "the plan of a flow");
    for (uint32_t t = 0; t < plan->n_tasks; t++)
        for (uint32_t i = 0; i < plan->tasks[t].n_inputs; i++)
            plan->tasks[plan->inputs[plan->tasks[t].first_input + i].producer].n_readers++;
    uint32_t next = 0;
    for (uint32_t t = 0; t < plan->n_tasks; t++) {
        plan->tasks[t].first_reader = next;
        next += plan->tasks[t].n_readers;
        plan->tasks[t].n_readers = 0;
    }
    for (uint32_t t = 0; t < plan->n_tasks; t++)
        for (uint32_t i = 0; i < plan->tasks[t].n_inputs; i++) {
            const struct task_input *input = &plan->inputs[plan->tasks[t].first_input + i];
            struct task *producer = &plan->tasks[input->producer];
            plan->readers[producer->first_reader + producer->n_readers++] =
                (struct task_reader){.task = t, .position = i, .output = input->output};
        }
    for (uint32_t t = 0; t < plan->n_tasks; t++)
        qsort_r(&plan->readers[plan->tasks[t].first_reader], plan->tasks[t].n_readers, sizeof *plan->readers,
                compare_readers, plan);
    return ESP_OK;
}

/* ---- what operations do ---- */

static unsigned route(void *application, const struct flow_message *message)
{
    const struct flow_plan *plan = application;
    return plan->tasks[message->index[PLAN_INDEX_TASK]].thread;
}

static int64_t group(void *application, const struct flow_message *message)
{
    (void)application;
    return message->index[PLAN_INDEX_TASK];
}

static uint64_t memory(void *application, const struct flow_message *message)
{
    const struct flow_plan *plan = application;
    return plan->tasks[message->index[PLAN_INDEX_TASK]].memory_bytes;
}

static void send(struct flow_call *call, const struct flow_plan *plan, uint32_t reader, uint64_t bytes,
                 int32_t on)
{
    const struct task_reader *to = &plan->readers[reader];
    struct flow_message message = {
        .key = to->position,
        .bytes = bytes,
        .index = {[PLAN_INDEX_TASK] = (int32_t)to->task, [PLAN_INDEX_READER] = on}};
    flow_post(call, plan->tasks[to->task].operation, &message);
}

/* One message for each thread that wants an output; the first task there hands it on to the others. */
static void send_outputs(struct flow_call *call, const struct flow_plan *plan, const struct task *task)
{
    for (uint32_t r = task->first_reader; r < task->first_reader + task->n_readers; r++) {
        const struct task_reader *reader = &plan->readers[r];
        if (r > task->first_reader && together(plan, reader - 1, reader))
            continue;
        uint64_t bytes = reader->output == PLAN_CONTROL ? PLAN_CONTROL_BYTES : task->bytes[reader->output];
        send(call, plan, r, bytes, (int32_t)r);
    }
}

static void hand_on(struct flow_call *call, const struct flow_plan *plan, const struct task *task,
                    int32_t reader)
{
    if (reader < 0)
        return;
    /* The producer's readers end where the next task's begin. */
    uint32_t position = plan->readers[reader].position;
    const struct task *producer = &plan->tasks[plan->inputs[task->first_input + position].producer];
    uint32_t end = producer->first_reader + producer->n_readers;
    for (uint32_t r = (uint32_t)reader + 1;
         r < end && together(plan, &plan->readers[reader], &plan->readers[r]); r++)
        send(call, plan, r, 0, -1);
}

static void receive(struct flow_call *call, const struct flow_message *message)
{
    struct flow_plan *plan = flow_application(call);
    struct task *task = &plan->tasks[message->index[PLAN_INDEX_TASK]];
    if (task->n_inputs)
        hand_on(call, plan, task, message->index[PLAN_INDEX_READER]);
    if (++task->received < task->n_inputs)
        return;
    if (plan->spec.calls && task->change.kind == STATEMENT_LET && task != plan->tasks)
        flow_work(call, NULL, task->seconds, (uint64_t)(task - plan->tasks));
    else
        flow_compute(call, NULL, task->seconds);
    if (task->change.kind == STATEMENT_KILL)
        flow_kill(call, task->change.threads, task->change.n);
    else if (task->change.kind == STATEMENT_TAKE)
        flow_take(call, task->change.threads, task->change.n);
    send_outputs(call, plan, task);
    flow_finish(call);
}

/* ---- the graph ---- */

/* "multiply[3,1]": the operation's name and the values of `for` around the statement. */
static void name_operation(const struct flow_plan *plan, const struct planned *planned, char *name,
                           size_t size)
{
    static const char *const names[] = {[STATEMENT_INPUT] = "input",
                                        [STATEMENT_RESULT] = "result",
                                        [STATEMENT_LET] = "start",
                                        [STATEMENT_KILL] = "kill",
                                        [STATEMENT_TAKE] = "take"};
    const struct statement *statement = planned->key.statement;
    const char *base = statement->kind == STATEMENT_CALL
                           ? plan->program->operations[statement->operation]->name
                           : names[statement->kind];
    size_t length = (size_t)snprintf(name, size, "%s", base);
    for (unsigned i = 0; i < planned->n_variables && length + 1 < size; i++)
        length += (size_t)snprintf(name + length, size - length, "%s%" PRId64 "%s", i ? "," : "[",
                                   planned->key.variables[i], i + 1 == planned->n_variables ? "]" : "");
    name[size - 1] = 0;
}

struct edge_key {
    uint32_t from, to;
    bool returns;
};

static int compare_edges(const void *a, const void *b)
{
    const struct edge_key *x = a, *y = b;
    int order = compare(x->from, y->from);
    order = order ? order : compare(x->to, y->to);
    return order ? order : compare(x->returns, y->returns);
}

/* Edges between operations: one for each pair that a message may pass between. An edge that only the order or
 * a hand-on needs is no part of the graph's own order. */
static enum esp_status add_edges(struct flow_plan *plan, struct esp_error *error)
{
    size_t n = 0;
    struct edge_key *edges = malloc((2 * (size_t)plan->n_inputs + 1) * sizeof *edges);
    if (!edges)
        return error_no_memory(error, "the plan of a flow");
    for (uint32_t t = 0; t < plan->n_tasks; t++) {
        const struct task *task = &plan->tasks[t];
        uint32_t first = task->first_reader; /* of those that one message serves */
        for (uint32_t r = first; r < task->first_reader + task->n_readers; r++) {
            const struct task_reader *reader = &plan->readers[r];
            const struct task *to = &plan->tasks[reader->task];
            bool orders = reader->output != PLAN_CONTROL || t == 0 || to->change.kind != STATEMENT_LET;
            edges[n++] = (struct edge_key){task->operation, to->operation, !orders};
            if (!together(plan, &plan->readers[first], reader))
                first = r;
            else if (r > first)
                edges[n++] =
                    (struct edge_key){plan->tasks[plan->readers[first].task].operation, to->operation, true};
        }
    }
    qsort(edges, n, sizeof *edges, compare_edges);
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < n && status == ESP_OK; i++)
        if (i == 0 || edges[i].from != edges[i - 1].from || edges[i].to != edges[i - 1].to)
            status = (edges[i].returns ? flow_add_return_edge : flow_add_edge)(plan->graph, edges[i].from,
                                                                               edges[i].to, error);
    free(edges);
    return status;
}

static enum esp_status add_threads(struct flow_plan *plan, struct esp_error *error)
{
    for (uint32_t i = 0; i <= plan->anywhere; i++) {
        const struct planned_threads *threads = &plan->threads[i];
        if (threads->most == 0)
            continue; /* the last set */
        struct flow_threads_spec spec = {.name = i == plan->anywhere ? "anywhere"
                                                 : i == plan->client ? "client"
                                                                     : plan->program->threads[i].name,
                                         .n = threads->most,
                                         .reserve = threads->most - threads->n,
                                         .nodes = threads->nodes,
                                         .state_bytes = threads->state_bytes};
        unsigned set;
        enum esp_status status = flow_add_threads(plan->graph, &spec, &set, error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

static enum esp_status add_operations(struct flow_plan *plan, struct esp_error *error)
{
    plan->planned = arena_alloc(&plan->arena, plan->n_planned * sizeof(struct planned *));
    if (!plan->planned)
        return error_no_memory(error, "the plan of a flow");
    for (struct planned *planned = plan->by_key; planned; planned = planned->hh.next)
        plan->planned[planned->operation] = planned;
    for (uint32_t i = 0; i < plan->n_planned; i++) {
        char name[FLOW_MAX_NAME + 1];
        unsigned operation;
        name_operation(plan, plan->planned[i], name, sizeof name);
        struct flow_operation_spec spec = {.name = name,
                                           .kind = FLOW_STREAM,
                                           .threads = plan->planned[i]->key.threads,
                                           .route = route,
                                           .receive = receive,
                                           .memory = memory,
                                           .fixed = true,
                                           .single = i == 0,
                                           .group = i == 0 ? NULL : group};
        enum esp_status status = flow_add_operation(plan->graph, &spec, &operation, error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

enum esp_status plan_build(struct flow_plan *plan, struct esp_error *error)
{
    enum esp_status status = find_readers(plan, error);
    if (status == ESP_OK)
        status = flow_graph_create(plan->program->name, plan, &plan->graph, error);
    if (status == ESP_OK)
        status = add_threads(plan, error);
    if (status == ESP_OK)
        status = add_operations(plan, error);
    if (status == ESP_OK)
        status = add_edges(plan, error);
    return status == ESP_OK ? flow_graph_check(plan->graph, 0, error) : status;
}

/* ---- counts ---- */

/* Messages that a task sends. */
static uint32_t n_outputs(const struct flow_plan *plan, const struct task *task)
{
    uint32_t n = 0;
    for (uint32_t r = task->first_reader; r < task->first_reader + task->n_readers; r++)
        n += r == task->first_reader || !together(plan, &plan->readers[r - 1], &plan->readers[r]);
    return n;
}

static enum esp_status count(struct flow_plan *plan, struct esp_error *error)
{
    struct flow_plan_counts *counts = &plan->counts;
    double *ends = calloc((size_t)plan->n_tasks + 1, sizeof *ends);
    if (!ends)
        return error_no_memory(error, "the plan of a flow");
    counts->tasks = plan->n_tasks - 1; /* the start is no operation */
    for (uint32_t t = 1; t < plan->n_tasks; t++) {
        const struct task *task = &plan->tasks[t];
        uint32_t outputs = n_outputs(plan, task);
        counts->edges += task->n_inputs;
        enum flow_kind kind = task->n_inputs > 1 ? (outputs > 1 ? FLOW_STREAM : FLOW_MERGE)
                                                 : (outputs > 1 ? FLOW_SPLIT : FLOW_LEAF);
        counts->by_kind[kind]++;
        for (unsigned i = 0; i < task->n_outputs; i++)
            counts->bytes += task->bytes[i];
        counts->seconds += task->seconds;
        if (task->memory_bytes > counts->most_memory_bytes)
            counts->most_memory_bytes = task->memory_bytes;
        /* A producer always comes before its readers. */
        for (uint32_t i = 0; i < task->n_inputs; i++) {
            double end = ends[plan->inputs[task->first_input + i].producer];
            ends[t] = end > ends[t] ? end : ends[t];
        }
        ends[t] += task->seconds;
        counts->critical_s = ends[t] > counts->critical_s ? ends[t] : counts->critical_s;
    }
    free(ends);
    return ESP_OK;
}

/* ---- a plan as a whole ---- */

enum esp_status flow_plan_create(struct flow_program *program, const struct flow_plan_spec *spec,
                                 struct flow_plan **plan, struct esp_error *error)
{
    struct esp_error own;
    struct esp_error *filled = error ? error : &own;
    *plan = NULL;
    if (spec->n_nodes == 0 || spec->n_nodes > FLOW_MAX_NODES)
        return error_set(error, ESP_INVALID, "expected 1 to %d nodes, found %u", FLOW_MAX_NODES,
                         spec->n_nodes);
    struct flow_plan *made = calloc(1, sizeof *made);
    if (!made)
        return error_no_memory(error, "the plan of a flow");
    made->program = program;
    made->spec = *spec;
    made->client = program->n_threads;
    made->anywhere = made->client + 1;
    enum esp_status status = plan_unfold(made, filled);
    if (status == ESP_OK)
        status = plan_build(made, filled);
    if (status == ESP_OK)
        status = count(made, filled);
    if (status != ESP_OK) {
        flow_plan_destroy(made);
        return status;
    }
    *plan = made;
    return ESP_OK;
}

void flow_plan_destroy(struct flow_plan *plan)
{
    if (!plan)
        return;
    flow_graph_destroy(plan->graph);
    HASH_CLEAR(hh, plan->by_key);
    free(plan->tasks);
    free(plan->inputs);
    free(plan->readers);
    arena_clear(&plan->arena);
    free(plan);
}

struct flow_graph *flow_plan_graph(struct flow_plan *plan)
{
    return plan->graph;
}

unsigned flow_plan_entry(const struct flow_plan *plan)
{
    (void)plan;
    return 0;
}

void flow_plan_counts(const struct flow_plan *plan, struct flow_plan_counts *counts)
{
    *counts = plan->counts;
}
