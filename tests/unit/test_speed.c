/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "sed/server/speed.h"

static void calls_move_the_speed_to_what_they_reach(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    for (int i = 0; i < 10; i++)
        speed_observe(&speed, 3e9, 1000, 1.0); /* a quota came into force */
    assert_true(speed.flops > 2.9e9 && speed.flops < 3.1e9);
}

static void a_single_slow_call_moves_nothing(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    for (int i = 0; i < 6; i++)
        speed_observe(&speed, 10e9, 1000, 1.0);
    assert_false(speed_observe(&speed, 10e9, 1000, 60.0));
    assert_true(speed.flops > 9.9e9 && speed.flops < 10.1e9);
}

static void short_calls_and_nonsense_do_not_count(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    for (int i = 0; i < 50; i++) {
        speed_observe(&speed, 1e9, 1000, 0.001);
        speed_observe(&speed, 10, 1000, 1);
        speed_observe(&speed, 1e300, 1000, 0);
        speed_observe(&speed, -1, 1000, -1);
        speed_observe(&speed, 0.0 / 0.0, 1000, 1);
    }
    speed_measured(&speed, 0.0 / 0.0);
    speed_measured(&speed, -5);
    assert_true(speed.flops > 9.9e9 && speed.flops < 10.1e9);
}

static void routines_bound_by_memory_do_not_count(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    for (int i = 0; i < 50; i++)
        speed_observe(&speed, 16e6, 192000000, 0.012); /* daxpy of 8 million */
    assert_true(speed.flops == 10e9);
    for (int i = 0; i < 50; i++)
        speed_observe(&speed, 2e9, 24000000, 0.1); /* dgemm of order 1000 */
    assert_true(speed.flops == 20e9);
}

static void a_lasting_change_is_worth_telling(void **state)
{
    (void)state;
    struct speed speed = {0};
    speed_measured(&speed, 10e9);
    int told = 0;
    for (int i = 0; i < 10; i++)
        told += speed_observe(&speed, 1e9, 1000, 1.0);
    assert_true(told >= 1 && told <= 3);
}

static void the_plain_loop_finds_some_speed(void **state)
{
    (void)state;
    double flops = speed_of_plain_loop(0.002);
    assert_true(flops > 1e5 && flops < 1e13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_move_the_speed_to_what_they_reach),
        cmocka_unit_test(a_single_slow_call_moves_nothing),
        cmocka_unit_test(short_calls_and_nonsense_do_not_count),
        cmocka_unit_test(routines_bound_by_memory_do_not_count),
        cmocka_unit_test(a_lasting_change_is_worth_telling),
        cmocka_unit_test(the_plain_loop_finds_some_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
