/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "core/hierarchy/location.h"

#include "util/random.h"

#include <stdlib.h>

static struct location *make(bool track, uint32_t most_data)
{
    struct location *location;
    struct location_options options = {.most_data = most_data, .seed = 42, .track = track};
    assert_int_equal(location_create(&options, &location, NULL), ESP_OK);
    return location;
}

static uint32_t child_of(struct location *location)
{
    uint32_t child;
    assert_int_equal(location_child(location, &child, NULL), ESP_OK);
    return child;
}

static struct datum_key key(uint64_t n)
{
    return (struct datum_key){n, n * 7};
}

static void a_datum_may_be_below_several_children(void **state)
{
    (void)state;
    struct location *location = make(false, 0);
    uint32_t a = child_of(location), b = child_of(location), c = child_of(location), found[3];
    uint64_t bytes;
    assert_int_equal(location_find(location, key(1), &bytes, found, 3), 0);
    assert_int_equal(location_add(location, a, key(1), 800, NULL), ESP_OK);
    assert_int_equal(location_add(location, a, key(1), 800, NULL), ESP_OK); /* said again */
    assert_int_equal(location_find(location, key(1), &bytes, found, 3), 1);
    assert_int_equal(bytes, 800);
    assert_int_equal(found[0], a);
    location_add(location, b, key(1), 800, NULL);
    location_add(location, c, key(1), 800, NULL);
    assert_int_equal(location_find(location, key(1), NULL, found, 1), 3); /* more than were asked for */
    assert_int_equal(location_count(location), 1);
    assert_true(location_remove(location, a, key(1)));
    assert_false(location_remove(location, a, key(1)));
    assert_int_equal(location_find(location, key(1), NULL, found, 3), 2);
    assert_true((found[0] == b && found[1] == c) || (found[0] == c && found[1] == b));
    assert_true(location_remove(location, c, key(1)));
    assert_int_equal(location_find(location, key(1), NULL, found, 3), 1);
    assert_int_equal(found[0], b);
    assert_true(location_remove(location, b, key(1)));
    assert_int_equal(location_find(location, key(1), NULL, found, 3), 0);
    assert_int_equal(location_count(location), 0);
    location_destroy(location);
}

static void a_lost_child_takes_its_places_along(void **state)
{
    (void)state;
    struct location *location = make(false, 0);
    uint32_t a = child_of(location), b = child_of(location), found[2];
    for (uint64_t i = 1; i <= 1000; i++) {
        location_add(location, a, key(i), i, NULL);
        if (i % 2)
            location_add(location, b, key(i), i, NULL);
    }
    location_child_remove(location, a);
    assert_int_equal(location_count(location), 500);
    for (uint64_t i = 1; i <= 1000; i++) {
        assert_int_equal(location_find(location, key(i), NULL, found, 2), i % 2);
        if (i % 2)
            assert_int_equal(found[0], b);
    }
    assert_int_equal(child_of(location), a); /* the number is free again */
    location_destroy(location);
}

static void changes_are_told_once_and_in_batches(void **state)
{
    (void)state;
    struct location *location = make(true, 0);
    uint32_t a = child_of(location), b = child_of(location);
    struct location_change changes[8];
    for (uint64_t i = 1; i <= 10; i++)
        location_add(location, a, key(i), 8 * i, NULL);
    location_remove(location, a, key(3)); /* came and went */
    assert_true(location_has_changes(location));
    assert_int_equal(location_changes(location, changes, 8), 8);
    assert_int_equal(location_changes(location, changes, 8), 1);
    assert_true(changes[0].here && changes[0].key.high == 10 && changes[0].bytes == 80);
    assert_false(location_has_changes(location));
    location_add(location, b, key(1), 8, NULL); /* a second place below: the parent need not know */
    assert_int_equal(location_changes(location, changes, 8), 0);
    location_remove(location, a, key(1));
    assert_int_equal(location_changes(location, changes, 8), 0);
    location_remove(location, b, key(1));
    assert_int_equal(location_changes(location, changes, 8), 1);
    assert_true(!changes[0].here && changes[0].key.high == 1);
    location_remove(location, a, key(2));
    location_add(location, b, key(2), 16, NULL); /* gone and there again */
    assert_int_equal(location_changes(location, changes, 8), 1);
    assert_true(changes[0].here);
    location_destroy(location);
}

static void a_parent_that_forgot_is_told_all(void **state)
{
    (void)state;
    struct location *location = make(true, 0);
    uint32_t a = child_of(location);
    struct location_change changes[40];
    for (uint64_t i = 1; i <= 30; i++)
        location_add(location, a, key(i), i, NULL);
    assert_int_equal(location_changes(location, changes, 40), 30);
    location_remove(location, a, key(1));
    assert_int_equal(location_tell_all(location, NULL), ESP_OK);
    assert_int_equal(location_changes(location, changes, 40), 29); /* it never heard of the one that went */
    for (int i = 0; i < 29; i++)
        assert_true(changes[i].here);
    assert_int_equal(location_changes(location, changes, 40), 0);
    location_destroy(location);
}

static void what_a_child_tells_anew_replaces_what_it_told(void **state)
{
    (void)state;
    struct location *location = make(true, 0);
    uint32_t a = child_of(location), b = child_of(location), stand_in, found[3];
    struct location_change changes[40];
    for (uint64_t i = 1; i <= 20; i++)
        location_add(location, a, key(i), i, NULL);
    location_add(location, b, key(1), 1, NULL);
    location_changes(location, changes, 40);
    assert_int_equal(location_replace_begin(location, &stand_in, NULL), ESP_OK);
    for (uint64_t i = 11; i <= 30; i++)
        location_add(location, stand_in, key(i), i, NULL);
    assert_int_equal(location_find(location, key(5), NULL, found, 3), 1); /* still found meanwhile */
    location_replace_end(location, a, stand_in);
    for (uint64_t i = 1; i <= 30; i++) {
        uint32_t n = location_find(location, key(i), NULL, found, 3);
        assert_int_equal(n, i == 1 || i > 10);
        if (n)
            assert_int_equal(found[0], i == 1 ? b : a);
    }
    uint32_t n = location_changes(location, changes, 40), here = 0;
    for (uint32_t i = 0; i < n; i++)
        here += changes[i].here;
    assert_int_equal(here, 10); /* 21 to 30 are new */
    assert_int_equal(n, 19);    /* and 2 to 10 are gone */
    location_destroy(location);
}

static void there_is_a_most(void **state)
{
    (void)state;
    struct location *location = make(false, 3);
    uint32_t a = child_of(location);
    for (uint64_t i = 1; i <= 3; i++)
        assert_int_equal(location_add(location, a, key(i), i, NULL), ESP_OK);
    assert_int_equal(location_add(location, a, key(4), 4, NULL), ESP_LIMIT);
    assert_int_equal(location_add(location, a, key(3), 3, NULL), ESP_OK);
    assert_int_equal(location_add(location, a, (struct datum_key){0, 0}, 3, NULL), ESP_INVALID);
    location_remove(location, a, key(1));
    assert_int_equal(location_add(location, a, key(4), 4, NULL), ESP_OK);
    location_destroy(location);
}

static void a_hundred_thousand_take_little_memory(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct location *location = make(true, 0);
    struct random random;
    uint32_t children[10];
    random_seed(&random, 1);
    for (int i = 0; i < 10; i++)
        children[i] = child_of(location);
    for (int i = 0; i < N; i++) {
        struct datum_key each = {random_next(&random), random_next(&random)};
        location_add(location, children[i % 10], each, 1, NULL);
        if (i % 4 == 0) /* a replica */
            location_add(location, children[(i + 1) % 10], each, 1, NULL);
    }
    assert_int_equal(location_count(location), N);
    assert_true(location_memory(location) <= 128 * (uint64_t)N);
    location_destroy(location);
}

/* Against plain flags, over random operations; and a parent that hears all changes knows what is here. */
static void random_changes_agree_with_a_plain_table(void **state)
{
    (void)state;
    enum { DATA = 300, CHILDREN = 5, STEPS = 20000 };
    for (uint64_t seed = 1; seed <= 5; seed++) {
        static bool there[DATA][CHILDREN], parent[DATA];
        struct location *location = make(true, 0);
        struct random random;
        uint32_t children[CHILDREN], found[CHILDREN];
        struct location_change changes[20];
        memset(there, 0, sizeof there);
        memset(parent, 0, sizeof parent);
        random_seed(&random, seed);
        for (int i = 0; i < CHILDREN; i++)
            children[i] = child_of(location);
        for (int step = 0; step < STEPS; step++) {
            uint64_t d = random_below(&random, DATA), c = random_below(&random, CHILDREN);
            uint64_t what = random_below(&random, 1000);
            if (what < 500) {
                assert_int_equal(location_add(location, children[c], key(d + 1), d, NULL), ESP_OK);
                there[d][c] = true;
            } else if (what < 940) {
                assert_int_equal(location_remove(location, children[c], key(d + 1)), there[d][c]);
                there[d][c] = false;
            } else if (what < 990) {
                uint32_t n = location_changes(location, changes, 20);
                for (uint32_t i = 0; i < n; i++)
                    parent[changes[i].key.high - 1] = changes[i].here;
            } else if (what < 995) {
                location_child_remove(location, children[c]);
                children[c] = child_of(location);
                for (int i = 0; i < DATA; i++)
                    there[i][c] = false;
            } else if (what < 998) {
                assert_int_equal(location_tell_all(location, NULL), ESP_OK);
                memset(parent, 0, sizeof parent);
            }
            uint32_t expected = 0, n = location_find(location, key(d + 1), NULL, found, CHILDREN);
            for (int i = 0; i < CHILDREN; i++)
                expected += there[d][i];
            assert_int_equal(n, expected);
            for (uint32_t i = 0; i < n; i++)
                for (int k = 0; k < CHILDREN; k++)
                    if (children[k] == found[i])
                        assert_true(there[d][k]);
        }
        while (location_has_changes(location)) {
            uint32_t n = location_changes(location, changes, 20);
            for (uint32_t i = 0; i < n; i++)
                parent[changes[i].key.high - 1] = changes[i].here;
        }
        for (int i = 0; i < DATA; i++)
            assert_int_equal(parent[i], location_find(location, key((uint64_t)i + 1), NULL, found, 0) > 0);
        location_destroy(location);
    }
}

static void changes_survive_the_wire(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct extension extension;
    struct location_change back, changes[] = {{{1, 2}, 3, true}, {{UINT64_MAX, 0}, UINT64_C(1) << 62, false}};
    assert_true(location_pack(changes, 2, &arena, &extension));
    assert_int_equal(extension.length, 2 * LOCATION_BYTES);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(location_unpack(&extension, i, &back));
        assert_true(datum_key_equal(back.key, changes[i].key));
        assert_int_equal(back.bytes, changes[i].bytes);
        assert_int_equal(back.here, changes[i].here);
    }
    assert_false(location_unpack(&extension, 2, &back));
    extension.length--;
    assert_false(location_unpack(&extension, 0, &back)); /* cut */
    changes[0].key = (struct datum_key){0, 0};
    changes[1].bytes++;
    location_pack(changes, 2, &arena, &extension);
    assert_false(location_unpack(&extension, 0, &back));
    assert_false(location_unpack(&extension, 1, &back));
    assert_true(location_pack(changes, 0, &arena, &extension));
    assert_false(location_unpack(&extension, 0, &back));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_datum_may_be_below_several_children),
        cmocka_unit_test(a_lost_child_takes_its_places_along),
        cmocka_unit_test(changes_are_told_once_and_in_batches),
        cmocka_unit_test(a_parent_that_forgot_is_told_all),
        cmocka_unit_test(what_a_child_tells_anew_replaces_what_it_told),
        cmocka_unit_test(there_is_a_most),
        cmocka_unit_test(a_hundred_thousand_take_little_memory),
        cmocka_unit_test(changes_survive_the_wire),
        cmocka_unit_test(random_changes_agree_with_a_plain_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
