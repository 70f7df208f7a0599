/* SPDX-License-Identifier: Apache-2.0
 *
 * Colours of random bipartite graphs, against what colours are, against König's theorem, and against the best
 * of all colourings of small ones.
 */
#include "tests/unit/unit.h"
#include "core/redistribution/edge_colouring.h"
#include "util/random.h"

#include <stdlib.h>

enum { MOST_EDGES = 400 };

static struct colour_graph draw(struct random *random, struct colour_edge *edges, int32_t nodes, size_t n,
                                uint64_t weights)
{
    struct colour_graph graph = {edges, n, 1 + (int32_t)random_below(random, (uint64_t)nodes),
                                 1 + (int32_t)random_below(random, (uint64_t)nodes)};
    for (size_t i = 0; i < n; i++)
        edges[i] = (struct colour_edge){
            .left = (int32_t)random_below(random, (uint64_t)graph.n_left),
            .right = (int32_t)random_below(random, (uint64_t)graph.n_right),
            .weight = 1 + (int64_t)random_below(random, weights),
        };
    return graph;
}

/* Edges that meet differ in colour, colours are numbered without gaps from dear to cheap, and their cost is
 * what was said. */
static void assert_proper(const struct colour_graph *graph, const struct colour_result *result)
{
    int64_t cost[MOST_EDGES] = {0}, sum = 0;
    for (size_t i = 0; i < graph->n_edges; i++) {
        const struct colour_edge *x = &graph->edges[i];
        assert_in_range(x->colour, 0, result->colours - 1);
        cost[x->colour] = x->weight > cost[x->colour] ? x->weight : cost[x->colour];
        for (size_t j = 0; j < i; j++) {
            const struct colour_edge *y = &graph->edges[j];
            if (x->left == y->left || x->right == y->right)
                assert_int_not_equal(x->colour, y->colour);
        }
    }
    for (int32_t colour = 0; colour < result->colours; colour++) {
        assert_true(cost[colour] > 0);
        assert_true(colour == 0 || cost[colour] <= cost[colour - 1]);
        sum += cost[colour];
    }
    assert_int_equal(sum, result->cost);
}

static int32_t degree(const struct colour_graph *graph)
{
    int32_t left[64] = {0}, right[64] = {0}, most = 0;
    for (size_t i = 0; i < graph->n_edges; i++) {
        int32_t x = ++left[graph->edges[i].left], y = ++right[graph->edges[i].right];
        most = x > most ? x : most;
        most = y > most ? y : most;
    }
    return most;
}

static void colours_are_as_few_as_the_degree(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 7);
    for (int trial = 0; trial < 300; trial++) {
        struct colour_edge edges[MOST_EDGES];
        struct colour_graph graph =
            draw(&random, edges, 40, random_below(&random, MOST_EDGES), 1 + random_below(&random, 30));
        struct colour_bounds bounds;
        struct colour_result few, cheap;
        assert_int_equal(edge_colouring_bounds(&graph, &bounds, NULL), ESP_OK);
        assert_int_equal(bounds.degree, degree(&graph));
        assert_int_equal(edge_colouring(&graph, &(struct colour_options){true, 0, 3}, &few, NULL), ESP_OK);
        assert_proper(&graph, &few);
        assert_int_equal(few.colours, bounds.degree);
        assert_true(few.cost >= bounds.cost);
        assert_int_equal(edge_colouring(&graph, &(struct colour_options){false, 0, 3}, &cheap, NULL), ESP_OK);
        assert_proper(&graph, &cheap);
        assert_true(cheap.colours >= bounds.degree && cheap.cost >= bounds.cost);
    }
}

/* The least cost over all proper colourings of the edges from `i` on. */
static int64_t least_cost(const struct colour_graph *graph, size_t i, int32_t *colour, int32_t colours,
                          int32_t most)
{
    if (i == graph->n_edges) {
        int64_t cost[8] = {0}, sum = 0;
        for (size_t j = 0; j < i; j++)
            if (graph->edges[j].weight > cost[colour[j]])
                cost[colour[j]] = graph->edges[j].weight;
        for (int32_t c = 0; c < colours; c++)
            sum += cost[c];
        return sum;
    }
    int64_t best = INT64_MAX;
    for (int32_t c = 0; c <= colours && c < most; c++) {
        bool fits = true;
        for (size_t j = 0; j < i; j++)
            fits = fits && (colour[j] != c || (graph->edges[j].left != graph->edges[i].left &&
                                               graph->edges[j].right != graph->edges[i].right));
        colour[i] = c;
        int64_t cost =
            fits ? least_cost(graph, i + 1, colour, c == colours ? c + 1 : colours, most) : INT64_MAX;
        best = cost < best ? cost : best;
    }
    return best;
}

static void small_graphs_get_the_least_cost(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 11);
    int best = 0, trials = 150;
    for (int trial = 0; trial < trials; trial++) {
        struct colour_edge edges[8];
        int32_t colour[8];
        struct colour_graph graph = draw(&random, edges, 4, 8, 4);
        struct colour_result few;
        struct colour_bounds bounds;
        edge_colouring_bounds(&graph, &bounds, NULL);
        assert_int_equal(edge_colouring(&graph, &(struct colour_options){true, 0, 40}, &few, NULL), ESP_OK);
        int64_t least = least_cost(&graph, 0, colour, 0, bounds.degree);
        assert_true(bounds.cost <= least && least <= few.cost);
        best += few.cost == least;
    }
    assert_true(best >= trials * 95 / 100);
}

static void nothing_needs_no_colours(void **state)
{
    (void)state;
    struct colour_graph graph = {NULL, 0, 3, 3};
    struct colour_result result;
    assert_int_equal(edge_colouring(&graph, &(struct colour_options){true, 0, 1}, &result, NULL), ESP_OK);
    assert_int_equal(result.colours, 0);
    assert_int_equal(result.cost, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colours_are_as_few_as_the_degree),
        cmocka_unit_test(small_graphs_get_the_least_cost),
        cmocka_unit_test(nothing_needs_no_colours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
