/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "services/data/replication.h"

#include "util/random.h"

#include <stdio.h>

struct fixture {
    struct manual_clock clock;
    struct replication *replication;
};

static struct fixture make(uint32_t most_copies, uint64_t most_bytes, uint32_t most_data)
{
    static struct manual_clock clock;
    struct fixture fixture;
    struct replication_options options = {
        .most_copies = most_copies, .most_bytes = most_bytes, .most_data = most_data, .clock = &clock.clock};
    manual_clock_init(&clock, NS_PER_S);
    assert_int_equal(replication_create(&options, &fixture.replication, NULL), ESP_OK);
    return fixture;
}

static const struct datum_key one = {1, 1}, two = {2, 2};

static void who_asks_again_and_again_keeps_a_copy(void **state)
{
    (void)state;
    struct fixture f = make(0, 0, 0);
    struct replication_counts counts;
    assert_false(replication_asked(f.replication, one, 100, "a"));
    assert_false(replication_asked(f.replication, one, 100, "a"));
    assert_true(replication_asked(f.replication, one, 100, "a"));
    replication_count(f.replication, &counts);
    assert_int_equal(counts.copies, 1);
    assert_int_equal(counts.copied_bytes, 100);
    assert_false(replication_asked(f.replication, two, 100, "a")); /* another datum */
    assert_true(replication_asked(f.replication, one, 100, "a"));  /* it has lost its copy, so it asks */
    replication_count(f.replication, &counts);
    assert_int_equal(counts.copies, 1);
    replication_destroy(f.replication);
}

static void one_ask_by_each_of_many_copies_nothing(void **state)
{
    (void)state;
    struct fixture f = make(0, 0, 0);
    char name[16];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "node%d", i);
        assert_false(replication_asked(f.replication, one, 100, name));
    }
    replication_destroy(f.replication);
}

static void copies_of_one_datum_are_limited(void **state)
{
    (void)state;
    struct fixture f = make(2, 0, 0);
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    int kept = 0;
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < 5; i++) {
            struct replication_counts counts;
            replication_count(f.replication, &counts);
            if (replication_asked(f.replication, one, 100, names[i]))
                kept++;
            replication_count(f.replication, &counts);
            assert_true(counts.copies <= 2);
        }
    assert_true(kept >= 2);
    replication_destroy(f.replication);
}

static void a_dropped_copy_makes_room_for_another(void **state)
{
    (void)state;
    struct fixture f = make(1, 0, 0);
    for (int i = 0; i < 2; i++) {
        replication_asked(f.replication, one, 100, "a");
        replication_asked(f.replication, one, 100, "b");
    }
    struct replication_counts counts;
    replication_count(f.replication, &counts);
    assert_int_equal(counts.copies, 1); /* of a or b */
    assert_false(replication_asked(f.replication, one, 100, "c"));
    assert_false(replication_asked(f.replication, one, 100, "c"));
    replication_dropped(f.replication, one, "a");
    replication_dropped(f.replication, one, "b");
    replication_dropped(f.replication, two, "b");
    assert_true(replication_asked(f.replication, one, 100, "c"));
    replication_server_gone(f.replication, "c");
    replication_count(f.replication, &counts);
    assert_int_equal(counts.copies, 0);
    assert_int_equal(counts.copied_bytes, 0);
    replication_destroy(f.replication);
}

static void bytes_of_all_copies_are_limited(void **state)
{
    (void)state;
    struct fixture f = make(0, 150, 0);
    for (int i = 0; i < 3; i++)
        replication_asked(f.replication, one, 100, "a");
    for (int i = 0; i < 5; i++)
        assert_false(replication_asked(f.replication, two, 100, "a"));
    replication_forget(f.replication, one);
    assert_true(replication_asked(f.replication, two, 100, "a"));
    replication_destroy(f.replication);
}

static void old_asks_count_less(void **state)
{
    (void)state;
    struct fixture f = make(0, 0, 0);
    struct manual_clock clock;
    struct replication_options options = {.clock = &clock.clock};
    struct replication *slow;
    manual_clock_init(&clock, 0);
    assert_int_equal(replication_create(&options, &slow, NULL), ESP_OK);
    for (int i = 0; i < 50; i++) {
        clock.time_ns += 120 * NS_PER_S; /* two half-lives: never more than 4/3 */
        assert_false(replication_asked(slow, one, 100, "a"));
    }
    replication_destroy(slow);
    replication_destroy(f.replication);
}

static void memory_is_bounded(void **state)
{
    (void)state;
    struct fixture f = make(0, 0, 10);
    struct replication_counts counts;
    char name[16];
    for (uint64_t i = 1; i <= 1000; i++) {
        snprintf(name, sizeof name, "node%d", (int)(i % 40));
        for (int k = 0; k < 4; k++)
            replication_asked(f.replication, (struct datum_key){i, i}, 5, name);
    }
    replication_count(f.replication, &counts);
    assert_int_equal(counts.data, 10);
    assert_int_equal(counts.copies, 10);
    assert_int_equal(counts.copied_bytes, 50);
    replication_destroy(f.replication);
}

/* Twenty servers, of which three work on the same datum all the time, the others now and then. */
static void the_busiest_askers_get_the_copies(void **state)
{
    (void)state;
    struct fixture f = make(3, 0, 0);
    struct random random;
    bool has[20] = {false};
    unsigned sent = 0, busy = 0;
    char name[16];
    random_seed(&random, 1);
    for (int i = 0; i < 2000; i++) {
        uint64_t who = random_below(&random, 10) < 9 ? random_below(&random, 3) : random_below(&random, 20);
        if (has[who])
            continue; /* needs no transfer */
        snprintf(name, sizeof name, "node%d", (int)who);
        sent++;
        has[who] = replication_asked(f.replication, one, 1000, name);
    }
    for (int i = 0; i < 3; i++)
        busy += has[i];
    assert_true(busy == 3);
    assert_true(sent < 300); /* without copies: 2000 */
    replication_destroy(f.replication);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_again_and_again_keeps_a_copy),
        cmocka_unit_test(one_ask_by_each_of_many_copies_nothing),
        cmocka_unit_test(copies_of_one_datum_are_limited),
        cmocka_unit_test(a_dropped_copy_makes_room_for_another),
        cmocka_unit_test(bytes_of_all_copies_are_limited),
        cmocka_unit_test(old_asks_count_less),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(the_busiest_askers_get_the_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
