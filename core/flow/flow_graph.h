/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a flow graph, for the files that build, check and run it.
 */
#ifndef CORE_FLOW_GRAPH_H
#define CORE_FLOW_GRAPH_H

#include "core/flow/flow.h"

#define FLOW_NONE FLOW_NO_OPERATION

struct flow_edge {
    unsigned to;
    unsigned collector; /* the merge or stream that the messages meet; set by flow_graph_check() */
    bool returns;       /* no part of the order */
};

struct flow_operation {
    struct flow_operation_spec spec;
    char name[FLOW_MAX_NAME + 1];
    struct flow_edge *edges;
    unsigned n_edges, capacity;
    unsigned replaced_by; /* FLOW_NONE: it is not replaced */
};

struct flow_thread_set {
    struct flow_threads_spec spec;
    char name[FLOW_MAX_NAME + 1];
};

struct flow_graph {
    char name[FLOW_MAX_NAME + 1];
    void *application;
    struct flow_operation *operations;
    unsigned n_operations, operation_capacity;
    struct flow_thread_set *sets;
    unsigned n_sets, set_capacity;
    uint64_t n_threads;
    unsigned entry; /* for which it was checked; FLOW_NONE: not checked since the last change */
};

/* The operation, or the first one of what it was replaced by. */
unsigned flow_resolve(const struct flow_graph *graph, unsigned operation);
/* NULL when there is none. */
const struct flow_edge *flow_find_edge(const struct flow_graph *graph, unsigned from, unsigned to);
static inline bool flow_collects(const struct flow_operation *operation)
{
    return operation->spec.kind == FLOW_MERGE || operation->spec.kind == FLOW_STREAM;
}

#endif
