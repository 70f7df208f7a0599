/* SPDX-License-Identifier: Apache-2.0
 *
 * Forecasts of parallel routines come true by what calls took.
 */
#include "tests/unit/unit.h"
#include "core/forecast/parallel_experience.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct parallel_grid row = {1, 2}, column = {2, 1};
static struct parallel_experience *known;

static int begin(void **state)
{
    (void)state;
    known = calloc(1, sizeof *known);
    return known ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    free(known);
    return 0;
}

static double factor(struct parallel_grid grid, int64_t block, double model_s)
{
    return experience_factor(known, "pdgemm_", grid, block, model_s);
}

static void learn(struct parallel_grid grid, int64_t block, double model_s, double taken_s)
{
    experience_learn(known, "pdgemm_", grid, block, model_s, taken_s);
}

static void calls_that_take_twice_as_long_double_the_forecast(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++)
        learn(row, 64, 0.5, 1);
    assert_true(fabs(factor(row, 64, 0.5) - 2) < 0.01);
    assert_true(experience_factor(known, "pdgetrf_", row, 64, 0.5) == 1);
}

/* Small calls take three times what the model says, large ones as long: what lies between is between, and
 * sizes that were never measured are off by little. */
static double truth(double model_s)
{
    return model_s * (1 + 2 / (1 + model_s / 0.01));
}

static void a_model_of_the_wrong_shape_is_right_at_sizes_between(void **state)
{
    (void)state;
    for (double model_s = 0.002; model_s < 1; model_s *= 1.6)
        learn(row, 64, model_s, truth(model_s));
    double errors = 0;
    int n = 0;
    for (double model_s = 0.0025; model_s < 0.9; model_s *= 1.3, n++)
        errors += fabs(model_s * factor(row, 64, model_s) / truth(model_s) - 1);
    assert_true(errors / n < 0.03);
}

static void sizes_beyond_what_is_known_are_as_the_nearest(void **state)
{
    (void)state;
    for (double model_s = 0.002; model_s < 1; model_s *= 1.6)
        learn(row, 64, model_s, truth(model_s));
    assert_true(fabs(factor(row, 64, 1000) / factor(row, 64, 1) - 1) < 0.01);
    assert_true(fabs(factor(row, 64, 1e-9) / factor(row, 64, 0.002) - 1) < 0.01);
}

/* Each grid and block size has a truth of its own; one that was never tried is taken for an average. */
static void grids_and_blocks_are_told_apart(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        learn(row, 64, 0.1 * (1 + i), 0.1 * (1 + i));
        learn(row, 16, 0.1 * (1 + i), 0.2 * (1 + i));
        learn(column, 64, 0.1 * (1 + i), 0.4 * (1 + i));
    }
    assert_true(fabs(factor(row, 64, 0.4) - 1) < 0.15);
    assert_true(fabs(factor(row, 16, 0.4) - 2) < 0.25);
    assert_true(fabs(factor(column, 64, 0.4) - 4) < 0.5);
    assert_true(factor((struct parallel_grid){2, 2}, 64, 0.4) > 1.2);
}

static void an_outlier_moves_little(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++)
        learn(row, 64, 0.5 + 0.2 * i, 0.5 + 0.2 * i);
    learn(row, 64, 1, 1000);
    assert_true(factor(row, 64, 1) < 1.1);
    for (int i = 0; i < 100; i++)
        learn(row, 64, 1, 1000);
    assert_true(factor(row, 64, 1) <= exp(EXPERIENCE_MOST_LOG));
}

/* A thousand calls of one size do not displace what was learned at others. */
static void a_stream_of_one_size_leaves_what_is_known_of_others(void **state)
{
    (void)state;
    for (double model_s = 0.002; model_s < 1; model_s *= 1.6)
        learn(row, 64, model_s, truth(model_s));
    const double before = factor(row, 64, 0.01);
    for (int i = 0; i < 1000; i++)
        learn(row, 64, 0.5, truth(0.5));
    assert_true(fabs(factor(row, 64, 0.01) / before - 1) < 0.05);
    assert_int_equal(experience_count(known, "pdgemm_", row, 64, 0.5), 3);
}

/* Calls that come in the order of their sizes, many of each: what is known of greater ones stays. */
static void calls_of_growing_sizes_displace_nothing_of_the_greatest(void **state)
{
    (void)state;
    for (double model_s = 0.002; model_s < 1; model_s *= 1.6)
        learn(row, 64, model_s, truth(model_s));
    for (double model_s = 0.002; model_s < 0.1; model_s *= 1.25)
        for (int i = 0; i < 6; i++)
            learn(row, 64, model_s, truth(model_s));
    assert_true(fabs(0.5 * factor(row, 64, 0.5) / truth(0.5) - 1) < 0.03);
}

/* One call in five was held up by others: the forecast is of the other four. */
static void calls_that_were_held_up_count_little(void **state)
{
    (void)state;
    int i = 0;
    for (double model_s = 0.002; model_s < 1; model_s *= 1.3, i++)
        learn(row, 64, model_s, model_s * (i % 5 == 2 ? 1.8 : 1.2));
    assert_true(fabs(factor(row, 64, 0.05) / 1.2 - 1) < 0.04);
}

static void what_tells_nothing_is_not_heeded(void **state)
{
    (void)state;
    learn(row, 64, 1e-5, 2e-4); /* too short */
    learn(row, 64, 0, 1);
    learn(row, 64, NAN, 1);
    learn(row, 64, 1, INFINITY);
    experience_learn(known, "two words", row, 64, 1, 2);
    assert_int_equal(known->n, 0);
}

static void of_too_many_grids_the_least_known_is_forgotten(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        learn(row, 64, 1 << i, 2 << i);
    for (int i = 0; i < 2 * EXPERIENCE_MOST_GRIDS; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%d", i);
        experience_learn(known, name, row, 64, 1, 2);
    }
    assert_int_equal(known->n, EXPERIENCE_MOST_GRIDS);
    assert_true(fabs(factor(row, 64, 2) - 2) < 0.01);
}

/* ---- calls that were held up, and those that were not ---- */

static const struct parallel_grid square = {2, 2};

/* The first call ever, and one of many: a rank was stopped in it. */
static void one_slow_call_moves_nothing(void **state)
{
    (void)state;
    learn(column, 128, 0.24, 3.2);
    assert_true(experience_is_empty(known));
    assert_true(factor(column, 128, 0.24) == 1 && factor(row, 64, 0.24) == 1);
    learn(column, 128, 0.24, 0.25);
    const double before = factor(column, 128, 0.24);
    learn(column, 128, 0.24, 3.2);
    assert_true(factor(column, 128, 0.24) == before);
    learn(column, 128, 0.24, 0.25); /* it was an accident, so that the next one is the first again */
    learn(column, 128, 0.24, 3.2);
    assert_true(factor(column, 128, 0.24) < 1.1);
}

/* They count as the lesser of the two. */
static void calls_that_are_slow_one_after_another_are_learned(void **state)
{
    (void)state;
    learn(row, 64, 0.5, 1.6);
    learn(row, 64, 0.5, 1.4);
    assert_true(fabs(factor(row, 64, 0.5) - 2.8) < 0.01);
    for (int i = 0; i < 6; i++)
        learn(column, 64, 0.5, 10);
    assert_true(fabs(factor(column, 64, 0.5) - 20) < 1);
}

/* Of those that do not surprise, too. */
static void the_median_of_one_size_counts(void **state)
{
    (void)state;
    learn(row, 64, 0.5, 0.5);
    learn(row, 64, 0.5, 0.5);
    learn(row, 64, 0.5, 0.72);
    assert_true(fabs(factor(row, 64, 0.5) - 1) < 0.01);
    learn(row, 64, 0.5, 0.72);
    assert_true(fabs(factor(row, 64, 0.5) - 1.44) < 0.02);
}

static void other_grids_are_moved_in_part_when_several_calls_agree(void **state)
{
    (void)state;
    learn(row, 64, 0.5, 0.25); /* quicker: counts at once, there */
    assert_true(fabs(factor(row, 64, 0.5) - 0.5) < 0.01);
    assert_true(factor(square, 64, 0.5) == 1 && factor(row, 16, 0.5) == 1);
    learn(row, 64, 0.5, 0.25);
    assert_true(factor(square, 64, 0.5) > 0.7 && factor(square, 64, 0.5) < 0.9);
    for (int i = 0; i < 3; i++) {
        learn(row, 16, 0.5, 0.25);
        learn(column, 16, 0.5, 0.25);
        learn(column, 64, 0.5, 0.25);
    }
    assert_true(factor(square, 64, 0.5) < 0.6);
}

static int passes_until_change(void)
{
    for (int i = 1; i < 10000; i++)
        if (experience_pass(known, "pdgemm_"))
            return i;
    return 0;
}

static void what_speaks_against_a_grid_fades_while_calls_go_elsewhere(void **state)
{
    (void)state;
    learn(row, 64, 0.5, 2);
    learn(row, 64, 0.5, 2);
    learn(column, 64, 0.5, 0.5);
    assert_true(fabs(factor(row, 64, 0.5) - 4) < 0.1);
    for (int i = 0; i < 15; i++)
        assert_false(experience_pass(known, "pdgemm_"));
    learn(row, 64, 0.5, 2); /* has been made there again */
    for (int i = 0; i < 100; i++)
        assert_false(experience_pass(known, "pdgetrf_"));
    const int first = passes_until_change();
    assert_in_range(first, 30, 40); /* three calls are known */
    assert_true(fabs(factor(row, 64, 0.5) - 2) < 0.1);
    assert_in_range(passes_until_change(), 2 * first - 2, 2 * first);
    assert_true(factor(row, 64, 0.5) < 1.5);
    assert_int_equal(passes_until_change(), 0); /* the rest is what models are off by */
    assert_true(fabs(factor(column, 64, 0.5) - 1) < 0.1);
}

static void a_grid_that_is_as_slow_as_before_is_known_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        learn(row, 64, 0.5, 2);
    const int first = passes_until_change();
    passes_until_change();
    assert_true(factor(row, 64, 0.5) < 1.5);
    learn(row, 64, 0.5, 2);
    assert_true(fabs(factor(row, 64, 0.5) - 4) < 0.1);
    assert_in_range(passes_until_change(), 4 * first - 4, 4 * first); /* and is tried less often */
}

static void a_grid_that_is_slow_no_more_is_taken_for_quick(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        learn(row, 64, 0.5, 2);
    passes_until_change();
    for (int i = 0; i < 2; i++)
        learn(row, 64, 0.5, 0.5);
    assert_true(fabs(factor(row, 64, 0.5) - 1) < 0.1);
}

static void what_another_has_measured_is_taken_over(void **state)
{
    (void)state;
    struct parallel_experience *other = calloc(1, sizeof *other);
    learn(row, 64, 1, 2);
    learn(column, 64, 1, 3);
    learn(column, 64, 2, 6);
    for (int i = 0; i < 3; i++)
        experience_learn(other, "pdgemm_", row, 64, 1 << i, 4 << i);
    experience_learn(other, "pdgemm_", column, 64, 1, 1);
    assert_int_equal(experience_adopt(known, other), 1);
    assert_int_equal(experience_count(known, "pdgemm_", row, 64, 4), 1);
    assert_int_equal(experience_count(known, "pdgemm_", column, 64, 2), 1);
    free(other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(calls_that_take_twice_as_long_double_the_forecast),
        TEST(a_model_of_the_wrong_shape_is_right_at_sizes_between),
        TEST(sizes_beyond_what_is_known_are_as_the_nearest),
        TEST(grids_and_blocks_are_told_apart),
        TEST(an_outlier_moves_little),
        TEST(a_stream_of_one_size_leaves_what_is_known_of_others),
        TEST(calls_of_growing_sizes_displace_nothing_of_the_greatest),
        TEST(calls_that_were_held_up_count_little),
        TEST(what_tells_nothing_is_not_heeded),
        TEST(of_too_many_grids_the_least_known_is_forgotten),
        TEST(one_slow_call_moves_nothing),
        TEST(calls_that_are_slow_one_after_another_are_learned),
        TEST(the_median_of_one_size_counts),
        TEST(other_grids_are_moved_in_part_when_several_calls_agree),
        TEST(what_speaks_against_a_grid_fades_while_calls_go_elsewhere),
        TEST(a_grid_that_is_as_slow_as_before_is_known_at_once),
        TEST(a_grid_that_is_slow_no_more_is_taken_for_quick),
        TEST(what_another_has_measured_is_taken_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
