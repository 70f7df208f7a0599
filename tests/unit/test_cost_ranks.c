/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of calls on the ranks of a server, as agents weigh them. */
#include "tests/unit/unit.h"
#include "core/choice/estimate.h"

#include <math.h>
#include <string.h>

#define DIGEST 7
#define ONLY   3

static struct cost_set set;

static int begin(void **state)
{
    (void)state;
    struct cost_ranks ranks[] = {
        {.digest = DIGEST,
         .n = 3,
         .work_flop = {1e6F, 1e8F, 1e10F},
         .seconds = {1e-3F, 1e-2F, 0.5F},
         .grids = {{1, 1, 16}, {1, 2, 32}, {2, 2, 64}}},
        {.digest = ONLY, .n = 1, .work_flop = {1e6F}, .seconds = {1}, .grids = {{1, 4, 8}}, .only = true}};
    set = (struct cost_set){.fastest_s_per_flop = HUGE_VAL};
    return cost_set_ranks(&set, ranks, 2, NULL) == ESP_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    cost_set_clear(&set);
    return 0;
}

static bool is_about(double value, double expected)
{
    return fabs(value / expected - 1) < 1e-5;
}

static void between_points_and_beyond_them(void **state)
{
    (void)state;
    assert_true(is_about(cost_ranks_s(&set, DIGEST, 1e8), 1e-2));
    assert_true(is_about(cost_ranks_s(&set, DIGEST, 1e7), sqrt(1e-3 * 1e-2)));
    assert_true(is_about(cost_ranks_s(&set, DIGEST, 1e12), 50));
    assert_true(is_about(cost_ranks_s(&set, DIGEST, 10), 1e-3));
}

static void what_is_not_known_takes_for_ever(void **state)
{
    (void)state;
    assert_true(isinf(cost_ranks_s(&set, 99, 1e8)));
    assert_true(isinf(cost_ranks_s(&set, DIGEST, 0)));
    const struct cost_set none = {.fastest_s_per_flop = HUGE_VAL};
    assert_true(isinf(cost_ranks_s(&none, DIGEST, 1e8)));
}

/* Searches go by it: nothing may be faster than that. */
static void the_bound_is_below_all_of_it(void **state)
{
    (void)state;
    for (double work = 1; work < 1e15; work *= 3)
        assert_true(cost_ranks_s(&set, DIGEST, work) >= 0.99999 * work * set.fastest_s_per_flop);
}

static double estimate_s(double work_flop, bool alone)
{
    struct request_cost cost;
    const struct request request = {.digest = DIGEST, .work_flop = work_flop};
    const struct computer computer = {.speed_flops = 1e9, .models = &set, .alone = alone};
    estimate_cost(&request, &computer, &cost);
    return cost.compute_s;
}

static void an_estimate_is_of_whichever_is_faster(void **state)
{
    (void)state;
    assert_true(estimate_s(1e10, false) < 0.51);
    assert_true(estimate_s(1e10, true) > 9.9);
    assert_true(estimate_s(1e4, false) == estimate_s(1e4, true));
}

static void what_was_sent_arrives(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct cost_set got;
    uint32_t length;
    uint8_t *data = cost_encode(&set, &arena, &length);
    assert_non_null(data);
    assert_true(cost_decode(data, length, &got));
    assert_int_equal(got.n_ranks, 2);
    assert_true(cost_ranks_s(&got, DIGEST, 1e9) == cost_ranks_s(&set, DIGEST, 1e9));
    assert_true(got.fastest_s_per_flop == set.fastest_s_per_flop);
    cost_set_clear(&got);
    for (uint32_t i = 4; i < length; i++)
        assert_false(cost_decode(data, i, &got));
    memset(data + 3 + 2 + 8 + 1, 0xff, 8); /* work that is no number */
    assert_false(cost_decode(data, length, &got));
    arena_clear(&arena);
}

static struct request_cost cost_of(const struct cost_set *models, uint64_t digest, double work_flop)
{
    struct request_cost cost;
    const struct request request = {.digest = digest, .work_flop = work_flop};
    const struct computer computer = {.speed_flops = 1e9, .models = models};
    estimate_cost(&request, &computer, &cost);
    return cost;
}

static void is_by(const struct request_cost *cost, enum computed_by by, struct process_grid grid)
{
    assert_int_equal(cost->by, by);
    assert_int_equal(cost->grid.rows, grid.rows);
    assert_int_equal(cost->grid.cols, grid.cols);
    assert_int_equal(cost->grid.block, grid.block);
}

static void who_computes_is_told_with_the_grid_of_the_nearest_point(void **state)
{
    (void)state;
    const struct process_grid none = {0};
    struct request_cost cost = cost_of(&set, DIGEST, 1e10);
    is_by(&cost, BY_RANKS, (struct process_grid){2, 2, 64});
    cost = cost_of(&set, DIGEST, 2e9);
    is_by(&cost, BY_RANKS, (struct process_grid){2, 2, 64});
    cost = cost_of(&set, DIGEST, 5e8);
    is_by(&cost, BY_RANKS, (struct process_grid){1, 2, 32});
    cost = cost_of(&set, DIGEST, 1e15);
    is_by(&cost, BY_RANKS, (struct process_grid){2, 2, 64});
    cost = cost_of(&set, DIGEST, 1e4);
    is_by(&cost, BY_WORKER, none);
    cost = cost_of(&set, 99, 1e10);
    is_by(&cost, BY_WORKER, none);
}

/* The ranks are chosen even if a worker would be faster, by a speed that the agent has not been asked for. */
static void what_only_ranks_compute_is_theirs(void **state)
{
    (void)state;
    struct request_cost cost = cost_of(&set, ONLY, 10);
    is_by(&cost, BY_RANKS, (struct process_grid){1, 4, 8});
    assert_true(is_about(cost.compute_s, 1 + ESTIMATE_CALL_S));
    cost = cost_of(&set, ONLY, 0); /* of no declared work nothing is known but that */
    assert_int_equal(cost.by, BY_RANKS);
    struct cost_ranks unmeasured = {.digest = ONLY, .only = true};
    struct cost_set early = {.fastest_s_per_flop = HUGE_VAL};
    assert_int_equal(cost_set_ranks(&early, &unmeasured, 1, NULL), ESP_OK);
    cost = cost_of(&early, ONLY, 1e9);
    is_by(&cost, BY_RANKS, (struct process_grid){0});
    cost_set_clear(&early);
}

/* Where a forecast is wanted; estimates of calls do without. */
static void an_estimate_for_a_forecast_tells_who_computes(void **state)
{
    (void)state;
    struct extension extension = {EXTENSION_FORECAST, (const uint8_t *)"", 0};
    for (uint32_t wanted = 0; wanted < 2; wanted++) {
        struct arena arena = {0};
        struct load load;
        struct server_estimate estimate = {.server = "s"};
        struct request_cost cost;
        const struct standing standing = {0};
        const struct request request = {
            .digest = DIGEST, .work_flop = 1e10, .extensions = {&extension, wanted}};
        const struct computer computer = {.speed_flops = 1e9, .models = &set};
        assert_int_equal(load_init(&load, 2, 0), ESP_OK);
        assert_true(estimate_fill(&estimate, &request, &computer, &load, &standing, 0, &arena));
        estimate_told_cost(&estimate, &request, &cost);
        is_by(&cost, wanted ? BY_RANKS : BY_NOT_TOLD,
              wanted ? (struct process_grid){2, 2, 64} : (struct process_grid){0});
        load_release(&load);
        arena_clear(&arena);
    }
}

static void grids_that_were_sent_arrive(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct cost_set got;
    uint32_t length, grids_length;
    uint8_t *data = cost_encode(&set, &arena, &length),
            *grids = cost_grids_encode(&set, &arena, &grids_length);
    assert_non_null(grids);
    for (uint32_t cut = 0; cut <= grids_length; cut++) {
        assert_true(cost_decode(data, length, &got));
        cost_grids_decode(grids, cut, &got);
        const struct request_cost cost = cost_of(&got, ONLY, 10);
        is_by(&cost, cut < 1 + 10 + 8 ? BY_WORKER : BY_RANKS,
              cut < 1 + 10 + 8 ? (struct process_grid){0} : (struct process_grid){1, 4, 8});
        cost_set_clear(&got);
    }
    memset(grids + 1 + 10, 0, 2); /* no rows */
    assert_true(cost_decode(data, length, &got));
    cost_grids_decode(grids, grids_length, &got);
    const struct request_cost cost = cost_of(&got, ONLY, 10);
    is_by(&cost, BY_RANKS, (struct process_grid){0});
    cost_set_clear(&got);
    cost_grids_decode(grids, grids_length, &got); /* into a set without any ranks */
    assert_int_equal(got.n_ranks, 0);
    arena_clear(&arena);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(between_points_and_beyond_them),
        TEST(what_is_not_known_takes_for_ever),
        TEST(the_bound_is_below_all_of_it),
        TEST(an_estimate_is_of_whichever_is_faster),
        TEST(what_was_sent_arrives),
        TEST(who_computes_is_told_with_the_grid_of_the_nearest_point),
        TEST(what_only_ranks_compute_is_theirs),
        TEST(an_estimate_for_a_forecast_tells_who_computes),
        TEST(grids_that_were_sent_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
