/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "sed/sessions/promises.h"
#include "util/clock.h"

static struct manual_clock manual;
static struct timers timers;
static struct promises *promises;
static uint32_t n_told;
static double expired_s, sum_s;

static void note_changed(void *arg, uint32_t n)
{
    assert_ptr_equal(arg, &n_told);
    n_told = n;
}

static void note_expired(void *arg, double seconds)
{
    assert_ptr_equal(arg, &n_told);
    expired_s += seconds;
}

static void add_up(void *arg, double seconds)
{
    *(double *)arg += seconds;
}

static double load_s(void)
{
    sum_s = 0;
    promises_each(promises, add_up, &sum_s);
    return sum_s;
}

static int begin(void **state)
{
    (void)state;
    const struct promises_options options = {.clock = &manual.clock,
                                             .timers = &timers,
                                             .changed = note_changed,
                                             .expired = note_expired,
                                             .arg = &n_told};
    timers = (struct timers){0};
    n_told = 0;
    expired_s = 0;
    manual_clock_init(&manual, NS_PER_S);
    assert_true(promises_create(&options, &promises));
    return 0;
}

static int end(void **state)
{
    (void)state;
    promises_destroy(promises);
    assert_int_equal(n_told, 0);
    timers_clear(&timers);
    return 0;
}

static struct session_id session(uint64_t sequence)
{
    return (struct session_id){1, 2, sequence, 3};
}

static void promise(uint64_t sequence, double seconds, uint64_t lease_ms)
{
    promises_add(promises,
                 &(struct placement){.session = session(sequence), .seconds = seconds, .lease_ms = lease_ms});
}

static void a_promise_counts_until_its_session_calls(void **state)
{
    (void)state;
    promise(1, 2, 1000);
    promise(2, 3, 1000);
    assert_int_equal(promises_count(promises), 2);
    assert_true(load_s() == 5);
    promises_keep(promises, &(struct session_id){1, 2, 1, 3});
    promises_keep(promises, &(struct session_id){1, 2, 77, 3}); /* nobody has promised that one */
    assert_int_equal(n_told, 1);
    assert_true(load_s() == 3);
    assert_true(expired_s == 0);
}

static void a_promise_counts_until_its_lease_ends(void **state)
{
    (void)state;
    promise(1, 2, 1000);
    promise(2, 3, 2000);
    timers_run(&timers, 2 * NS_PER_S);
    assert_int_equal(promises_count(promises), 1);
    assert_true(expired_s == 2);
    assert_true(load_s() == 3);
}

static void a_session_that_is_promised_again_counts_once(void **state)
{
    (void)state;
    promise(1, 2, 1000);
    promise(1, 7, 5000);
    assert_int_equal(promises_count(promises), 1);
    assert_true(load_s() == 7);
    timers_run(&timers, 2 * NS_PER_S); /* the first lease would be over */
    assert_int_equal(promises_count(promises), 1);
}

static void the_oldest_promise_makes_room(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < PROMISES_MOST + 1; i++)
        promise(i + 1, i == 0 ? 1000 : 1, 1000);
    assert_int_equal(promises_count(promises), PROMISES_MOST);
    assert_true(load_s() == PROMISES_MOST);
}

static void marks_only_grow_and_old_masters_make_room(void **state)
{
    (void)state;
    uint32_t n;
    promises_mark(promises, 0, 5);
    promises_mark(promises, 9, 5);
    promises_mark(promises, 9, 4);
    const struct placement_mark *marks = promises_marks(promises, &n);
    assert_int_equal(n, 1);
    assert_int_equal(marks[0].number, 5);
    for (uint64_t i = 0; i < PROMISES_MOST_MARKS; i++)
        promises_mark(promises, 100 + i, 1);
    marks = promises_marks(promises, &n);
    assert_int_equal(n, PROMISES_MOST_MARKS);
    for (uint32_t i = 0; i < n; i++)
        assert_int_not_equal(marks[i].master, 9);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_promise_counts_until_its_session_calls, begin, end),
        cmocka_unit_test_setup_teardown(a_promise_counts_until_its_lease_ends, begin, end),
        cmocka_unit_test_setup_teardown(a_session_that_is_promised_again_counts_once, begin, end),
        cmocka_unit_test_setup_teardown(the_oldest_promise_makes_room, begin, end),
        cmocka_unit_test_setup_teardown(marks_only_grow_and_old_masters_make_room, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
