/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of ranks: learned from calls, and the same after it was written and read.
 */
#include "tests/unit/unit.h"
#include "core/forecast/parallel_profile.h"

#include <math.h>
#include <stdio.h>

static struct parallel_profile known(void)
{
    struct parallel_profile profile = {.ranks = 4};
    parallel_profile_measured(&profile, 1.6e10, 1e-9, 3e-6, 2.5e-10);
    return profile;
}

static void calls_that_take_twice_as_long_double_the_forecast(void **state)
{
    (void)state;
    struct parallel_profile profile = known();
    const double model_s = 0.5, taken_s = 1;
    for (int i = 0; i < 30; i++)
        parallel_profile_learn(&profile, "pdgemm_", model_s * parallel_profile_factor(&profile, "pdgemm_"),
                               taken_s);
    assert_true(fabs(parallel_profile_factor(&profile, "pdgemm_") - 2) < 0.01);
    assert_true(parallel_profile_factor(&profile, "pdgetrf_") == 1);
}

/* After many calls one outlier counts an eighth, and at most as four times the forecast. */
static void an_outlier_moves_little(void **state)
{
    (void)state;
    struct parallel_profile profile = known();
    for (int i = 0; i < 20; i++)
        parallel_profile_learn(&profile, "pdgemm_", 1, 1);
    parallel_profile_learn(&profile, "pdgemm_", 1, 1000);
    assert_true(parallel_profile_factor(&profile, "pdgemm_") < 1.2);
    for (int i = 0; i < 100; i++)
        parallel_profile_learn(&profile, "pdgemm_", 1, 1000);
    assert_true(parallel_profile_factor(&profile, "pdgemm_") <= 50);
}

static void what_tells_nothing_is_not_heeded(void **state)
{
    (void)state;
    struct parallel_profile profile = known();
    parallel_profile_learn(&profile, "pdgemm_", 1e-5, 9e-4); /* too short */
    parallel_profile_learn(&profile, "pdgemm_", 0, 1);
    parallel_profile_learn(&profile, "pdgemm_", NAN, 1);
    parallel_profile_learn(&profile, "pdgemm_", 1, INFINITY);
    parallel_profile_learn(&profile, "two words", 1, 2);
    assert_int_equal(profile.n_routines, 0);
    for (int i = 0; i < 2 * PROFILE_MOST_ROUTINES; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%d", i);
        parallel_profile_learn(&profile, name, 1, 2);
    }
    assert_int_equal(profile.n_routines, PROFILE_MOST_ROUTINES);
}

static void a_new_measurement_counts_as_much_as_what_is_known(void **state)
{
    (void)state;
    struct parallel_profile profile = known();
    parallel_profile_measured(&profile, 0.4e10, 1e-9, 3e-6, 0); /* 0: could not be measured */
    assert_true(fabs(profile.flops / 0.8e10 - 1) < 1e-9);
    assert_true(profile.byte_s == 2.5e-10);
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    char text[PROFILE_MOST_TEXT];
    struct parallel_profile profile = known(), read;
    struct esp_error error;
    parallel_profile_learn(&profile, "pdgemm_", 1, 1.25);
    parallel_profile_learn(&profile, "pzgetrf_", 1, 0.5);
    size_t length = parallel_profile_write(&profile, text);
    assert_int_equal(parallel_profile_read(text, length, &read, &error), ESP_OK);
    assert_int_equal(read.ranks, 4);
    assert_int_equal(read.n_routines, 2);
    assert_true(read.flops == profile.flops && read.latency_s == profile.latency_s);
    assert_true(fabs(parallel_profile_factor(&read, "pzgetrf_") - 0.5) < 1e-8);
    for (size_t i = 0; i < length; i++) { /* cut anywhere, or with any byte changed, it is refused */
        assert_int_equal(parallel_profile_read(text, i, &read, &error), ESP_INVALID);
        text[i] ^= 1;
        assert_int_equal(parallel_profile_read(text, length, &read, &error), ESP_INVALID);
        text[i] ^= 1;
    }
}

/* What small blocks cost: a product of short sums reads and writes its result all the same. */
static void small_blocks_are_dearer_than_large_ones(void **state)
{
    (void)state;
    const struct parallel_profile profile = known();
    const struct parallel_machine machine = parallel_profile_machine(&profile);
    const struct parallel_grid grid = {1, 2};
    assert_true(parallel_gemm_s(&machine, grid, 16, 1000, 1000, 1000) >
                1.2 * parallel_gemm_s(&machine, grid, 64, 1000, 1000, 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_take_twice_as_long_double_the_forecast),
        cmocka_unit_test(an_outlier_moves_little),
        cmocka_unit_test(what_tells_nothing_is_not_heeded),
        cmocka_unit_test(a_new_measurement_counts_as_much_as_what_is_known),
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(small_blocks_are_dearer_than_large_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
