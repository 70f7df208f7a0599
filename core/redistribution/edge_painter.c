/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of one attempt: which edge has which colour, and what colours are free where.
 */
#include "config.h"

#include "core/redistribution/edge_painter.h"

#include <stdlib.h>
#include <string.h>

void painter_free(struct painter *painter)
{
    free(painter->order);
    free(painter->level);
    free(painter->level_weight);
    free(painter->level_degree);
    free(painter->at_left);
    free(painter->at_right);
    free(painter->free_left);
    free(painter->free_right);
    free(painter->heap);
    free(painter->top);
    free(painter->path);
}

enum {
    MOST_LEVELS = 4096, /* distinct weights told apart when colours are chosen */
    MORE_COLOURS = 64   /* colours beyond the maximum degree */
};

#define MOST_ENTRIES ((size_t)1 << 28)

/* Numbers the distinct weights. Weights beyond MOST_LEVELS share the last level, with the heaviest of them.
 */
static enum esp_status set_levels(struct painter *painter, struct colour_bounds *bounds)
{
    const struct colour_graph *graph = painter->graph;
    size_t n = graph->n_edges;
    struct heavier *sorted = edges_sort(graph);
    int32_t *grown = malloc((n + 1) * sizeof *grown);
    painter->order = malloc((n + 1) * sizeof *painter->order);
    painter->level = malloc((n + 1) * sizeof *painter->level);
    painter->level_weight = malloc((MOST_LEVELS + 1) * sizeof *painter->level_weight);
    painter->level_degree = malloc((MOST_LEVELS + 1) * sizeof *painter->level_degree);
    enum esp_status status = ESP_NO_MEMORY;
    if (sorted && grown && painter->order && painter->level && painter->level_weight && painter->level_degree)
        status = edges_sweep(graph, sorted, bounds, grown);
    for (size_t i = 0; status == ESP_OK && i < n; i++) {
        if (i == 0 || (sorted[i].weight != sorted[i - 1].weight && painter->n_levels < MOST_LEVELS))
            painter->level_weight[painter->n_levels++] = sorted[i].weight;
        painter->order[i] = sorted[i].edge;
        painter->level[sorted[i].edge] = painter->n_levels - 1;
        painter->level_degree[painter->n_levels - 1] = grown[i];
    }
    if (status == ESP_OK)
        painter->level_weight[painter->n_levels] = 0; /* of a colour without edges */
    free(sorted);
    free(grown);
    return status;
}

enum esp_status painter_open(struct painter *painter, struct colour_bounds *bounds, struct esp_error *error)
{
    const struct colour_graph *graph = painter->graph;
    if (set_levels(painter, bounds) != ESP_OK)
        return error_no_memory(error, "the weights of a redistribution");
    painter->degree = bounds->degree;
    painter->room = bounds->degree + (painter->options->fewest ? 0 : MORE_COLOURS);
    painter->words = ((size_t)painter->room + 63) / 64;
    size_t room = (size_t)painter->room + 1, left = (size_t)graph->n_left + 1,
           right = (size_t)graph->n_right + 1, levels = (size_t)painter->n_levels + 1;
    if ((left + right + levels) > MOST_ENTRIES / room)
        return error_set(
            error, ESP_LIMIT,
            "expected a redistribution whose schedule needs at most 2^28 table entries, found %d "
            "senders, %d receivers and %d steps",
            graph->n_left, graph->n_right, painter->degree);
    painter->at_left = malloc(left * room * sizeof *painter->at_left);
    painter->at_right = malloc(right * room * sizeof *painter->at_right);
    painter->free_left = malloc(left * (painter->words + 1) * sizeof *painter->free_left);
    painter->free_right = malloc(right * (painter->words + 1) * sizeof *painter->free_right);
    painter->heap = malloc(room * levels * sizeof *painter->heap);
    painter->top = malloc(room * sizeof *painter->top);
    painter->path = malloc((left + right) * sizeof *painter->path);
    return painter->at_left && painter->at_right && painter->free_left && painter->free_right &&
                   painter->heap && painter->top && painter->path
               ? ESP_OK
               : error_no_memory(error, "the steps of a redistribution");
}

void painter_begin(struct painter *painter)
{
    size_t room = (size_t)painter->room, left = (size_t)painter->graph->n_left,
           right = (size_t)painter->graph->n_right;
    memset(painter->at_left, 0xff, left * room * sizeof *painter->at_left);
    memset(painter->at_right, 0xff, right * room * sizeof *painter->at_right);
    memset(painter->free_left, 0xff, left * painter->words * sizeof *painter->free_left);
    memset(painter->free_right, 0xff, right * painter->words * sizeof *painter->free_right);
    memset(painter->heap, 0, room * (size_t)painter->n_levels * sizeof *painter->heap);
    for (size_t i = 0; i < room; i++)
        painter->top[i] = painter->n_levels;
    painter->opened = 0;
}

static void flip_bit(uint64_t *bits, size_t words, int32_t node, int32_t colour)
{
    bits[(size_t)node * words + (size_t)colour / 64] ^= (uint64_t)1 << (colour % 64);
}

int32_t *painter_left(struct painter *painter, int32_t node, int32_t colour)
{
    return &painter->at_left[(size_t)node * (size_t)painter->room + (size_t)colour];
}

int32_t *painter_right(struct painter *painter, int32_t node, int32_t colour)
{
    return &painter->at_right[(size_t)node * (size_t)painter->room + (size_t)colour];
}

int32_t *painter_edges(const struct painter *painter, int32_t colour, int32_t level)
{
    return &painter->heap[(size_t)colour * (size_t)painter->n_levels + (size_t)level];
}

void painter_give(struct painter *painter, int32_t e, int32_t colour)
{
    struct colour_edge *edge = &painter->graph->edges[e];
    edge->colour = colour;
    *painter_left(painter, edge->left, colour) = e;
    *painter_right(painter, edge->right, colour) = e;
    flip_bit(painter->free_left, painter->words, edge->left, colour);
    flip_bit(painter->free_right, painter->words, edge->right, colour);
    ++*painter_edges(painter, colour, painter->level[e]);
    if (painter->level[e] < painter->top[colour])
        painter->top[colour] = painter->level[e];
}

void painter_take(struct painter *painter, int32_t e)
{
    struct colour_edge *edge = &painter->graph->edges[e];
    int32_t colour = edge->colour, level = painter->level[e];
    *painter_left(painter, edge->left, colour) = NONE;
    *painter_right(painter, edge->right, colour) = NONE;
    flip_bit(painter->free_left, painter->words, edge->left, colour);
    flip_bit(painter->free_right, painter->words, edge->right, colour);
    --*painter_edges(painter, colour, level);
    while (painter->top[colour] < painter->n_levels &&
           *painter_edges(painter, colour, painter->top[colour]) == 0)
        painter->top[colour]++;
}
