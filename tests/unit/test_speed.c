/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "sed/forecast/speed.h"
#include "core/choice/estimate.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>

enum { DGEMM = 7, DSYEV = 3 };

static double speed_of(const struct speed *speed, uint64_t digest)
{
    const struct problem_speed *called = problem_speed_find(&speed->called, digest);
    return called ? called->flops : speed->measured;
}

/* Of a call of that work. */
static double forecast(const struct speed *speed, uint64_t digest, double work_flop)
{
    const struct problem_speed *called = problem_speed_find(&speed->called, digest);
    return called ? problem_speed_s(called, work_flop) : work_flop / speed->measured;
}

static bool near(double value, double expected)
{
    return fabs(value - expected) <= 0.01 * expected;
}

static void calls_move_the_speed_of_their_problem_to_what_they_reach(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    for (int i = 0; i < 10; i++)
        speed_observe(&speed, DSYEV, "lapack", 3e9, 1.0);
    assert_true(near(speed_of(&speed, DSYEV), 3e9));
    speed_release(&speed);
}

static void they_say_nothing_of_other_problems(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 36e9);
    for (int i = 0; i < 100; i++)
        speed_observe(&speed, DSYEV, "lapack", 1e9, 1.0);
    assert_true(speed_of(&speed, DGEMM) == 36e9);
    assert_true(speed.measured == 36e9);
    for (int i = 0; i < 100; i++)
        speed_observe(&speed, DGEMM, "blas", 40e9, 1.0);
    assert_true(near(speed_of(&speed, DGEMM), 40e9));
    assert_true(near(speed_of(&speed, DSYEV), 1e9));
    assert_true(speed.measured == 36e9);
    speed_release(&speed);
}

static void a_single_slow_call_moves_nothing(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    for (int i = 0; i < 6; i++)
        speed_observe(&speed, DGEMM, "blas", 10e9, 1.0);
    assert_false(speed_observe(&speed, DGEMM, "blas", 10e9, 60.0));
    assert_true(near(speed_of(&speed, DGEMM), 10e9));
    speed_release(&speed);
}

static void nonsense_does_not_count(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    for (int i = 0; i < 50; i++) {
        speed_observe(&speed, DGEMM, "blas", 1e300, 0);
        speed_observe(&speed, DGEMM, "blas", 1e300, 1e-30);
        speed_observe(&speed, DGEMM, "blas", -1, -1);
        speed_observe(&speed, DGEMM, "blas", 1e9, 0.0 / 0.0);
        speed_observe(&speed, DGEMM, "blas", 1e6, HUGE_VAL);
    }
    speed_measured(&speed, 0.0 / 0.0);
    speed_measured(&speed, -5);
    assert_true(speed_of(&speed, DGEMM) == 10e9);
    assert_int_equal(speed.called.n, 0);
}

/* The speed does not depend on the declared work. A single short call may have been a worker's first one,
 * and does not count. */
static void what_a_call_took_is_the_forecast_of_the_next_one(void **state)
{
    (void)state;
    static const double works[] = {0, 0.0 / 0.0, 20, 1e5, 1e7, 1e9, 1e13};
    static const double times[] = {1e-3, 0.04, 0.5, 60};
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        for (size_t k = 0; k < sizeof times / sizeof *times; k++) {
            struct speed speed = {0};
            speed_measured(&speed, 10e9);
            if (times[k] < ESTIMATE_UNKNOWN_S)
                assert_false(speed_observe(&speed, DGEMM, "blas", works[i], times[k]));
            assert_true(speed_observe(&speed, DGEMM, "blas", works[i], times[k]));
            assert_true(near(forecast(&speed, DGEMM, works[i]), times[k]));
            assert_true(speed_of(&speed, DSYEV) == 10e9);
            speed_release(&speed);
        }
}

static void a_single_short_call_leaves_the_forecast_to_the_description(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    speed_observe(&speed, DGEMM, "blas", 1e6, 0.03);
    assert_true(near(forecast(&speed, DGEMM, 1e6), 1e-4));
    speed_observe(&speed, DGEMM, "blas", 1e6, 1e-3);
    assert_true(near(forecast(&speed, DGEMM, 1e6), 1e-3));
    speed_release(&speed);
}

static void declared_work_that_is_far_too_small_is_taken_for_none(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    speed_observe(&speed, DGEMM, "blas", 20, 0.5);
    assert_true(near(forecast(&speed, DGEMM, 2000), 0.5));
    assert_true(near(forecast(&speed, DGEMM, 0), 0.5));
    speed_release(&speed);
}

/* Small calls say what a call costs, and nothing of the speed of great ones. */
static void small_calls_leave_great_ones_to_the_measurement(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    for (int i = 0; i < 5; i++)
        speed_observe(&speed, DGEMM, "blas", 2000 * (i + 1), 5e-6 + 1e-6 * i);
    assert_true(near(forecast(&speed, DGEMM, 16e9), 1.6));
    speed_release(&speed);
}

static void calls_of_several_sizes_tell_what_grows_and_what_does_not(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    for (int i = 1; i <= 4; i++) /* 0.2 s and 1 s per Mflop: declared a thousand times too small */
        speed_observe(&speed, DGEMM, "blas", 1e6 * i, 0.2 + i);
    assert_true(near(forecast(&speed, DGEMM, 8e6), 8.2));
    assert_true(near(forecast(&speed, DGEMM, 0), 0.2));
    for (int i = 0; i < SPEED_OBSERVATIONS; i++) /* a sleep: 0.5 s for any size */
        speed_observe(&speed, DSYEV, "lapack", 10 << i, 0.5);
    assert_true(near(forecast(&speed, DSYEV, 1), 0.5));
    assert_true(near(forecast(&speed, DSYEV, 1e6), 0.5));
    speed_release(&speed);
}

static void tiny_calls_are_told_once(void **state)
{
    (void)state;
    struct speed speed = {0};
    unsigned told = 0;
    speed_measured(&speed, 10e9);
    for (int i = 0; i < 1000; i++)
        told += speed_observe(&speed, DGEMM, "blas", 2000, 5e-6 * (1 + i % 3));
    assert_int_equal(told, 1);
    speed_release(&speed);
}

static void another_implementation_begins_anew(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    for (int i = 0; i < 15; i++)
        speed_observe(&speed, DSYEV, "reference", 1e9, 1.0);
    for (int i = 0; i < 4; i++)
        speed_observe(&speed, DSYEV, "lapack", 30e9, 1.0);
    assert_true(near(speed_of(&speed, DSYEV), 30e9));
    assert_int_equal(speed.called.n, 1);
    speed_release(&speed);
}

static void a_lasting_change_is_worth_telling(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    int told = 0;
    for (int i = 0; i < 10; i++)
        told += speed_observe(&speed, DSYEV, "lapack", 1e9, 1.0);
    assert_true(told >= 1 && told <= 3);
    assert_false(speed_measured(&speed, 11e9)); /* calls say more of it */
    speed_release(&speed);
}

static void a_measurement_moves_nothing_that_was_called(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    speed_observe(&speed, DSYEV, "lapack", 1e9, 1.0);
    assert_false(speed_measured(&speed, 5e9));
    assert_true(near(speed_of(&speed, DSYEV), 1e9));
    speed_release(&speed);
}

static void the_problem_that_was_called_the_longest_ago_makes_room(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    for (uint64_t digest = SPEED_MOST + 1; digest > 0; digest--)
        for (int i = 0; i < 4; i++)
            speed_observe(&speed, digest, "lapack", (double)digest * 1e9, 1.0);
    assert_int_equal(speed.called.n, SPEED_MOST);
    assert_true(speed_of(&speed, SPEED_MOST + 1) == 10e9);
    for (uint64_t digest = 1; digest <= SPEED_MOST; digest++)
        assert_true(near(speed_of(&speed, digest), (double)digest * 1e9));
    speed_release(&speed);
}

static void agents_read_what_was_told(void **state)
{
    (void)state;
    struct speed speed = {0};
    struct arena arena = {0};
    struct extensions extensions = {0};
    struct problem_speeds read;
    speed_measured(&speed, 10e9);
    assert_true(problem_speeds_add(&extensions, &speed.called, &arena));
    assert_int_equal(extensions.n, 0);
    for (int i = 0; i < 5; i++) {
        speed_observe(&speed, DGEMM, "blas", 20e9, 1.0);
        speed_observe(&speed, DSYEV, "lapack", 1e9, 1.0);
    }
    assert_true(speed_waits(&speed, DSYEV, 0.75));
    assert_true(problem_speeds_add(&extensions, &speed.called, &arena));
    assert_int_equal(extensions.n, 1);
    assert_true(problem_speeds_read(&extensions.items[0], &read));
    assert_int_equal(read.n, 2);
    assert_true(problem_speed_find(&read, DGEMM)->flops == speed_of(&speed, DGEMM));
    assert_true(problem_speed_find(&read, DSYEV)->flops == speed_of(&speed, DSYEV));
    assert_true(problem_speed_find(&read, DGEMM)->waits == 0);
    assert_true(problem_speed_find(&read, DSYEV)->waits > 0);
    assert_true(problem_speed_waits(&read) == problem_speed_find(&read, DSYEV)->waits);
    assert_null(problem_speed_find(&read, 5));
    assert_true(problem_speed_most(&read, 1) == speed_of(&speed, DGEMM));
    free(read.items);
    speed_release(&speed);
    arena_clear(&arena);
}

static void nonsense_that_is_told_is_left_out(void **state)
{
    (void)state;
    static const double values[][3] = {{-1, 0},          {0, 0},          {0.0 / 0.0, 0}, {HUGE_VAL, 0},
                                       {2e9, 0.0 / 0.0}, {2e9, HUGE_VAL}, {2e9, -1},      {2e9, 1, -1},
                                       {2e9, 1, 1.5},    {2e9, 0.5, 1}};
    enum { N = sizeof values / sizeof *values };
    uint8_t bytes[N * 32 + 7] = {0};
    struct problem_speeds read;
    for (uint64_t i = 0; i < N; i++) {
        const uint64_t digest = htole64(5 + N - 1 - i);
        memcpy(bytes + 32 * i, &digest, 8);
        memcpy(bytes + 32 * i + 8, values[i], 24);
    }
    assert_true(
        problem_speeds_read(&(struct extension){EXTENSION_PROBLEM_SPEEDS, bytes, sizeof bytes}, &read));
    assert_int_equal(read.n, 1);
    assert_true(problem_speed_s(problem_speed_find(&read, 5), 2e9) == 1.5);
    assert_null(problem_speed_find(NULL, 5));
    free(read.items);
}

/* Of a problem that was never called, nothing is noted. */
static void how_much_a_problem_waits_follows_its_calls(void **state)
{
    (void)state;
    struct speed speed = {0};
    assert_false(speed_waits(&speed, DSYEV, 1));
    speed_observe(&speed, DSYEV, "sh", 0, 1.0);
    assert_true(speed_waits(&speed, DSYEV, 1));
    assert_float_equal(speed.called.items[0].waits, 1, 0);
    speed_observe(&speed, DSYEV, "sh", 0, 1.0);
    assert_false(speed_waits(&speed, DSYEV, 0.98));
    speed_observe(&speed, DSYEV, "sh", 0, 1.0);
    assert_true(speed_waits(&speed, DSYEV, 0));
    assert_float_equal(speed.called.items[0].waits, 0.5, 0);
    assert_float_equal(problem_slowdown(1, 0.5), 1, 0);
    assert_float_equal(problem_slowdown(0, 0.5), 2, 0);
    assert_float_equal(problem_slowdown(0.5, 0.5), 1.5, 1e-12);
    assert_float_equal(problem_slowdown(0, 0), 1, 0); /* not told */
    speed_release(&speed);
}

static void the_plain_loop_finds_some_speed(void **state)
{
    (void)state;
    double flops = speed_of_plain_loop(0.002);
    assert_true(flops > 1e5 && flops < 1e13);
}

static char *written(const struct speed *speed)
{
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    speed_write(speed, file);
    assert_int_equal(fclose(file), 0);
    return text;
}

/* The records are those that a server without an end would have: the oldest calls leave first. Records
 * that are known already, and nonsense, are left alone. */
static void what_calls_reached_outlives_the_server(void **state)
{
    (void)state;
    struct speed before = {0}, after = {0};
    speed_measured(&before, 10e9);
    for (int i = 0; i < 20; i++)
        speed_observe(&before, DSYEV, "lapack", i < 14 ? 3e9 : 4e9, 1);
    char *text = written(&before);
    assert_true(speed_take(&after, text));
    assert_false(speed_take(&after, text));
    speed_measured(&after, 10e9);
    assert_true(near(speed_of(&after, DSYEV), speed_of(&before, DSYEV)));
    for (int i = 0; i < 4; i++) {
        speed_observe(&before, DSYEV, "lapack", 5e9, 1);
        speed_observe(&after, DSYEV, "lapack", 5e9, 1);
        assert_true(near(speed_of(&after, DSYEV), speed_of(&before, DSYEV)));
    }
    free(text);
    const char *const nonsense[] = {"", "speed", "speed xyz lapack 1e9", "speed 07", "1234abcd 1 1 1"};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        assert_false(speed_take(&after, nonsense[i]));
    assert_true(speed_take(&after, "speed 00000000000000ff blas -1:0 nan:-1 inf:1 0:0 2e9:1 and:more"));
    assert_true(near(speed_of(&after, 255), 2e9));
    speed_release(&before);
    speed_release(&after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_calls_reached_outlives_the_server),
        cmocka_unit_test(calls_move_the_speed_of_their_problem_to_what_they_reach),
        cmocka_unit_test(they_say_nothing_of_other_problems),
        cmocka_unit_test(a_single_slow_call_moves_nothing),
        cmocka_unit_test(nonsense_does_not_count),
        cmocka_unit_test(what_a_call_took_is_the_forecast_of_the_next_one),
        cmocka_unit_test(a_single_short_call_leaves_the_forecast_to_the_description),
        cmocka_unit_test(declared_work_that_is_far_too_small_is_taken_for_none),
        cmocka_unit_test(small_calls_leave_great_ones_to_the_measurement),
        cmocka_unit_test(calls_of_several_sizes_tell_what_grows_and_what_does_not),
        cmocka_unit_test(tiny_calls_are_told_once),
        cmocka_unit_test(another_implementation_begins_anew),
        cmocka_unit_test(a_lasting_change_is_worth_telling),
        cmocka_unit_test(a_measurement_moves_nothing_that_was_called),
        cmocka_unit_test(the_problem_that_was_called_the_longest_ago_makes_room),
        cmocka_unit_test(agents_read_what_was_told),
        cmocka_unit_test(nonsense_that_is_told_is_left_out),
        cmocka_unit_test(how_much_a_problem_waits_follows_its_calls),
        cmocka_unit_test(the_plain_loop_finds_some_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
