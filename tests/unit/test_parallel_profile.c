/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile of ranks: it is unchanged after it was written and read. */
#include "tests/unit/unit.h"
#include "core/forecast/parallel_profile.h"
#include "util/crc32c.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct parallel_profile known(void)
{
    struct parallel_profile profile = {.ranks = 4};
    const struct parallel_speed speed = {
        .flops = 1.6e10, .update_s = 1e-9, .latency_s = 3e-6, .byte_s = 2.5e-10};
    parallel_profile_measured(&profile, &speed);
    return profile;
}

/* With kernels and broadcasts. */
static struct parallel_profile known_well(void)
{
    struct parallel_profile profile = known();
    struct parallel_speed speed = {.fill_byte_s = 4e-10,
                                   .panel = 32,
                                   .processors = 2,
                                   .sharers = 4,
                                   .column_s = 2e-5,
                                   .gain = 1.78,
                                   .broadcast = 4,
                                   .broadcast_latency_s = 6e-6,
                                   .broadcast_byte_s = 1e-10};
    for (int kernel = 0; kernel < PARALLEL_KERNELS; kernel++)
        speed.kernels.of[kernel][0] = 1e-10 * (kernel + 1);
    speed.kernels.of[PARALLEL_GETF2][4] = 3e-6;
    parallel_profile_measured(&profile, &speed);
    return profile;
}

static void a_new_measurement_counts_as_much_as_what_is_known(void **state)
{
    (void)state;
    struct parallel_profile profile = known();
    struct parallel_speed fresh = {
        .flops = 0.4e10, .update_s = 1e-9, .latency_s = 3e-6}; /* 0: not measured */
    parallel_profile_measured(&profile, &fresh);
    assert_true(fabs(profile.speed.flops / 0.8e10 - 1) < 1e-9);
    assert_true(profile.speed.byte_s == 2.5e-10);
    profile = known_well();
    fresh = profile.speed;
    fresh.gain = 1;
    fresh.kernels.of[PARALLEL_GETF2][4] = 5e-6;
    parallel_profile_measured(&profile, &fresh);
    assert_true(fabs(profile.speed.kernels.of[PARALLEL_GETF2][4] / 4e-6 - 1) < 1e-9);
    assert_true(profile.speed.kernels.of[PARALLEL_GEMM][0] == 1e-10);
    assert_true(profile.speed.gain == 1); /* of now: other work comes and goes */
}

/* One kernel or broadcast moves what is made of it, and nothing else. */
static void kernels_and_broadcasts_are_those_that_were_measured(void **state)
{
    (void)state;
    struct parallel_profile profile = known_well();
    struct parallel_machine machine = parallel_profile_machine(&profile);
    const struct parallel_grid one = {1, 1}, column = {4, 1};
    const double alone_s = parallel_getrf_s(&machine, one, 64, 1000),
                 together_s = parallel_getrf_s(&machine, column, 64, 1000),
                 product_s = parallel_gemm_s(&machine, column, 64, 1000, 1000, 1000);
    assert_string_equal(machine.broadcast->name, "split");
    assert_true(fabs(parallel_broadcast_s(&machine, 4, 1e6) - (5 * 6e-6 + 1.5 * 8e6 * 1e-10)) < 1e-9);
    profile.speed.column_s = 4e-5; /* of 1000 columns; 4 ranks: twice each */
    machine = parallel_profile_machine(&profile);
    assert_true(parallel_getrf_s(&machine, one, 64, 1000) == alone_s);
    assert_true(fabs(parallel_getrf_s(&machine, column, 64, 1000) - together_s - 16 * 64 * 2 * 2e-5) < 1e-6);
    profile.speed.kernels.of[PARALLEL_GETF2][4] += 1e-3; /* of 16 panels */
    machine = parallel_profile_machine(&profile);
    assert_true(fabs(parallel_getrf_s(&machine, one, 64, 1000) - alone_s - 16e-3) < 1e-6);
    assert_true(parallel_gemm_s(&machine, column, 64, 1000, 1000, 1000) == product_s);
    assert_true(fabs(parallel_speed_fill_s(&profile.speed, 1e9, 2) - 0.2) < 1e-9);
}

/* Corrections from calls belong to the models as they were: a slow start of the next job must not spoil
 * the new models. */
static void what_calls_told_is_not_spoiled_by_a_new_measurement(void **state)
{
    (void)state;
    struct parallel_profile profile = known();
    experience_learn(&profile.experience, "pdgemm_", (struct parallel_grid){1, 2}, 64, 1, 1.2);
    const struct parallel_speed slow = {
        .flops = 0.1e10, .update_s = 1e-8, .latency_s = 3e-5, .byte_s = 1e-9, .broadcast = 2};
    parallel_profile_measured(&profile, &slow);
    assert_true(profile.speed.flops == 1.6e10 && profile.speed.byte_s == 2.5e-10);
    assert_int_equal(profile.speed.broadcast, 0);
}

static void who_knows_more_calls_brings_the_models_that_these_are_of(void **state)
{
    (void)state;
    const struct parallel_grid row = {1, 2}, column = {2, 1};
    struct parallel_profile profile = known(), other = known();
    experience_learn(&profile.experience, "pdgemm_", row, 64, 1, 1.2);
    experience_learn(&other.experience, "pdgemm_", column, 64, 1, 1.2);
    assert_int_equal(parallel_profile_adopt(&profile, &other), 1); /* the same models: both */
    assert_int_equal(profile.experience.n, 2);
    other.speed.flops *= 2;
    assert_int_equal(parallel_profile_adopt(&profile, &other), 0);
    assert_true(profile.speed.flops == 1.6e10);
    for (int i = 1; i < 4; i++)
        experience_learn(&other.experience, "pdgemm_", column, 64, 1 << i, 2 << i);
    assert_int_equal(parallel_profile_adopt(&profile, &other), 1);
    assert_true(profile.speed.flops == 3.2e10 && profile.experience.n == 1);
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    const struct parallel_grid row = {1, 4}, square = {2, 2};
    struct parallel_profile profile = known_well(), read;
    struct esp_error error;
    size_t length;
    experience_learn(&profile.experience, "pdgemm_", row, 64, 1, 1.25);
    experience_learn(&profile.experience, "pzgetrf_", square, 16, 2, 1);
    char *text = parallel_profile_write(&profile, &length);
    assert_int_equal(parallel_profile_read(text, length, &read, &error), ESP_OK);
    assert_int_equal(read.ranks, 4);
    assert_int_equal(read.experience.n, 2);
    assert_memory_equal(&read.speed, &profile.speed, offsetof(struct parallel_speed, broadcast));
    assert_int_equal(read.speed.broadcast, 4);
    assert_true(parallel_profile_adopt(&read, &profile) == 0); /* the same models, and nothing new */
    assert_true(fabs(experience_factor(&read.experience, "pzgetrf_", square, 16, 2) - 0.5) < 1e-4);
    for (size_t i = 0; i < length; i++) { /* cut anywhere, or with any byte changed, it is refused */
        assert_int_equal(parallel_profile_read(text, i, &read, &error), ESP_INVALID);
        text[i] ^= 1;
        assert_int_equal(parallel_profile_read(text, length, &read, &error), ESP_INVALID);
        text[i] ^= 1;
    }
    free(text);
}

/* A file of a server that measured no kernels. */
static void what_an_earlier_version_has_written_is_read(void **state)
{
    (void)state;
    static const char lines[] = "espalier-ranks 1\nranks 2\nflops 1.6e+10\nupdate_s 1e-09\nlatency_s 3e-06\n"
                                "byte_s 2.5e-10\ntook pdgemm_ 1 2 64 -2.31:0.12\n";
    char text[300];
    struct parallel_profile read, before = known();
    struct esp_error error;
    snprintf(text, sizeof text, "%send %08x\n", lines, (unsigned)crc32c(0, lines, strlen(lines)));
    assert_int_equal(parallel_profile_read(text, strlen(text), &read, &error), ESP_OK);
    assert_int_equal(read.experience.n, 0); /* the models were other ones */
    const struct parallel_machine machine = parallel_profile_machine(&read),
                                  same = parallel_profile_machine(&before);
    assert_memory_equal(&machine, &same, sizeof machine);
    assert_true(fabs(parallel_speed_fill_s(&read.speed, 1e9, 2) - 0.25) < 1e-9);
}

/* A file of a server that believed a single call. */
static void what_one_call_told_an_earlier_version_is_of_its_grid_alone(void **state)
{
    (void)state;
    static const char lines[] =
        "espalier-ranks 3\nranks 2\nflops 1.6e+10\ntook pdtrsm_ 2 1 128 -1.4283:1.3863\n";
    const struct parallel_grid row = {1, 2}, column = {2, 1};
    char text[300];
    struct parallel_profile read;
    struct esp_error error;
    snprintf(text, sizeof text, "%send %08x\n", lines, (unsigned)crc32c(0, lines, strlen(lines)));
    assert_int_equal(parallel_profile_read(text, strlen(text), &read, &error), ESP_OK);
    assert_true(fabs(experience_factor(&read.experience, "pdtrsm_", column, 128, 0.24) - 4) < 1e-3);
    assert_true(experience_factor(&read.experience, "pdtrsm_", column, 64, 0.24) == 1);
    assert_true(experience_factor(&read.experience, "pdtrsm_", row, 128, 0.24) == 1);
}

/* A call that is not believed yet is written to no file, and keeps ranks from measuring no more than none. */
static void a_call_that_waits_for_a_second_one_counts_for_nothing(void **state)
{
    (void)state;
    struct parallel_profile profile = known();
    size_t length;
    experience_learn(&profile.experience, "pdgemm_", (struct parallel_grid){1, 2}, 64, 1, 4);
    const struct parallel_speed fresh = {.flops = 0.8e10};
    parallel_profile_measured(&profile, &fresh);
    assert_true(profile.speed.flops < 1.6e10);
    char *text = parallel_profile_write(&profile, &length);
    assert_null(strstr(text, "took"));
    free(text);
}

/* Cost of small blocks: a product of short sums reads and writes its result all the same. */
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
        cmocka_unit_test(what_an_earlier_version_has_written_is_read),
        cmocka_unit_test(what_one_call_told_an_earlier_version_is_of_its_grid_alone),
        cmocka_unit_test(a_call_that_waits_for_a_second_one_counts_for_nothing),
        cmocka_unit_test(kernels_and_broadcasts_are_those_that_were_measured),
        cmocka_unit_test(small_blocks_are_dearer_than_large_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
