/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside edge colouring: the state of one attempt, kept by core/redistribution/edge_painter.c, and the
 * alternating chains that free a colour in it, found by core/redistribution/edge_chain.c.
 * core/redistribution/edge_colouring.c makes the attempts.
 */
#ifndef CORE_EDGE_PAINTER_H
#define CORE_EDGE_PAINTER_H

#include "core/redistribution/edge_colouring.h"
#include "util/random.h"

enum { NONE = -1 }; /* no edge, no colour */

/* The state of one attempt. Levels number the distinct weights, 0 the heaviest; a colour's top is the level
 * of its heaviest edge. Tables have a row per node (or colour). */
struct painter {
    const struct colour_graph *graph;
    const struct colour_options *options;
    struct random random;
    bool shuffled,
        eager;     /* of this attempt: edges of a weight in random order; rather open than make dearer */
    size_t *order; /* edges from heavy to light */
    int32_t *level;
    int64_t *level_weight;
    int32_t *level_degree; /* the maximum degree of the edges of this level and heavier */
    int32_t n_levels, degree, room, opened;
    size_t words;
    int32_t *at_left, *at_right;      /* [node][colour]: the edge, or NONE */
    uint64_t *free_left, *free_right; /* [node][word]: bits of the colours that the node has not */
    int32_t *heap;                    /* [colour][level]: edges */
    int32_t *top;                     /* [colour] */
    int32_t *path;                    /* edges of a chain */
};

/* An edge or a colour, sorted by its weight. */
struct heavier {
    int64_t weight;
    size_t edge;
};

struct chain {
    int32_t have, other; /* the edge gets `have`, the chain's edges change between the two */
    bool from_left;
    int64_t cost;
};

/* ---- core/redistribution/edge_colouring.c ---- */

/* By weight, the heaviest first. The caller frees it; NULL without memory. */
struct heavier *edges_sort(const struct colour_graph *graph);
/* Each time the maximum degree of the heaviest edges grows, one more colour must cost what the edge that made
 * it grow weighs. `grown`, when given, gets the maximum degree after each edge. */
enum esp_status edges_sweep(const struct colour_graph *graph, const struct heavier *sorted,
                            struct colour_bounds *bounds, int32_t *grown);

/* ---- core/redistribution/edge_painter.c ---- */

/* What painter_open() has allocated; not the struct. */
void painter_free(struct painter *painter);
/* With graph, options and random set; *bounds are those of the graph. ESP_NO_MEMORY, ESP_LIMIT. To be freed
 * in any case. */
enum esp_status painter_open(struct painter *painter, struct colour_bounds *bounds, struct esp_error *error);
/* No edge has a colour, none is open. */
void painter_begin(struct painter *painter);
/* The edge of that colour at that node, and how many edges of a level have a colour. */
int32_t *painter_left(struct painter *painter, int32_t node, int32_t colour);
int32_t *painter_right(struct painter *painter, int32_t node, int32_t colour);
int32_t *painter_edges(const struct painter *painter, int32_t colour, int32_t level);
/* The edge gets the colour, which is free at both of its ends, or loses it. */
void painter_give(struct painter *painter, int32_t e, int32_t colour);
void painter_take(struct painter *painter, int32_t e);

/* ---- core/redistribution/edge_chain.c ---- */

/* All leave before any comes back: an edge can only take its new colour after its neighbour has left it. */
void chain_swap(struct painter *painter, int32_t node, bool at_left, int32_t have, int32_t other);
/* Looks for the chain that frees a colour for the edge most cheaply, until one costs nothing or enough have
 * been looked at. best->have is NONE when no open colour is free at one of the ends. */
void chain_find(struct painter *painter, const struct colour_edge *edge, int32_t level, struct chain *best);

#endif
