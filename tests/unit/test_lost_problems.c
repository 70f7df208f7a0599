/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/lost_problems.h"

#include "core/hierarchy/absent.h"
#include "tests/unit/unit.h"
#include "util/clock.h"

static void what_was_lost_is_missing_and_nothing_else(void **state)
{
    (void)state;
    struct lost_problems lost = {0};
    assert_false(lost_problems_may(&lost, lost_problem("dgesv"), 0));
    lost_problems_note(&lost, lost_problem("dgesv"), 10);
    assert_true(lost_problems_may(&lost, lost_problem("dgesv"), 9));
    assert_false(lost_problems_may(&lost, lost_problem("dgesvv"), 9));
    assert_false(lost_problems_may(&lost, lost_problem("dgesv"), 10));
    lost_problems_note(&lost, lost_problem("dgesv"), 30); /* again */
    lost_problems_note(&lost, lost_problem("dgesv"), 20); /* by another node, heard of earlier */
    assert_true(lost_problems_may(&lost, lost_problem("dgesv"), 29));
    lost_problems_release(&lost);
}

static void what_an_unknown_list_held_may_be_anything(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct extension told;
    struct lost_problems lost = {0};
    lost_problems_note_any(&lost, 10);
    assert_true(lost_problems_may(&lost, lost_problem("x"), 9));
    assert_false(lost_problems_tell(&lost, 9, &arena, &told));
    assert_false(lost_problems_may(&lost, lost_problem("x"), 10));
    assert_true(lost_problems_tell(&lost, 10, &arena, &told));
    lost_problems_release(&lost);
    arena_clear(&arena);
}

static void the_list_is_bounded_and_then_says_that_it_is_not_sure(void **state)
{
    (void)state;
    struct lost_problems lost = {0};
    for (uint64_t i = 0; i < LOST_PROBLEMS_MOST; i++)
        lost_problems_note(&lost, i, 100 + (int64_t)i);
    assert_false(lost_problems_may(&lost, UINT64_MAX, 0));
    lost_problems_note(&lost, LOST_PROBLEMS_MOST, 1000000);
    assert_true(lost_problems_may(&lost, UINT64_MAX, 99)); /* as long as the one that gave way would count */
    assert_false(lost_problems_may(&lost, UINT64_MAX, 100));
    lost_problems_release(&lost);
}

static void those_above_hear_of_it(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct extension told[2] = {{EXTENSION_ABSENT, (const uint8_t *)"somebody", 8}};
    struct lost_problems lost = {0}, above = {0};
    lost_problems_note(&lost, lost_problem("over"), 5);
    lost_problems_note(&lost, lost_problem("dgesv"), 10);
    assert_true(lost_problems_tell(&lost, 7, &arena, &told[1]));
    const struct extensions both = {told, 2}, absent = {told, 1}, none = {0};
    assert_true(lost_problems_told(&both, lost_problem("dgesv")));
    assert_false(lost_problems_told(&both, lost_problem("over")));
    assert_true(lost_problems_told(&absent, lost_problem("any"))); /* reported without problems */
    assert_false(lost_problems_told(&none, lost_problem("any")));
    lost_problems_inherit(&above, &both, 20);
    assert_true(lost_problems_may(&above, lost_problem("dgesv"), 19));
    assert_false(lost_problems_may(&above, lost_problem("any"), 19));
    lost_problems_inherit(&above, &absent, 20);
    assert_true(lost_problems_may(&above, lost_problem("any"), 19));
    told[1].length -= 1; /* cut */
    assert_false(lost_problems_told(&both, lost_problem("dgesv")));
    lost_problems_release(&lost);
    lost_problems_release(&above);
    arena_clear(&arena);
}

static void too_much_is_not_told(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct extension told;
    struct lost_problems lost = {0};
    for (uint64_t i = 0; i < LOST_PROBLEMS_TOLD; i++)
        lost_problems_note(&lost, i, 10);
    assert_true(lost_problems_tell(&lost, 0, &arena, &told));
    lost_problems_note(&lost, UINT64_MAX, 10);
    assert_false(lost_problems_tell(&lost, 0, &arena, &told));
    lost_problems_release(&lost);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_lost_is_missing_and_nothing_else),
        cmocka_unit_test(what_an_unknown_list_held_may_be_anything),
        cmocka_unit_test(the_list_is_bounded_and_then_says_that_it_is_not_sure),
        cmocka_unit_test(those_above_hear_of_it),
        cmocka_unit_test(too_much_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
