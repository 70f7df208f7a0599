/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for the fastest grid, against weighing all grids with all blocks.
 */
#include "tests/unit/unit.h"
#include "core/forecast/grid_search.h"

#include <math.h>
#include <stdlib.h>

/* Nodes and links to search on: those of the FAST paper, and processors of today behind a fast network, one
 * for each rank or shared by two. */
static struct parallel_machine machine_of(int which)
{
    struct parallel_machine machine = {.polynomials = parallel_polynomials_from_rates(5e8, 8e7, 1e-6),
                                       .latency_s = 1e-4,
                                       .element_s = 8 / 11.2e6,
                                       .broadcast = parallel_broadcast_find("tree")};
    if (which == 0)
        return machine;
    machine.polynomials = parallel_polynomials_from_rates(2e10, 3e9, 1e-6);
    machine.polynomials.of[PARALLEL_GEMM][4] = 1e-9;
    machine.latency_s = 2e-6;
    machine.element_s = 8 / 1e10;
    machine.broadcast = parallel_broadcast_find(which == 1 ? "split" : "ring");
    machine.sharers = which == 2 ? 64 : 0;
    machine.processors = which == 2 ? 32 : 0;
    return machine;
}

static const struct parallel_problem problems[] = {
    {"pdgemm", 2000, 2000, 2000, 0}, {"pdgemm", 300, 9000, 40, 0}, {"pdtrsm", 2000, 2000, 2000, 1},
    {"pdgetrf", 0, 1500, 0, 0},      {"pdpotrf", 0, 2500, 0, 0},   {"pdgeqrf", 3000, 500, 0, 0}};
#define N_PROBLEMS (sizeof problems / sizeof *problems)

/* A call, and how often something was forecast for it. */
struct call {
    struct parallel_machine machine;
    const struct parallel_problem *problem;
    int64_t ranks, least_block; /* of a smaller one nothing is of use */
    int weighed;
};

static double weigh(void *arg, struct parallel_grid grid, int64_t block)
{
    struct call *call = arg;
    struct parallel_forecast forecast;
    assert_true(grid.p >= 1 && grid.q >= 1 && grid.p * grid.q <= call->ranks);
    if (block < call->least_block)
        return INFINITY;
    call->weighed++;
    assert_int_equal(parallel_forecast(&call->machine, call->problem, grid, block, &forecast, NULL), ESP_OK);
    return forecast.seconds;
}

static struct grid_weighed *search(struct call *call, size_t *n)
{
    struct grid_weighed *found;
    struct esp_error error;
    call->weighed = 0;
    if (grid_search(call->ranks, parallel_blocks, PARALLEL_BLOCKS, weigh, call, &found, n, &error) != ESP_OK)
        fail_msg("%s", error.text);
    for (size_t i = 1; i < *n; i++)
        assert_true(found[i - 1].seconds <= found[i].seconds);
    return found;
}

static double best_of_all(const struct call *call)
{
    struct parallel_forecast *all;
    size_t n;
    assert_int_equal(parallel_grids(&call->machine, call->problem, call->ranks, parallel_blocks,
                                    PARALLEL_BLOCKS, &all, &n, NULL),
                     ESP_OK);
    const double best = all[0].seconds;
    free(all);
    return best;
}

static void few_ranks_have_all_their_grids_weighed(void **state)
{
    (void)state;
    for (int64_t ranks = 1; ranks <= GRID_SEARCH_ALL; ranks++) {
        struct call call = {machine_of(0), &problems[0], ranks, 0, 0};
        int grids = 0;
        size_t n;
        for (int64_t p = 1; p <= ranks; p++)
            grids += (int)(ranks / p);
        struct grid_weighed *found = search(&call, &n);
        assert_int_equal(n, grids * PARALLEL_BLOCKS);
        assert_true(found[0].seconds == best_of_all(&call));
        free(found);
    }
}

static void of_many_grids_one_is_found_that_is_nearly_as_good_as_the_best(void **state)
{
    (void)state;
    static const int64_t ranks[] = {17, 24, 37, 64, 100, 256, 600};
    for (int which = 0; which < 3; which++)
        for (size_t i = 0; i < N_PROBLEMS; i++)
            for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++) {
                struct call call = {machine_of(which), &problems[i], ranks[k], 0, 0};
                size_t n;
                struct grid_weighed *found = search(&call, &n);
                const double best = best_of_all(&call);
                if (found[0].seconds > 1.06 * best)
                    fail_msg("%s on %d ranks, machine %d: %lld x %lld, %.3g of the best", problems[i].routine,
                             (int)ranks[k], which, (long long)found[0].grid.p, (long long)found[0].grid.q,
                             found[0].seconds / best);
                free(found);
            }
}

static void the_number_of_forecasts_hardly_grows_with_that_of_ranks(void **state)
{
    (void)state;
    static const struct {
        int64_t ranks;
        int most;
    } cases[] = {{17, 150}, {256, 300}, {4096, 700}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct call call = {machine_of(1), &problems[0], cases[i].ranks, 0, 0};
        size_t n;
        free(search(&call, &n));
        assert_in_range(call.weighed, 1, cases[i].most);
    }
}

static void shapes_are_seen_with_the_block_sizes_that_are_of_use(void **state)
{
    (void)state;
    struct call call = {machine_of(1), &problems[0], 100, 128, 0};
    size_t n;
    struct grid_weighed *found = search(&call, &n);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(found[i].block, 128);
    free(found);
    call.least_block = 129;
    found = search(&call, &n);
    assert_int_equal(n, 0);
    free(found);
}

static void no_ranks_and_no_blocks_are_refused(void **state)
{
    (void)state;
    struct call call = {machine_of(1), &problems[0], 0, 0, 0};
    struct grid_weighed *found;
    struct esp_error error;
    size_t n;
    assert_int_equal(grid_search(0, parallel_blocks, PARALLEL_BLOCKS, weigh, &call, &found, &n, &error),
                     ESP_INVALID);
    assert_int_equal(grid_search(4, parallel_blocks, 0, weigh, &call, &found, &n, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "found 4 and 0 block sizes"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_ranks_have_all_their_grids_weighed),
        cmocka_unit_test(of_many_grids_one_is_found_that_is_nearly_as_good_as_the_best),
        cmocka_unit_test(the_number_of_forecasts_hardly_grows_with_that_of_ranks),
        cmocka_unit_test(shapes_are_seen_with_the_block_sizes_that_are_of_use),
        cmocka_unit_test(no_ranks_and_no_blocks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
