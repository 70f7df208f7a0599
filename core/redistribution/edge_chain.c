/* SPDX-License-Identifier: Apache-2.0
 *
 * Chains of edges in two colours by turns: swapped, they free one of the two at an end of theirs.
 */
#include "core/redistribution/edge_painter.h"

/* An alternating path that starts at a node with an edge of colour `have` and goes on with `other`. The next
 * edge after `e`, met at its far end from `from_left`. */
static int32_t chain_next(struct painter *painter, int32_t e, bool *at_left, int32_t have, int32_t other)
{
    const struct colour_edge *edge = &painter->graph->edges[e];
    int32_t colour = edge->colour == have ? other : have;
    *at_left = !*at_left;
    return *at_left ? *painter_left(painter, edge->left, colour)
                    : *painter_right(painter, edge->right, colour);
}

static int32_t chain_first(struct painter *painter, int32_t node, bool at_left, int32_t colour)
{
    return at_left ? *painter_left(painter, node, colour) : *painter_right(painter, node, colour);
}

/* What a colour's top becomes when edges leave (`gone` of them at its top) and the heaviest that comes has
 * level `come`. */
static int32_t top_after(const struct painter *painter, int32_t colour, int32_t gone, int32_t come)
{
    int32_t top = painter->top[colour];
    if (top < painter->n_levels && gone == *painter_edges(painter, colour, top))
        for (top++; top < painter->n_levels && *painter_edges(painter, colour, top) == 0;)
            top++;
    return come < top ? come : top;
}

/* How much dearer both colours become when the chain from `node` changes colours and the new edge of `level`
 * gets `have`, which the chain then leaves free. Cheaper is negative (and may be told too high by the edges
 * further down that leave with the top). */
static int64_t chain_cost(struct painter *painter, int32_t node, bool at_left, int32_t have, int32_t other,
                          int32_t level)
{
    int32_t come_have = level, come_other = painter->n_levels, gone_have = 0, gone_other = 0;
    for (int32_t e = chain_first(painter, node, at_left, have); e != NONE;
         e = chain_next(painter, e, &at_left, have, other)) {
        int32_t of = painter->level[e];
        if (painter->graph->edges[e].colour == have) {
            come_other = of < come_other ? of : come_other;
            gone_have += of == painter->top[have];
        } else {
            come_have = of < come_have ? of : come_have;
            gone_other += of == painter->top[other];
        }
    }
    const int64_t *weight = painter->level_weight;
    return weight[top_after(painter, have, gone_have, come_have)] - weight[painter->top[have]] +
           weight[top_after(painter, other, gone_other, come_other)] - weight[painter->top[other]];
}

void chain_swap(struct painter *painter, int32_t node, bool at_left, int32_t have, int32_t other)
{
    size_t n = 0;
    for (int32_t e = chain_first(painter, node, at_left, have); e != NONE;
         e = chain_next(painter, e, &at_left, have, other))
        painter->path[n++] = e;
    for (size_t i = 0; i < n; i++)
        painter_take(painter, painter->path[i]);
    for (size_t i = 0; i < n; i++)
        painter_give(painter, painter->path[i],
                     painter->graph->edges[painter->path[i]].colour == have ? other : have);
}

/* The first colour after `after` (NONE: the first at all) that is open and free by `bits`; NONE when there is
 * none. */
static int32_t next_free(const struct painter *painter, const uint64_t *bits, int32_t after)
{
    for (int32_t colour = after + 1; colour < painter->opened;) {
        uint64_t word = bits[(size_t)colour / 64] >> (colour % 64);
        if (word) {
            colour += __builtin_ctzll(word);
            return colour < painter->opened ? colour : NONE;
        }
        colour = (colour / 64 + 1) * 64;
    }
    return NONE;
}

enum {
    MOST_CHAINS = 200,    /* looked at for one edge of a small graph */
    FEW_CHAINS = 12,      /* and of a large one */
    SMALL_EDGES = 1 << 14 /* edges of a small one */
};

static void try_chain(struct painter *painter, const struct colour_edge *edge, int32_t level, bool from_left,
                      int32_t have, int32_t other, struct chain *best)
{
    int64_t cost = chain_cost(painter, from_left ? edge->left : edge->right, from_left, have, other, level);
    if (best->have == NONE || cost < best->cost)
        *best = (struct chain){have, other, from_left, cost};
}

void chain_find(struct painter *painter, const struct colour_edge *edge, int32_t level, struct chain *best)
{
    const uint64_t *left = painter->free_left + (size_t)edge->left * painter->words;
    const uint64_t *right = painter->free_right + (size_t)edge->right * painter->words;
    int most = painter->graph->n_edges <= SMALL_EDGES ? MOST_CHAINS : FEW_CHAINS;
    best->have = NONE;
    for (int32_t c = next_free(painter, left, NONE); c != NONE; c = next_free(painter, left, c))
        for (int32_t d = next_free(painter, right, NONE); d != NONE; d = next_free(painter, right, d)) {
            try_chain(painter, edge, level, false, c, d, best);
            try_chain(painter, edge, level, true, d, c, best);
            if (best->cost <= 0 || (most -= 2) <= 0)
                return;
        }
}
