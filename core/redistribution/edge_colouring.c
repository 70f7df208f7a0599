/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/redistribution/edge_painter.h"

#include <stdlib.h>

static int compare_heavier(const void *a, const void *b)
{
    const struct heavier *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return x->edge < y->edge ? -1 : x->edge > y->edge;
}

struct heavier *edges_sort(const struct colour_graph *graph)
{
    struct heavier *sorted = malloc((graph->n_edges + 1) * sizeof *sorted);
    for (size_t i = 0; sorted && i < graph->n_edges; i++)
        sorted[i] = (struct heavier){graph->edges[i].weight, i};
    if (sorted)
        qsort(sorted, graph->n_edges, sizeof *sorted, compare_heavier);
    return sorted;
}

enum esp_status edges_sweep(const struct colour_graph *graph, const struct heavier *sorted,
                            struct colour_bounds *bounds, int32_t *grown)
{
    int32_t *degree = calloc((size_t)graph->n_left + (size_t)graph->n_right + 1, sizeof *degree);
    if (!degree)
        return ESP_NO_MEMORY;
    *bounds = (struct colour_bounds){0};
    for (size_t i = 0; i < graph->n_edges; i++) {
        const struct colour_edge *edge = &graph->edges[sorted[i].edge];
        int32_t left = ++degree[edge->left], right = ++degree[graph->n_left + edge->right];
        int32_t most = left > right ? left : right;
        if (most > bounds->degree) {
            bounds->degree = most;
            bounds->cost += edge->weight;
        }
        if (grown)
            grown[i] = bounds->degree;
    }
    free(degree);
    return ESP_OK;
}

enum esp_status edge_colouring_bounds(const struct colour_graph *graph, struct colour_bounds *bounds,
                                      struct esp_error *error)
{
    struct heavier *sorted = edges_sort(graph);
    enum esp_status status = sorted ? edges_sweep(graph, sorted, bounds, NULL) : ESP_NO_MEMORY;
    free(sorted);
    return status == ESP_OK ? ESP_OK : error_no_memory(error, "the degrees of a redistribution");
}

/* A colour that is open and free at both ends. First fit, from a random place on after the first attempt. */
static int32_t common_colour(struct painter *painter, const struct colour_edge *edge)
{
    const uint64_t *left = painter->free_left + (size_t)edge->left * painter->words;
    const uint64_t *right = painter->free_right + (size_t)edge->right * painter->words;
    int32_t words = (painter->opened + 63) / 64;
    int32_t from =
        painter->shuffled && words ? (int32_t)random_below(&painter->random, (uint64_t)painter->opened) : 0;
    for (int32_t i = 0; i <= words && words; i++) {
        int32_t word = (from / 64 + i) % words;
        uint64_t bits = left[word] & right[word];
        if (word == painter->opened / 64)
            bits &= ((uint64_t)1 << (painter->opened % 64)) - 1;
        if (i == 0)
            bits &= ~(uint64_t)0 << (from % 64);
        if (bits)
            return word * 64 + __builtin_ctzll(bits);
    }
    return NONE;
}

/* Whether a new colour is better than the chain. Up to the degree of the edges so far it costs nothing beyond
 * the lower bound. With the fewest colours each is opened sooner or later, by the lightest edges for their
 * weight; beyond them a colour costs its weight and `extra`. */
static bool opens(const struct painter *painter, int32_t level, const struct chain *chain)
{
    if (painter->opened == painter->room)
        return false;
    if (chain->have == NONE || painter->opened < painter->level_degree[level])
        return true;
    if (painter->eager)
        return true;
    int64_t price = painter->level_weight[level];
    if (painter->opened < painter->degree)
        price -= painter->level_weight[painter->n_levels - 1];
    else
        price += painter->options->extra;
    return price < chain->cost;
}

static void insert(struct painter *painter, int32_t e)
{
    const struct colour_edge *edge = &painter->graph->edges[e];
    int32_t colour = common_colour(painter, edge), level = painter->level[e];
    struct chain chain = {.have = NONE};
    if (colour == NONE) {
        chain_find(painter, edge, level, &chain);
        if ((chain.have == NONE || chain.cost > 0) && opens(painter, level, &chain)) {
            colour = painter->opened++;
        } else {
            chain_swap(painter, chain.from_left ? edge->left : edge->right, chain.from_left, chain.have,
                       chain.other);
            colour = chain.have;
        }
    }
    painter_give(painter, e, colour);
}

/* Edges of one level in a random order. */
static void shuffle(struct painter *painter)
{
    size_t n = painter->graph->n_edges, begin = 0;
    for (size_t i = 1; i <= n; i++) {
        if (i < n && painter->level[painter->order[i]] == painter->level[painter->order[begin]])
            continue;
        for (size_t j = i - 1; j > begin; j--) {
            size_t other = begin + (size_t)random_below(&painter->random, j - begin + 1),
                   edge = painter->order[j];
            painter->order[j] = painter->order[other];
            painter->order[other] = edge;
        }
        begin = i;
    }
}

static void paint(struct painter *painter)
{
    painter_begin(painter);
    if (painter->shuffled)
        shuffle(painter);
    for (size_t i = 0; i < painter->graph->n_edges; i++)
        insert(painter, (int32_t)painter->order[i]);
}

/* Renumbers the colours from dear to cheap, without those that have no edge. */
static enum esp_status finish(const struct colour_graph *graph, int32_t room, struct colour_result *result)
{
    struct heavier *cost = calloc((size_t)room + 1, sizeof *cost);
    int32_t *number = malloc(((size_t)room + 1) * sizeof *number);
    for (size_t i = 0; cost && number && i < graph->n_edges; i++)
        if (graph->edges[i].weight > cost[graph->edges[i].colour].weight)
            cost[graph->edges[i].colour].weight = graph->edges[i].weight;
    for (int32_t i = 0; cost && number && i < room; i++)
        cost[i].edge = (size_t)i;
    if (cost && number)
        qsort(cost, (size_t)room, sizeof *cost, compare_heavier);
    *result = (struct colour_result){0};
    for (int32_t i = 0; cost && number && i < room; i++) {
        number[cost[i].edge] = i;
        result->colours += cost[i].weight > 0;
        result->cost += cost[i].weight;
    }
    for (size_t i = 0; cost && number && i < graph->n_edges; i++)
        graph->edges[i].colour = number[graph->edges[i].colour];
    bool done = cost && number;
    free(cost);
    free(number);
    return done ? ESP_OK : ESP_NO_MEMORY;
}

static int64_t price(const struct colour_result *result, const struct colour_options *options, int32_t degree)
{
    return result->cost + (options->fewest ? 0 : options->extra * (result->colours - degree));
}

enum esp_status edge_colouring(const struct colour_graph *graph, const struct colour_options *options,
                               struct colour_result *result, struct esp_error *error)
{
    struct painter painter = {.graph = graph, .options = options};
    struct colour_bounds bounds = {0};
    struct colour_result tried;
    int32_t *best = malloc((graph->n_edges + 1) * sizeof *best);
    enum esp_status status =
        best ? painter_open(&painter, &bounds, error) : error_no_memory(error, "colours");
    random_seed(&painter.random, 1);
    for (uint32_t attempt = 0; status == ESP_OK && (attempt == 0 || attempt < options->attempts); attempt++) {
        painter.shuffled = attempt > 1;
        painter.eager = attempt % 2;
        paint(&painter);
        status = finish(graph, painter.room, &tried);
        if (status != ESP_OK)
            error_no_memory(error, "the steps of a redistribution");
        else if (attempt == 0 ||
                 price(&tried, options, bounds.degree) < price(result, options, bounds.degree)) {
            *result = tried;
            for (size_t i = 0; i < graph->n_edges; i++)
                best[i] = graph->edges[i].colour;
        }
        if (status == ESP_OK && result->cost == bounds.cost && result->colours == bounds.degree)
            break;
    }
    for (size_t i = 0; status == ESP_OK && i < graph->n_edges; i++)
        graph->edges[i].colour = best[i];
    free(best);
    painter_free(&painter);
    return status;
}
