/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/returning.h"

#include "tests/unit/unit.h"

#include <stdio.h>

static struct returning returning;

static const char *name_of(unsigned n)
{
    static char name[16];
    snprintf(name, sizeof name, "s%u", n);
    return name;
}

static void note(unsigned n, bool silent)
{
    const struct node_record record = {.name = name_of(n), .parent = "ma", .address = "host:1"};
    returning_note(&returning, &record, NULL, silent, (int64_t)n, RETURNING_NS);
}

static bool has(unsigned n)
{
    return returning_has(&returning, name_of(n), RETURNING_NS - 1);
}

static int teardown(void **state)
{
    (void)state;
    returning_release(&returning);
    return 0;
}

static void one_that_fell_silent_pushes_out_none_that_was_ended(void **state)
{
    (void)state;
    for (unsigned n = 0; n < RETURNING_MOST; n++)
        note(n, false);
    note(RETURNING_MOST, true);
    assert_true(has(0));
    assert_false(has(RETURNING_MOST));
    note(0, true); /* one of them itself makes its own room */
    assert_true(has(0));
    assert_int_equal(returning.n, RETURNING_MOST);
}

static void the_first_that_fell_silent_gives_way(void **state)
{
    (void)state;
    for (unsigned n = 0; n < RETURNING_MOST; n++)
        note(n, n == 7 || n == 9);
    note(RETURNING_MOST, false);
    assert_false(has(7));
    assert_true(has(9));
    note(RETURNING_MOST + 1, true);
    assert_false(has(9));
    assert_true(has(RETURNING_MOST + 1));
    assert_true(has(0));
    assert_int_equal(returning.n, RETURNING_MOST);
}

static void without_silent_ones_the_one_that_went_first_does(void **state)
{
    (void)state;
    for (unsigned n = 0; n <= RETURNING_MOST; n++)
        note(n, false);
    assert_false(has(0));
    assert_true(has(1));
    assert_true(has(RETURNING_MOST));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(one_that_fell_silent_pushes_out_none_that_was_ended, teardown),
        cmocka_unit_test_teardown(the_first_that_fell_silent_gives_way, teardown),
        cmocka_unit_test_teardown(without_silent_ones_the_one_that_went_first_does, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
