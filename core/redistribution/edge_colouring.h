/* SPDX-License-Identifier: Apache-2.0
 *
 * Colours the edges of a bipartite graph (with multiple edges between two nodes): edges that meet in a
 * node get different colours. A colour is a step of a communication schedule, an edge a message, its
 * weight the message's length; the cost of a colour is the weight of its heaviest edge.
 *
 * König's theorem: the maximum degree is the least number of colours, and suffices. Minimising the sum of
 * the colours' costs is NP-hard, so a heuristic is used: edges are inserted from heavy to light, each into
 * an open colour that is free at both ends. If there is none, two colours are swapped along an alternating
 * (Kempe) chain, preferably without increasing the cost of either. Several orders are tried. The lower
 * bound says how far from the optimum the result can be at most.
 *
 * Source: "Scheduling Block-Cyclic Array Redistribution", sections E.4.4 and E.4.5, which extracts
 * matchings of maximum weight one after the other; inserting edges costs O(edges x chain) instead of
 * O(nodes^4). */
#ifndef CORE_EDGE_COLOURING_H
#define CORE_EDGE_COLOURING_H

#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct colour_edge {
    int32_t left, right; /* nodes, 0 <= left < n_left, 0 <= right < n_right */
    int32_t colour;      /* out: 0 ..., most costly colours first */
    int64_t weight;      /* >= 1 */
};

struct colour_graph {
    struct colour_edge *edges;
    size_t n_edges;
    int32_t n_left, n_right;
};

/* Lower bounds for any colouring. */
struct colour_bounds {
    int32_t degree; /* colours: the maximum degree */
    int64_t cost; /* sum of costs: at least degree(edges of weight >= w) colours cost w or more, for each w */
};

enum esp_status edge_colouring_bounds(const struct colour_graph *graph, struct colour_bounds *bounds,
                                      struct esp_error *error);

struct colour_options {
    bool fewest;       /* use exactly the maximum degree of colours; otherwise more if that is cheaper */
    int64_t extra;     /* without `fewest`: cost of a colour beyond the maximum degree besides its weight */
    uint32_t attempts; /* orders to try, >= 1; ends early when the lower bound is reached */
};

struct colour_result {
    int32_t colours;
    int64_t cost;
};

/* Sets the edges' colours. The same input gives the same colours. ESP_NO_MEMORY, ESP_LIMIT (tables beyond
 * 2^28 entries). Any thread. */
enum esp_status edge_colouring(const struct colour_graph *graph, const struct colour_options *options,
                               struct colour_result *result, struct esp_error *error);

#endif
