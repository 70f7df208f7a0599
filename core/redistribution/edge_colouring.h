/* SPDX-License-Identifier: Apache-2.0
 *
 * Colours for the edges of a bipartite graph (edges between the same two nodes may repeat): edges that meet
 * in a node get different colours. A colour is a step of a communication schedule, an edge a message, its
 * weight the message's length; a colour costs what its heaviest edge weighs.
 *
 * König's theorem: as many colours as the maximum degree suffice, and no fewer. To make the sum of the
 * colours' costs least is NP-hard, so it is sought: edges enter from heavy to light, each into a colour that
 * is open already and free at both ends; where none is, two colours change places along an alternating
 * (Kempe) chain, preferably without making either dearer; and several orders are tried. The lower bound tells
 * how far from the best the result can be at most.
 *
 * Source: "Scheduling Block-Cyclic Array Redistribution", sections E.4.4 and E.4.5, which extracts matchings
 * of maximum weight one after the other; inserting edges costs O(edges x chain) in place of O(nodes^4).
 */
#ifndef CORE_EDGE_COLOURING_H
#define CORE_EDGE_COLOURING_H

#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct colour_edge {
    int32_t left, right; /* nodes, 0 <= left < n_left, 0 <= right < n_right */
    int32_t colour;      /* out: 0 ..., dearest colours first */
    int64_t weight;      /* >= 1 */
};

struct colour_graph {
    struct colour_edge *edges;
    size_t n_edges;
    int32_t n_left, n_right;
};

/* What no colouring can undercut. */
struct colour_bounds {
    int32_t degree; /* colours: the maximum degree */
    int64_t
        cost; /* sum of costs: as at least degree(edges of weight >= w) colours cost w or more, for each w */
};

enum esp_status edge_colouring_bounds(const struct colour_graph *graph, struct colour_bounds *bounds,
                                      struct esp_error *error);

struct colour_options {
    bool fewest;       /* exactly the maximum degree of colours; otherwise more where that is cheaper */
    int64_t extra;     /* not `fewest`: what a colour beyond the maximum degree costs besides its weight */
    uint32_t attempts; /* orders to try, >= 1; ends early where the lower bound is met */
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
