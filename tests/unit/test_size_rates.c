/* SPDX-License-Identifier: Apache-2.0
 *
 * Rates by size: each size is forecast from measurements of similar sizes, and between them the times add
 * up. */
#include "core/forecast/size_rates.h"
#include "tests/unit/unit.h"

#define MB 1e6

static double seconds_at(const struct size_rates *rates, double bytes)
{
    return bytes / size_rates_at(rates, bytes);
}

static void nothing_is_known_at_first(void **state)
{
    (void)state;
    struct size_rates rates = {0};
    struct size_rate rate;
    assert_true(size_rates_at(&rates, MB) == 0);
    assert_false(size_rates_class(&rates, 0, &rate));
    size_rates_add(&rates, MB, 0);
    assert_true(size_rates_at(&rates, MB) == 0);
}

static void each_size_has_its_rate_and_what_lies_between_a_time_between(void **state)
{
    (void)state;
    struct size_rates rates = {0};
    size_rates_add(&rates, 100 * MB, 1e9);
    size_rates_add(&rates, 1 * MB, 4e9);
    assert_float_equal(size_rates_at(&rates, 1 * MB), 4e9, 1);
    assert_float_equal(size_rates_at(&rates, 100 * MB), 1e9, 1);
    assert_float_equal(size_rates_at(&rates, 0.1 * MB), 4e9, 1);
    assert_float_equal(size_rates_at(&rates, 10000 * MB), 1e9, 1);
    assert_float_equal(seconds_at(&rates, 50.5 * MB), (0.00025 + 0.1) / 2, 1e-9);
    for (double bytes = 0.1 * MB, last_s = 0; bytes < 1000 * MB; bytes *= 1.1) {
        assert_true(seconds_at(&rates, bytes) > last_s);
        last_s = seconds_at(&rates, bytes);
    }
}

/* A transfer that was delayed alone in its class takes no longer than a greater one that was not. */
static void a_size_takes_no_longer_than_a_greater_one(void **state)
{
    (void)state;
    struct size_rates rates = {0};
    size_rates_add(&rates, 2 * MB, 10e6);
    size_rates_add(&rates, 20 * MB, 1e9);
    assert_float_equal(seconds_at(&rates, 2 * MB), 0.02, 1e-9);
    assert_float_equal(seconds_at(&rates, 20 * MB), 0.02, 1e-9);
}

static void the_median_of_the_last_three_of_a_class_counts(void **state)
{
    (void)state;
    struct size_rates rates = {0};
    size_rates_add(&rates, 2 * MB, 0.1e9);
    size_rates_add(&rates, 2 * MB, 2e9);
    assert_float_equal(size_rates_at(&rates, 2 * MB), 2e9, 1);
    size_rates_add(&rates, 2 * MB, 1.8e9);
    assert_float_equal(size_rates_at(&rates, 2 * MB), 1.8e9, 1);
    size_rates_add(&rates, 2 * MB, 0.9e9);
    size_rates_add(&rates, 2 * MB, 0.8e9);
    assert_float_equal(size_rates_at(&rates, 2 * MB), 0.9e9, 1);
}

static void what_is_disproved_is_forgotten_with_what_is_smaller(void **state)
{
    (void)state;
    struct size_rates rates = {0};
    for (double bytes = 0.5 * MB; bytes < 1000 * MB; bytes *= 4)
        size_rates_add(&rates, bytes, 1e9 / bytes);
    size_rates_disprove(&rates, 10 * MB);
    assert_float_equal(size_rates_at(&rates, MB), 1e9 / (32 * MB), 1);
    assert_float_equal(size_rates_at(&rates, 1000 * MB), 1e9 / (512 * MB), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_at_first),
        cmocka_unit_test(each_size_has_its_rate_and_what_lies_between_a_time_between),
        cmocka_unit_test(a_size_takes_no_longer_than_a_greater_one),
        cmocka_unit_test(the_median_of_the_last_three_of_a_class_counts),
        cmocka_unit_test(what_is_disproved_is_forgotten_with_what_is_smaller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
