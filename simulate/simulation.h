/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a flow graph on a simulated platform, in virtual time.
 *
 * The graph's own code and the run's code (core/flow/) decide what happens; the platform (simulate/star.h)
 * decides how long it takes. The same graph and platform give the same result on every machine.
 */
#ifndef SIMULATE_SIMULATION_H
#define SIMULATE_SIMULATION_H

#include "core/flow/flow_record.h"
#include "simulate/star.h"

#define SIMULATION_MOST_STEPS 50000000 /* computations and transfers of one simulation */

/* A node was taken or released. */
struct simulation_span {
    double at_s;
    unsigned node;
    bool used;
};

struct simulation_spec {
    struct flow_graph *graph; /* checked for `entry` */
    unsigned entry;
    struct flow_message message; /* the first one */
    const struct star_spec *platform;
    const uint64_t *memory_bytes; /* of each node, or NULL */
    bool events;                  /* keep all computations and transfers; otherwise the result has none */
};

struct simulation_result {
    double seconds; /* when the last job ended */
    double work_s;  /* all that operations computed, at speed 1 */
    double node_s;  /* nodes in use, summed over the time */
    struct flow_counts counts;
    unsigned n_nodes, n_operations;
    struct star_use *use;      /* of each node */
    uint64_t *peak_bytes;      /* of each node */
    uint64_t *instances;       /* of each operation */
    struct flow_record record; /* empty without `events` */
    struct simulation_span *spans;
    size_t n_spans;
};

/* ESP_INVALID and the like with a text when the graph does not end well; *result is empty then. */
enum esp_status simulation_run(const struct simulation_spec *spec, struct simulation_result *result,
                               struct esp_error *error);
void simulation_clear(struct simulation_result *result);

/* The dynamic efficiency: what was computed in each of n equal intervals, divided by the processors in use
 * there. Takes a result with events; a computation counts evenly from its begin to its end. */
void simulation_efficiency(const struct simulation_result *result, unsigned n, double *efficiency);

#endif
