/* SPDX-License-Identifier: Apache-2.0 */
#include "core/message/open_sessions.h"

#include "tests/unit/unit.h"

static void what_is_put_is_got(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct extension extension;
    struct open_sessions open = {.version = 7, .ceiling = UINT64_MAX}, read;
    const uint64_t numbers[] = {0, 1, 2, 5, 300, 301, UINT64_C(1) << 63, UINT64_MAX - 1};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_true(open_add(&open, numbers[i]));
    assert_int_equal(open.n, 5);
    assert_true(open_put(&open, &arena, &extension));
    assert_true(open_get(&(struct extensions){&extension, 1}, &read));
    assert_int_equal(read.n, open.n);
    assert_true(read.version == 7 && read.ceiling == UINT64_MAX);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_false(open_excludes(&read, numbers[i]));
    const uint64_t others[] = {3, 4, 6, 299, 302, (UINT64_C(1) << 63) - 1, UINT64_MAX - 2};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(open_excludes(&read, others[i]));
    assert_false(open_excludes(&read, UINT64_MAX)); /* the ceiling */
    open_clear(&open);
    open_clear(&read);
    arena_clear(&arena);
}

static void there_is_room_for_many_that_lie_apart(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct extension extension;
    struct open_sessions open = {0}, read;
    for (uint64_t i = 0; i < CAP_OPEN; i++)
        assert_true(open_add(&open, 3 * i));
    assert_false(open_add(&open, 3 * CAP_OPEN));
    assert_true(open_add(&open, 3 * CAP_OPEN - 2)); /* right behind the last one */
    open.ceiling = 3 * CAP_OPEN;
    assert_true(open_put(&open, &arena, &extension));
    assert_in_range(extension.length, 1, 3 * CAP_OPEN); /* and little to be sent */
    assert_true(open_get(&(struct extensions){&extension, 1}, &read));
    assert_false(open_excludes(&read, 3 * 1000));
    assert_true(open_excludes(&read, 3 * 1000 + 1));
    open_clear(&open);
    open_clear(&read);
    arena_clear(&arena);
}

static void what_makes_no_sense_is_not_got(void **state)
{
    (void)state;
    struct open_sessions read;
    const struct {
        const char *bytes;
        uint32_t length;
    } bad[] = {{"12345678", 8},
               {"1234567812345678\x01", 17},                                         /* no length */
               {"1234567812345678\x01\x00", 18},                                     /* nobody */
               {"1234567812345678\x81\x81", 18},                                     /* goes on */
               {"1234567812345678\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01", 27}, /* beyond the end */
               {"1234567812345678\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x01", 27}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct extension extension = {EXTENSION_OPEN, (const uint8_t *)bad[i].bytes, bad[i].length};
        assert_false(open_get(&(struct extensions){(struct extension *)&extension, 1}, &read));
        assert_null(read.ranges);
    }
    assert_false(open_get(&(struct extensions){0}, &read));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_got),
        cmocka_unit_test(there_is_room_for_many_that_lie_apart),
        cmocka_unit_test(what_makes_no_sense_is_not_got),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
