/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "util/random.h"

static void the_system_s_differ(void **state)
{
    (void)state;
    unsigned char a[300], b[300];
    assert_int_equal(random_bytes(a, sizeof a, NULL), ESP_OK);
    assert_int_equal(random_bytes(b, sizeof b, NULL), ESP_OK);
    assert_memory_not_equal(a, b, sizeof a);
}

/* The first value of the state {1, 2, 3, 4} follows from the definition: rotl(2 * 5, 7) * 9. */
static void follows_its_definition(void **state)
{
    (void)state;
    struct random random = {{1, 2, 3, 4}};
    assert_int_equal(random_next(&random), 11520);
    assert_int_equal(random_next(&random), 0);
    assert_int_equal(random_next(&random), 1509978240);
}

static void a_seed_repeats(void **state)
{
    (void)state;
    struct random a, b, c;
    random_seed(&a, 42);
    random_seed(&b, 42);
    random_seed(&c, 43);
    uint64_t first = random_next(&a);
    assert_true(first == random_next(&b));
    assert_true(first != random_next(&c));
}

static void stays_in_its_bounds_and_reaches_them(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 0);
    unsigned seen[3] = {0};
    for (int i = 0; i < 3000; i++) {
        seen[random_below(&random, 3)]++;
        double x = random_real(&random);
        assert_true(x >= 0 && x < 1);
    }
    for (int i = 0; i < 3; i++)
        assert_in_range(seen[i], 850, 1150);
    assert_int_equal(random_below(&random, 0), 0);
    assert_int_equal(random_below(&random, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_system_s_differ),
        cmocka_unit_test(follows_its_definition),
        cmocka_unit_test(a_seed_repeats),
        cmocka_unit_test(stays_in_its_bounds_and_reaches_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
