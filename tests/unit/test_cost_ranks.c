/* SPDX-License-Identifier: Apache-2.0
 *
 * What calls take on the ranks of a server, as agents weigh it.
 */
#include "tests/unit/unit.h"
#include "core/choice/estimate.h"

#include <math.h>
#include <string.h>

#define DIGEST 7

static struct cost_set set;

static int begin(void **state)
{
    (void)state;
    struct cost_ranks ranks[] = {
        {.digest = DIGEST, .n = 3, .work_flop = {1e6F, 1e8F, 1e10F}, .seconds = {1e-3F, 1e-2F, 0.5F}},
        {.digest = 3, .n = 1, .work_flop = {1e6F}, .seconds = {1}}};
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(between_points_and_beyond_them), TEST(what_is_not_known_takes_for_ever),
        TEST(the_bound_is_below_all_of_it),   TEST(an_estimate_is_of_whichever_is_faster),
        TEST(what_was_sent_arrives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
