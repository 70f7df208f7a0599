/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of ranks: the same after it was written and read.
 */
#include "tests/unit/unit.h"
#include "core/forecast/parallel_profile.h"

#include <math.h>
#include <stdlib.h>

static struct parallel_profile known(void)
{
    struct parallel_profile profile = {.ranks = 4};
    parallel_profile_measured(&profile, 1.6e10, 1e-9, 3e-6, 2.5e-10);
    return profile;
}

static void a_new_measurement_counts_as_much_as_what_is_known(void **state)
{
    (void)state;
    struct parallel_profile profile = known();
    parallel_profile_measured(&profile, 0.4e10, 1e-9, 3e-6, 0); /* 0: could not be measured */
    assert_true(fabs(profile.flops / 0.8e10 - 1) < 1e-9);
    assert_true(profile.byte_s == 2.5e-10);
}

/* What calls told is of the models as they were: a slow start of the next job must not spoil it. */
static void what_calls_told_is_not_spoiled_by_a_new_measurement(void **state)
{
    (void)state;
    struct parallel_profile profile = known();
    experience_learn(&profile.experience, "pdgemm_", (struct parallel_grid){1, 2}, 64, 1, 2);
    parallel_profile_measured(&profile, 0.1e10, 1e-8, 3e-5, 1e-9);
    assert_true(profile.flops == 1.6e10 && profile.byte_s == 2.5e-10);
}

static void who_knows_more_calls_brings_the_models_that_these_are_of(void **state)
{
    (void)state;
    const struct parallel_grid row = {1, 2}, column = {2, 1};
    struct parallel_profile profile = known(), other = known();
    experience_learn(&profile.experience, "pdgemm_", row, 64, 1, 2);
    experience_learn(&other.experience, "pdgemm_", column, 64, 1, 2);
    assert_int_equal(parallel_profile_adopt(&profile, &other), 1); /* the same models: both */
    assert_int_equal(profile.experience.n, 2);
    other.flops *= 2;
    assert_int_equal(parallel_profile_adopt(&profile, &other), 0);
    assert_true(profile.flops == 1.6e10);
    for (int i = 1; i < 4; i++)
        experience_learn(&other.experience, "pdgemm_", column, 64, 1 << i, 2 << i);
    assert_int_equal(parallel_profile_adopt(&profile, &other), 1);
    assert_true(profile.flops == 3.2e10 && profile.experience.n == 1);
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    const struct parallel_grid row = {1, 4}, square = {2, 2};
    struct parallel_profile profile = known(), read;
    struct esp_error error;
    size_t length;
    experience_learn(&profile.experience, "pdgemm_", row, 64, 1, 1.25);
    experience_learn(&profile.experience, "pzgetrf_", square, 16, 2, 1);
    char *text = parallel_profile_write(&profile, &length);
    assert_int_equal(parallel_profile_read(text, length, &read, &error), ESP_OK);
    assert_int_equal(read.ranks, 4);
    assert_int_equal(read.experience.n, 2);
    assert_true(read.flops == profile.flops && read.latency_s == profile.latency_s);
    assert_true(fabs(experience_factor(&read.experience, "pzgetrf_", square, 16, 2) - 0.5) < 1e-4);
    for (size_t i = 0; i < length; i++) { /* cut anywhere, or with any byte changed, it is refused */
        assert_int_equal(parallel_profile_read(text, i, &read, &error), ESP_INVALID);
        text[i] ^= 1;
        assert_int_equal(parallel_profile_read(text, length, &read, &error), ESP_INVALID);
        text[i] ^= 1;
    }
    free(text);
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
        cmocka_unit_test(a_new_measurement_counts_as_much_as_what_is_known),
        cmocka_unit_test(what_calls_told_is_not_spoiled_by_a_new_measurement),
        cmocka_unit_test(who_knows_more_calls_brings_the_models_that_these_are_of),
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(small_blocks_are_dearer_than_large_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
