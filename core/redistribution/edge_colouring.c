/* SPDX-License-Identifier: Apache-2.0
 *
 * Colours the edges of a bipartite graph. Swapping the colours along a chain of edges in two alternating
 * colours frees one of the two colours at the chain's end. */
#include "core/redistribution/edge_colouring.h"
#include "config.h"
#include "util/random.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1 }; /* no edge, no colour */

/* The state of one attempt. Levels number the distinct weights, 0 the heaviest; a colour's top is the level
 * of its heaviest edge. Tables have a row per node (or colour). */
struct painter {
    const struct colour_graph *graph;
    const struct colour_options *options;
    struct random random;
    bool shuffled, eager; /* of this attempt: edges of a weight in random order; open a new colour rather than
                             increase the cost of another */
    size_t *order;        /* edges from heavy to light */
    int32_t *level;
    int64_t *level_weight;
    int32_t *level_degree; /* the maximum degree counting the edges of this level and heavier ones */
    int32_t n_levels, degree, room, opened;
    size_t words;
    int32_t *at_left, *at_right;      /* [node][colour]: the edge, or NONE */
    uint64_t *free_left, *free_right; /* [node][word]: bits of the colours that are free at the node */
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
    int32_t have, other; /* the edge gets colour `have`, the chain's edges swap both colours */
    bool from_left;
    int64_t cost;
};

static void painter_free(struct painter *painter);
static enum esp_status painter_open(struct painter *painter, struct colour_bounds *bounds,
                                    struct esp_error *error);
static void painter_begin(struct painter *painter);
static int32_t *painter_left(struct painter *painter, int32_t node, int32_t colour);
static int32_t *painter_right(struct painter *painter, int32_t node, int32_t colour);
static int32_t *painter_edges(const struct painter *painter, int32_t colour, int32_t level);
static void painter_give(struct painter *painter, int32_t e, int32_t colour);
static void painter_take(struct painter *painter, int32_t e);

/* Follows an alternating path that starts at a node with an edge of colour `have` and continues with
 * `other`: returns the next edge after `e`, reached at its far end from `from_left`. */
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

/* Returns a colour's new top when edges leave (`gone` of them at its top) and the heaviest new one has
 * level `come`. */
static int32_t top_after(const struct painter *painter, int32_t colour, int32_t gone, int32_t come)
{
    int32_t top = painter->top[colour];
    if (top < painter->n_levels && gone == *painter_edges(painter, colour, top))
        for (top++; top < painter->n_levels && *painter_edges(painter, colour, top) == 0;)
            top++;
    return come < top ? come : top;
}

/* Returns by how much the cost of both colours grows when the chain from `node` swaps colours and the new
 * edge of `level` gets `have`, which the chain then leaves free. Negative is cheaper (and may be
 * overestimated when further edges leave together with the top). */
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

/* Removes all colours before setting any: an edge can take its new colour only after its neighbour has
 * lost it. */
static void chain_swap(struct painter *painter, int32_t node, bool at_left, int32_t have, int32_t other)
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

/* Returns the first open colour after `after` (NONE: the first at all) that is free in `bits`; NONE when
 * there is none. */
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
    MOST_CHAINS = 200,    /* most chains examined for one edge of a small graph */
    FEW_CHAINS = 12,      /* and of a large one */
    SMALL_EDGES = 1 << 14 /* most edges of a small graph */
};

static void try_chain(struct painter *painter, const struct colour_edge *edge, int32_t level, bool from_left,
                      int32_t have, int32_t other, struct chain *best)
{
    int64_t cost = chain_cost(painter, from_left ? edge->left : edge->right, from_left, have, other, level);
    if (best->have == NONE || cost < best->cost)
        *best = (struct chain){have, other, from_left, cost};
}

/* Finds the chain that frees a colour for the edge at the least cost, stopping when one costs nothing or
 * enough have been examined. best->have is NONE when no open colour is free at one of the ends. */
static void chain_find(struct painter *painter, const struct colour_edge *edge, int32_t level,
                       struct chain *best)
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

static int compare_heavier(const void *a, const void *b)
{
    const struct heavier *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return x->edge < y->edge ? -1 : x->edge > y->edge;
}

/* Sorts the edges by weight, the heaviest first. The caller frees the array; NULL without memory. */
static struct heavier *edges_sort(const struct colour_graph *graph)
{
    struct heavier *sorted = malloc((graph->n_edges + 1) * sizeof *sorted);
    for (size_t i = 0; sorted && i < graph->n_edges; i++)
        sorted[i] = (struct heavier){graph->edges[i].weight, i};
    if (sorted)
        qsort(sorted, graph->n_edges, sizeof *sorted, compare_heavier);
    return sorted;
}

/* Whenever the maximum degree grows, going from heavy to light edges, one more colour must cost as much as
 * the present edge. `grown`, if given, gets the maximum degree after each edge. */
static enum esp_status edges_sweep(const struct colour_graph *graph, const struct heavier *sorted,
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

/* Returns a colour that is open and free at both ends: first fit, from a random start after the first
 * attempt. */
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

/* Whether a new colour is better than the chain. Up to the degree of the edges so far it costs nothing
 * beyond the lower bound. With `fewest`, each colour is opened sooner or later, at a cost of its lightest
 * edge; beyond the fewest, a colour costs its weight and `extra`. */
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

/* Shuffles the edges of each level. */
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

/* Renumbers the colours from most to least costly, without empty ones. */
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

/* Frees the tables of painter_open(), not the struct: the colour of each edge, and the free colours of
 * each node. */
static void painter_free(struct painter *painter)
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
    MOST_LEVELS = 4096, /* most distinct weights considered when colours are chosen */
    MORE_COLOURS = 64   /* most colours beyond the maximum degree */
};

#define MOST_ENTRIES ((size_t)1 << 28)

/* Numbers the distinct weights. Further weights share the last level, with the heaviest of them. */
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

/* Allocates the tables; graph, options and random are set. *bounds are those of the graph. ESP_NO_MEMORY,
 * ESP_LIMIT. The caller frees the painter in any case. */
static enum esp_status painter_open(struct painter *painter, struct colour_bounds *bounds,
                                    struct esp_error *error)
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

/* Resets an attempt: no edge has a colour, no colour is open. */
static void painter_begin(struct painter *painter)
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

/* Return the entry for the edge of that colour at that node, and the number of coloured edges of a level. */
static int32_t *painter_left(struct painter *painter, int32_t node, int32_t colour)
{
    return &painter->at_left[(size_t)node * (size_t)painter->room + (size_t)colour];
}

static int32_t *painter_right(struct painter *painter, int32_t node, int32_t colour)
{
    return &painter->at_right[(size_t)node * (size_t)painter->room + (size_t)colour];
}

static int32_t *painter_edges(const struct painter *painter, int32_t colour, int32_t level)
{
    return &painter->heap[(size_t)colour * (size_t)painter->n_levels + (size_t)level];
}

/* Gives the edge a colour that is free at both ends, or takes it away. */
static void painter_give(struct painter *painter, int32_t e, int32_t colour)
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

static void painter_take(struct painter *painter, int32_t e)
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
