/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "core/redistribution/pieces.h"
#include "sed/data/layings.h"

static struct layings layings;

static int set_up(void **state)
{
    (void)state;
    layings = (struct layings){0};
    return 0;
}

static struct datum_key key(uint64_t low)
{
    return (struct datum_key){5, low};
}

static void what_was_laid_otherwise_is_known(void **state)
{
    (void)state;
    const struct block_cyclic_matrix before = pieces_grid(10, 10, 2, 2, 3, 3);
    assert_null(layings_find(&layings, key(2)));
    assert_null(layings_find(&layings, (struct datum_key){0}));
    layings_note(&layings, key(2), key(1), &before);
    const struct laying *found = layings_find(&layings, key(2));
    assert_non_null(found);
    assert_true(datum_key_equal(found->value, key(1)));
    assert_true(pieces_are_alike(&found->before, &before));
    assert_null(layings_find(&layings, key(1)));
}

static void of_several_layings_one_after_the_other_the_first_datum_has_the_value(void **state)
{
    (void)state;
    const struct block_cyclic_matrix first = pieces_grid(10, 10, 2, 2, 3, 3),
                                     second = pieces_grid(10, 10, 4, 1, 2, 2);
    layings_note(&layings, key(2), key(1), &first);
    layings_note(&layings, key(3), key(2), &second);
    const struct laying *found = layings_find(&layings, key(3));
    assert_true(datum_key_equal(found->value, key(1)));
    assert_true(pieces_are_alike(&found->before, &second));
}

static void what_is_made_anew_of_another_datum_has_the_value_of_that(void **state)
{
    (void)state;
    const struct block_cyclic_matrix before = pieces_grid(10, 10, 2, 2, 3, 3);
    layings_note(&layings, key(2), key(1), &before);
    layings_note(&layings, key(2), key(7), &before);
    assert_true(datum_key_equal(layings_find(&layings, key(2))->value, key(7)));
}

static void those_of_long_ago_are_forgotten(void **state)
{
    (void)state;
    const struct block_cyclic_matrix before = pieces_grid(10, 10, 2, 2, 3, 3);
    for (uint64_t i = 0; i <= LAYINGS_MOST; i++)
        layings_note(&layings, key(1000 + i), key(1), &before);
    assert_null(layings_find(&layings, key(1000)));
    assert_non_null(layings_find(&layings, key(1001)));
    assert_non_null(layings_find(&layings, key(1000 + LAYINGS_MOST)));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_was_laid_otherwise_is_known, set_up),
        cmocka_unit_test_setup(of_several_layings_one_after_the_other_the_first_datum_has_the_value, set_up),
        cmocka_unit_test_setup(what_is_made_anew_of_another_datum_has_the_value_of_that, set_up),
        cmocka_unit_test_setup(those_of_long_ago_are_forgotten, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
