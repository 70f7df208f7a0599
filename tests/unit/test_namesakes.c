/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/namesakes.h"

#include "tests/unit/unit.h"
#include "util/clock.h"

static void what_is_packed_is_read(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct extension extension;
    const struct namesake told = {"s-1", UINT64_C(0x8123456789abcdef), "it is taken"};
    assert_true(namesake_pack(&told, &arena, &extension));
    struct namesake read;
    assert_true(namesake_read(&(struct extensions){&extension, 1}, &read));
    assert_string_equal(read.name, told.name);
    assert_string_equal(read.why, told.why);
    assert_true(read.incarnation == told.incarnation);
    arena_clear(&arena);
}

static void what_makes_no_sense_is_not_read(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        uint32_t length;
    } bad[] = {{"12345678", 8},        {"12345678\0", 9},       {"12345678s\0", 10},
               {"12345678s\0why", 13}, {"12345678\0why\0", 13}, {"12345678swhy", 12}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct extension extension = {EXTENSION_NAMESAKE, (const uint8_t *)bad[i].bytes, bad[i].length};
        struct namesake read;
        assert_false(namesake_read(&(struct extensions){&extension, 1}, &read));
    }
}

static void a_refused_node_is_tried_ever_more_seldom(void **state)
{
    (void)state;
    struct refusals refusals = {0};
    const struct namesake namesake = {"s", 7, "it is taken"};
    refusals_note(&refusals, &namesake, 0, 4 * NS_PER_S, 10 * NS_PER_S);
    assert_string_equal(refusals_find(&refusals, "s", 7, 3 * NS_PER_S), "it is taken");
    assert_null(refusals_find(&refusals, "s", 8, 3 * NS_PER_S)); /* restarted: the name may be free now */
    assert_null(refusals_find(&refusals, "t", 7, 3 * NS_PER_S));
    assert_null(refusals_find(&refusals, "s", 7, 4 * NS_PER_S));
    refusals_note(&refusals, &namesake, 4 * NS_PER_S, 4 * NS_PER_S, 10 * NS_PER_S);
    assert_non_null(refusals_find(&refusals, "s", 7, 11 * NS_PER_S));
    refusals_note(&refusals, &namesake, 12 * NS_PER_S, 4 * NS_PER_S, 10 * NS_PER_S);
    assert_null(refusals_find(&refusals, "s", 7, 22 * NS_PER_S));
    refusals_release(&refusals);
}

static void the_list_is_bounded(void **state)
{
    (void)state;
    struct refusals refusals = {0};
    for (uint64_t i = 0; i <= REFUSALS_MOST; i++)
        refusals_note(&refusals, &(struct namesake){"s", i, ""}, (int64_t)i, NS_PER_S, NS_PER_S);
    assert_null(refusals_find(&refusals, "s", 0, 100)); /* it would have ended first */
    assert_non_null(refusals_find(&refusals, "s", 1, 100));
    assert_non_null(refusals_find(&refusals, "s", REFUSALS_MOST, 100));
    refusals_release(&refusals);
}

static void names_are_told_as_far_as_there_is_room_and_read_with_care(void **state)
{
    (void)state;
    static uint8_t bytes[NAMES_BYTES];
    uint32_t length = 0, at = 0, n = 0;
    uint64_t incarnation;
    const char *name;
    while (names_add(bytes, &length, "node7", UINT64_C(0x8123456789abcdef)))
        n++;
    assert_int_equal(n, NAMES_BYTES / 14);
    struct extension told = {EXTENSION_NAMES, bytes, length};
    for (uint32_t i = 0; i < n; i++) {
        assert_true(names_next(&told, &at, &name, &incarnation));
        assert_string_equal(name, "node7");
        assert_true(incarnation == UINT64_C(0x8123456789abcdef));
    }
    assert_false(names_next(&told, &at, &name, &incarnation));
    told.length = 13; /* without the zero */
    at = 0;
    assert_false(names_next(&told, &at, &name, &incarnation));
    memset(bytes + 8, 'x', CAP_NAME + 1); /* no node is called so */
    told.length = length;
    assert_false(names_next(&told, &at, &name, &incarnation));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_is_read),
        cmocka_unit_test(what_makes_no_sense_is_not_read),
        cmocka_unit_test(a_refused_node_is_tried_ever_more_seldom),
        cmocka_unit_test(the_list_is_bounded),
        cmocka_unit_test(names_are_told_as_far_as_there_is_room_and_read_with_care),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
