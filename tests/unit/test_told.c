/* SPDX-License-Identifier: Apache-2.0 */
#include "util/told.h"

#include "tests/unit/unit.h"

static void each_is_told_once_and_then_rarely(void **state)
{
    (void)state;
    struct told told = {0};
    unsigned left_out = 1;
    assert_true(told_take(&told, 7, 5, &left_out));
    assert_int_equal(left_out, 0);
    assert_false(told_take(&told, 7, 6, &left_out));
    assert_true(told_take(&told, 8, 6, &left_out));
    assert_false(told_take(&told, 7, TOLD_AGAIN_NS + 4, &left_out));
    assert_true(told_take(&told, 7, TOLD_AGAIN_NS + 5, &left_out));
    assert_int_equal(left_out, 2);
    assert_false(told_take(&told, 7, TOLD_AGAIN_NS + 6, &left_out));
}

static void what_was_told_longest_ago_gives_way(void **state)
{
    (void)state;
    struct told told = {0};
    unsigned left_out;
    for (uint64_t kind = 0; kind < TOLD_KINDS; kind++)
        assert_true(told_take(&told, kind, (int64_t)kind, &left_out));
    assert_false(told_take(&told, 0, 100, &left_out));
    assert_true(told_take(&told, 1000, 101, &left_out)); /* in the place of 0 */
    assert_false(told_take(&told, 1, 102, &left_out));
    assert_true(told_take(&told, 0, 103, &left_out));
    assert_int_equal(left_out, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_told_once_and_then_rarely),
        cmocka_unit_test(what_was_told_longest_ago_gives_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
