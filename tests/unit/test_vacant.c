/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/vacant.h"
#include "tests/unit/unit.h"
#include "util/random.h"

#include <math.h>
#include <string.h>

#define MOST 200

static void small_integers_cannot_be_marked(void **state)
{
    (void)state;
    const enum base_type can[] = {TYPE_FLOAT, TYPE_COMPLEX, TYPE_DOUBLE, TYPE_DOUBLE_COMPLEX, TYPE_INT64};
    const enum base_type cannot[] = {TYPE_CHAR, TYPE_SHORT, TYPE_INT, TYPE_STRING};
    for (size_t i = 0; i < sizeof can / sizeof *can; i++)
        assert_true(vacant_can_be(can[i]));
    for (size_t i = 0; i < sizeof cannot / sizeof *cannot; i++)
        assert_false(vacant_can_be(cannot[i]));
}

static void the_mark_is_no_number(void **state)
{
    (void)state;
    double doubles[3];
    float floats[5];
    vacant_mark(doubles, sizeof doubles);
    vacant_mark(floats, sizeof floats);
    for (int i = 0; i < 3; i++)
        assert_true(isnan(doubles[i]));
    for (int i = 0; i < 5; i++)
        assert_true(isnan(floats[i]));
    doubles[1] = NAN; /* the one that computations make */
    assert_int_equal(vacant_look(doubles, sizeof doubles, TYPE_DOUBLE), VACANT_PARTLY);
    assert_int_equal(vacant_look(floats, sizeof floats, TYPE_FLOAT), VACANT_WHOLLY);
}

/* Against an array that remembers which elements were written. */
static void what_is_written_stays_and_the_rest_is_filled(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 12);
    for (int round = 0; round < 20000; round++) {
        const bool is_single = random_below(&random, 2);
        const enum base_type type = is_single ? TYPE_FLOAT : TYPE_DOUBLE;
        const size_t unit = is_single ? sizeof(float) : sizeof(double), n = random_below(&random, MOST) + 1;
        const double share = random_real(&random) * 1.4 - 0.2; /* also none, and all */
        char memory[MOST * sizeof(double)], from[sizeof memory], expected[sizeof memory];
        size_t n_written = 0;
        for (size_t i = 0; i < sizeof from; i += sizeof(uint64_t)) {
            const uint64_t word = random_next(&random);
            memcpy(from + i, &word, sizeof word);
        }
        memcpy(expected, from, sizeof from);
        vacant_mark(memory, n * unit);
        for (size_t i = 0; i < n; i++) {
            if (random_real(&random) >= share)
                continue;
            const uint64_t word = random_next(&random) & ~UINT64_C(0x4000000040000000); /* numbers only */
            memcpy(memory + i * unit, &word, unit);
            memcpy(expected + i * unit, &word, unit);
            n_written++;
        }
        assert_int_equal(vacant_look(memory, n * unit, type), n_written == 0   ? VACANT_WHOLLY
                                                              : n_written == n ? VACANT_NOT
                                                                               : VACANT_PARTLY);
        vacant_fill(memory, from, n * unit, type);
        assert_memory_equal(memory, expected, n * unit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_integers_cannot_be_marked),
        cmocka_unit_test(the_mark_is_no_number),
        cmocka_unit_test(what_is_written_stays_and_the_rest_is_filled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
