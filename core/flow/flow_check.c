/* SPDX-License-Identifier: Apache-2.0 */
#include "core/flow/flow_graph.h"
#include "util/text.h"

#include <stdlib.h>

#define MOST_NAMED 8 /* operations that an error names */

struct checking {
    struct flow_graph *graph;
    struct esp_error *error;
    unsigned *order; /* topological */
    unsigned n_ordered;
    unsigned *entering; /* edges that lead to an operation from one that is not in the order yet */
    unsigned *met;      /* the merge or stream that a message to this operation meets, this one included */
};

/* From an operation that nothing orders, each step back stays among such operations, so a cycle closes. */
static enum esp_status describe_cycle(struct checking *checking)
{
    const struct flow_graph *graph = checking->graph;
    unsigned *before = checking->met;
    for (unsigned i = 0; i < graph->n_operations; i++)
        before[i] = FLOW_NONE;
    unsigned at = FLOW_NONE;
    for (unsigned i = 0; i < graph->n_operations; i++)
        for (unsigned e = 0; checking->entering[i] && e < graph->operations[i].n_edges; e++)
            if (!graph->operations[i].edges[e].returns &&
                checking->entering[graph->operations[i].edges[e].to])
                before[at = graph->operations[i].edges[e].to] = i;
    for (unsigned i = 0; i < graph->n_operations; i++)
        at = before[at];
    char names[300];
    struct text text;
    text_open(&text, names, sizeof names);
    unsigned start = at, n = 0;
    do {
        if (n < MOST_NAMED)
            text_printf(&text, "'%s' after ", graph->operations[at].name);
        at = before[at];
        n++;
    } while (at != start);
    text_printf(&text, "%s'%s'", n > MOST_NAMED ? "... " : "", graph->operations[start].name);
    return error_set(checking->error, ESP_INVALID, "the graph has a cycle of %u operation%s: %s", n,
                     n == 1 ? "" : "s", names);
}

static enum esp_status order_operations(struct checking *checking)
{
    const struct flow_graph *graph = checking->graph;
    unsigned n_present = 0;
    for (unsigned i = 0; i < graph->n_operations; i++)
        for (unsigned e = 0; e < graph->operations[i].n_edges; e++)
            checking->entering[graph->operations[i].edges[e].to] += !graph->operations[i].edges[e].returns;
    for (unsigned i = 0; i < graph->n_operations; i++) {
        n_present++;
        if (checking->entering[i] == 0)
            checking->order[checking->n_ordered++] = i;
    }
    for (unsigned next = 0; next < checking->n_ordered; next++) {
        const struct flow_operation *operation = &graph->operations[checking->order[next]];
        for (unsigned e = 0; e < operation->n_edges; e++)
            if (!operation->edges[e].returns && --checking->entering[operation->edges[e].to] == 0)
                checking->order[checking->n_ordered++] = operation->edges[e].to;
    }
    return checking->n_ordered == n_present ? ESP_OK : describe_cycle(checking);
}

static enum esp_status check_reachable(struct checking *checking, unsigned entry)
{
    const struct flow_graph *graph = checking->graph;
    unsigned *reached = checking->met;
    for (unsigned i = 0; i < graph->n_operations; i++)
        reached[i] = i == entry;
    for (unsigned k = 0; k < checking->n_ordered; k++) {
        unsigned i = checking->order[k];
        const struct flow_operation *operation = &graph->operations[i];
        if (operation->replaced_by == FLOW_NONE && !reached[i])
            return error_set(checking->error, ESP_INVALID, "operation '%s' cannot be reached from '%s'",
                             operation->name, graph->operations[entry].name);
        for (unsigned e = 0; e < operation->n_edges; e++)
            reached[operation->edges[e].to] = 1;
    }
    return ESP_OK;
}

/* What the messages along all edges of an operation meet: FLOW_NONE when they meet different ones, or none.
 */
static unsigned common_collector(const struct flow_operation *operation)
{
    unsigned met = operation->n_edges ? operation->edges[0].collector : FLOW_NONE;
    for (unsigned e = 1; e < operation->n_edges; e++)
        if (operation->edges[e].collector != met)
            return FLOW_NONE;
    return met;
}

/* What a message meets after the merge that ends a split. */
static unsigned behind_split(const struct flow_graph *graph, const struct flow_operation *split)
{
    unsigned met = common_collector(split);
    while (met != FLOW_NONE && graph->operations[met].spec.kind == FLOW_STREAM)
        met = common_collector(&graph->operations[met]);
    return met == FLOW_NONE ? FLOW_NONE : common_collector(&graph->operations[met]);
}

/* Backwards through the order: what the edges of an operation lead to is known before the operation. */
static enum esp_status match_collectors(struct checking *checking)
{
    struct flow_graph *graph = checking->graph;
    for (unsigned k = checking->n_ordered; k-- > 0;) {
        unsigned i = checking->order[k];
        struct flow_operation *operation = &graph->operations[i];
        for (unsigned e = 0; e < operation->n_edges; e++) {
            struct flow_edge *edge = &operation->edges[e];
            /* What a return edge leads to may come later in this loop, but it is a stream with groups. */
            edge->collector = edge->returns ? edge->to : checking->met[edge->to];
            bool opens = operation->spec.kind == FLOW_SPLIT || operation->spec.kind == FLOW_STREAM;
            if (opens && edge->collector == FLOW_NONE)
                return error_set(checking->error, ESP_INVALID,
                                 "the messages of the %s '%s' to '%s' never meet one merge or stream",
                                 flow_kind_name(operation->spec.kind), operation->name,
                                 graph->operations[edge->to].name);
        }
        switch (operation->spec.kind) {
        case FLOW_LEAF:
            checking->met[i] = common_collector(operation);
            break;
        case FLOW_SPLIT:
            if (operation->n_edges == 0 && operation->replaced_by == FLOW_NONE)
                return error_set(checking->error, ESP_INVALID, "the split '%s' leads nowhere",
                                 operation->name);
            checking->met[i] = behind_split(graph, operation);
            break;
        default:
            checking->met[i] = i;
        }
    }
    return ESP_OK;
}

enum esp_status flow_graph_check(struct flow_graph *graph, unsigned entry, struct esp_error *error)
{
    graph->entry = FLOW_NONE;
    entry = flow_resolve(graph, entry);
    if (entry >= graph->n_operations)
        return error_set(error, ESP_INVALID, "expected an operation to begin with, found number %u of %u",
                         entry, graph->n_operations);
    unsigned n = graph->n_operations;
    struct checking checking = {.graph = graph, .error = error};
    unsigned *memory = calloc(3 * (size_t)n, sizeof *memory);
    if (!memory)
        return error_no_memory(error, "the check of a flow graph");
    checking.order = memory;
    checking.entering = memory + n;
    checking.met = memory + 2 * (size_t)n;
    enum esp_status status = order_operations(&checking);
    if (status == ESP_OK)
        status = check_reachable(&checking, entry);
    if (status == ESP_OK && flow_collects(&graph->operations[entry]) && !graph->operations[entry].spec.single)
        status = error_set(error, ESP_INVALID, "the graph begins with the %s '%s', which must be single",
                           flow_kind_name(graph->operations[entry].spec.kind), graph->operations[entry].name);
    if (status == ESP_OK)
        status = match_collectors(&checking);
    if (status == ESP_OK)
        graph->entry = entry;
    free(memory);
    return status;
}
