/* SPDX-License-Identifier: Apache-2.0 */
#include "core/flow/flow_graph.h"

#include <stdlib.h>
#include <string.h>

enum esp_status flow_graph_create(const char *name, void *application, struct flow_graph **graph,
                                  struct esp_error *error)
{
    *graph = NULL;
    if (strlen(name) > FLOW_MAX_NAME)
        return error_set(error, ESP_INVALID, "the name of a flow graph has at most %d characters, found %zu",
                         FLOW_MAX_NAME, strlen(name));
    struct flow_graph *made = calloc(1, sizeof *made);
    if (!made)
        return error_no_memory(error, "a flow graph");
    strcpy(made->name, name);
    made->application = application;
    made->entry = FLOW_NONE;
    *graph = made;
    return ESP_OK;
}

void flow_graph_destroy(struct flow_graph *graph)
{
    if (!graph)
        return;
    for (unsigned i = 0; i < graph->n_operations; i++)
        free(graph->operations[i].edges);
    free(graph->operations);
    free(graph->sets);
    free(graph);
}

/* Makes room for one more item. False without memory. */
static bool grow(void **items, unsigned n, unsigned *capacity, size_t size)
{
    if (n < *capacity)
        return true;
    unsigned wanted = *capacity ? 2 * *capacity : 8;
    void *moved = realloc(*items, wanted * size);
    if (!moved)
        return false;
    *items = moved;
    *capacity = wanted;
    return true;
}

static enum esp_status check_name(const char *what, const char *name, struct esp_error *error)
{
    if (!name || !*name)
        return error_set(error, ESP_INVALID, "expected a name for %s, found none", what);
    if (strlen(name) > FLOW_MAX_NAME)
        return error_set(error, ESP_INVALID,
                         "the name of %s has at most %d characters, found '%.20s...' with %zu", what,
                         FLOW_MAX_NAME, name, strlen(name));
    return ESP_OK;
}

enum esp_status flow_add_threads(struct flow_graph *graph, const struct flow_threads_spec *spec,
                                 unsigned *set, struct esp_error *error)
{
    enum esp_status status = check_name("threads", spec->name, error);
    if (status != ESP_OK)
        return status;
    for (unsigned i = 0; i < graph->n_sets; i++)
        if (strcmp(graph->sets[i].name, spec->name) == 0)
            return error_set(error, ESP_INVALID, "there are two sets of threads '%s'", spec->name);
    if (spec->reserve && spec->reserve >= spec->n)
        return error_set(error, ESP_INVALID,
                         "threads '%s': %u of %u are in reserve, expected at least one that is not",
                         spec->name, spec->reserve, spec->n);
    if (spec->n == 0 || graph->n_threads + spec->n > FLOW_MAX_THREADS)
        return error_set(error, ESP_LIMIT, "threads '%s': expected 1 to %llu threads, found %u", spec->name,
                         (unsigned long long)(FLOW_MAX_THREADS - graph->n_threads), spec->n);
    void *sets = graph->sets;
    bool grown = grow(&sets, graph->n_sets, &graph->set_capacity, sizeof *graph->sets);
    graph->sets = sets;
    if (!grown)
        return error_no_memory(error, "threads of a flow graph");
    struct flow_thread_set *added = &graph->sets[graph->n_sets];
    added->spec = *spec;
    strcpy(added->name, spec->name);
    graph->n_threads += spec->n;
    *set = graph->n_sets++;
    return ESP_OK;
}

static enum esp_status check_operation(const struct flow_graph *graph, const struct flow_operation_spec *spec,
                                       struct esp_error *error)
{
    enum esp_status status = check_name("an operation", spec->name, error);
    if (status != ESP_OK)
        return status;
    if (graph->n_operations == FLOW_MAX_OPERATIONS)
        return error_set(error, ESP_LIMIT, "a flow graph has at most %d operations", FLOW_MAX_OPERATIONS);
    if (spec->threads >= graph->n_sets)
        return error_set(error, ESP_INVALID, "operation '%s': there is no set of threads number %u",
                         spec->name, spec->threads);
    if (spec->kind != FLOW_MERGE && !spec->receive)
        return error_set(error, ESP_INVALID, "operation '%s': a %s needs receive()", spec->name,
                         flow_kind_name(spec->kind));
    if ((spec->kind == FLOW_MERGE) != (spec->complete != NULL))
        return error_set(error, ESP_INVALID, "operation '%s': a merge and no other operation has complete()",
                         spec->name);
    if (spec->window && spec->kind != FLOW_SPLIT && spec->kind != FLOW_STREAM)
        return error_set(error, ESP_INVALID, "operation '%s': only a split or a stream has a window",
                         spec->name);
    if (spec->single && spec->kind != FLOW_MERGE && spec->kind != FLOW_STREAM)
        return error_set(error, ESP_INVALID, "operation '%s': only a merge or a stream is single",
                         spec->name);
    if (spec->group && (spec->kind != FLOW_STREAM || spec->single))
        return error_set(error, ESP_INVALID, "operation '%s': only a stream that is not single has groups",
                         spec->name);
    return ESP_OK;
}

enum esp_status flow_add_operation(struct flow_graph *graph, const struct flow_operation_spec *spec,
                                   unsigned *operation, struct esp_error *error)
{
    enum esp_status status = check_operation(graph, spec, error);
    if (status != ESP_OK)
        return status;
    void *operations = graph->operations;
    bool grown =
        grow(&operations, graph->n_operations, &graph->operation_capacity, sizeof *graph->operations);
    graph->operations = operations;
    if (!grown)
        return error_no_memory(error, "operations of a flow graph");
    struct flow_operation *added = &graph->operations[graph->n_operations];
    *added = (struct flow_operation){.spec = *spec, .replaced_by = FLOW_NONE};
    strcpy(added->name, spec->name);
    graph->entry = FLOW_NONE;
    *operation = graph->n_operations++;
    return ESP_OK;
}

/* Where the edge to an operation is, or would be: edges are in the order of what they lead to. */
static unsigned edge_place(const struct flow_operation *operation, unsigned to)
{
    unsigned low = 0, high = operation->n_edges;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (operation->edges[middle].to < to)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct flow_edge *flow_find_edge(const struct flow_graph *graph, unsigned from, unsigned to)
{
    const struct flow_operation *operation = &graph->operations[from];
    unsigned place = edge_place(operation, to);
    return place < operation->n_edges && operation->edges[place].to == to ? &operation->edges[place] : NULL;
}

static enum esp_status add_edge(struct flow_graph *graph, unsigned from, unsigned to, bool returns,
                                struct esp_error *error)
{
    if (from >= graph->n_operations || to >= graph->n_operations)
        return error_set(error, ESP_INVALID,
                         "an edge from operation %u to operation %u: there are %u operations", from, to,
                         graph->n_operations);
    struct flow_operation *operation = &graph->operations[from];
    if (flow_find_edge(graph, from, to))
        return error_set(error, ESP_INVALID, "there are two edges from '%s' to '%s'", operation->name,
                         graph->operations[to].name);
    void *edges = operation->edges;
    bool grown = grow(&edges, operation->n_edges, &operation->capacity, sizeof *operation->edges);
    operation->edges = edges;
    if (!grown)
        return error_no_memory(error, "edges of a flow graph");
    unsigned at = edge_place(operation, to);
    memmove(&operation->edges[at + 1], &operation->edges[at],
            (operation->n_edges++ - at) * sizeof *operation->edges);
    operation->edges[at] = (struct flow_edge){.to = to, .collector = FLOW_NONE, .returns = returns};
    graph->entry = FLOW_NONE;
    return ESP_OK;
}

enum esp_status flow_add_edge(struct flow_graph *graph, unsigned from, unsigned to, struct esp_error *error)
{
    return add_edge(graph, from, to, false, error);
}

enum esp_status flow_add_return_edge(struct flow_graph *graph, unsigned from, unsigned to,
                                     struct esp_error *error)
{
    return add_edge(graph, from, to, true, error);
}

enum esp_status flow_replace(struct flow_graph *graph, unsigned operation, unsigned first, unsigned last,
                             struct esp_error *error)
{
    if (operation >= graph->n_operations || first >= graph->n_operations || last >= graph->n_operations ||
        operation == first || operation == last)
        return error_set(error, ESP_INVALID, "operation %u cannot be replaced by operations %u to %u",
                         operation, first, last);
    struct flow_operation *replaced = &graph->operations[operation];
    if (replaced->replaced_by != FLOW_NONE)
        return error_set(error, ESP_INVALID, "operation '%s' is already replaced", replaced->name);
    for (unsigned i = 0; i < replaced->n_edges; i++) {
        enum esp_status status = flow_add_edge(graph, last, replaced->edges[i].to, error);
        if (status != ESP_OK)
            return status;
    }
    replaced->n_edges = 0;
    replaced->replaced_by = first;
    for (unsigned i = 0; i < graph->n_operations; i++) {
        struct flow_operation *before = &graph->operations[i];
        unsigned place = edge_place(before, operation);
        if (place == before->n_edges || before->edges[place].to != operation)
            continue;
        bool returns = before->edges[place].returns;
        memmove(&before->edges[place], &before->edges[place + 1],
                (--before->n_edges - place) * sizeof *before->edges);
        enum esp_status status = add_edge(graph, i, first, returns, error);
        if (status != ESP_OK)
            return status;
    }
    graph->entry = FLOW_NONE;
    return ESP_OK;
}

unsigned flow_resolve(const struct flow_graph *graph, unsigned operation)
{
    while (operation < graph->n_operations && graph->operations[operation].replaced_by != FLOW_NONE)
        operation = graph->operations[operation].replaced_by;
    return operation;
}

unsigned flow_n_operations(const struct flow_graph *graph)
{
    return graph->n_operations;
}

const char *flow_operation_name(const struct flow_graph *graph, unsigned operation)
{
    return operation < graph->n_operations ? graph->operations[operation].name : "none";
}

enum flow_kind flow_operation_kind(const struct flow_graph *graph, unsigned operation)
{
    return graph->operations[operation].spec.kind;
}

unsigned flow_n_thread_sets(const struct flow_graph *graph)
{
    return graph->n_sets;
}

const char *flow_threads_name(const struct flow_graph *graph, unsigned set)
{
    return graph->sets[set].name;
}

const char *flow_kind_name(enum flow_kind kind)
{
    static const char *const names[] = {
        [FLOW_LEAF] = "leaf", [FLOW_SPLIT] = "split", [FLOW_MERGE] = "merge", [FLOW_STREAM] = "stream"};
    return names[kind];
}
