/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "util/clock.h"
#include "util/random.h"
#include "util/timer.h"

static struct timers timers;
static struct timer some[200];
static size_t fired[1000], n_fired;

static int clear(void **state)
{
    (void)state;
    timers_clear(&timers);
    memset(some, 0, sizeof some);
    n_fired = 0;
    return 0;
}

static void record(struct timer *timer, int64_t now_ns, void *context)
{
    (void)now_ns;
    (void)context;
    assert_false(timer_is_set(timer));
    fired[n_fired++] = (size_t)(timer - some);
}

static void set(size_t i, int64_t due_ns)
{
    some[i].fire = record;
    assert_int_equal(timers_set(&timers, &some[i], due_ns, NULL), ESP_OK);
}

static void nothing_is_due_in_an_empty_heap(void **state)
{
    (void)state;
    assert_true(timers_next_ns(&timers) == CLOCK_NEVER);
    assert_int_equal(timers_run(&timers, CLOCK_NEVER), 0);
    timers_cancel(&timers, &some[0]);
}

static void fires_in_the_order_of_due_times(void **state)
{
    (void)state;
    set(0, 30);
    set(1, 10);
    set(2, 20);
    set(3, 10);
    assert_int_equal(timers_next_ns(&timers), 10);
    assert_int_equal(timers_run(&timers, 20), 3);
    assert_int_equal(fired[0], 1); /* set before 3 */
    assert_int_equal(fired[1], 3);
    assert_int_equal(fired[2], 2);
    assert_int_equal(timers_next_ns(&timers), 30);
}

static void moves_and_cancels(void **state)
{
    (void)state;
    set(0, 10);
    set(1, 20);
    set(0, 40);
    timers_cancel(&timers, &some[1]);
    assert_int_equal(timers_next_ns(&timers), 40);
    assert_int_equal(timers_run(&timers, 30), 0);
    assert_true(timer_is_set(&some[0]));
    assert_false(timer_is_set(&some[1]));
}

static void again(struct timer *timer, int64_t now_ns, void *context)
{
    n_fired++;
    assert_int_equal(timers_set(context, timer, now_ns, NULL), ESP_OK);
}

static void one_that_sets_itself_for_now_waits_for_the_next_run(void **state)
{
    (void)state;
    some[0].fire = again;
    some[0].context = &timers;
    assert_int_equal(timers_set(&timers, &some[0], 5, NULL), ESP_OK);
    assert_int_equal(timers_run(&timers, 7), 1);
    assert_int_equal(timers_next_ns(&timers), 7);
    assert_int_equal(timers_run(&timers, 7), 1);
}

static void cancel_next(struct timer *timer, int64_t now_ns, void *context)
{
    (void)now_ns;
    n_fired++;
    timers_cancel(context, timer + 1);
}

static void one_may_cancel_another_that_is_due(void **state)
{
    (void)state;
    set(1, 2);
    some[0].fire = cancel_next;
    some[0].context = &timers;
    assert_int_equal(timers_set(&timers, &some[0], 1, NULL), ESP_OK);
    assert_int_equal(timers_run(&timers, 9), 1);
}

/* Against the plain definition: the due ones, sorted. */
static void stays_a_heap_under_random_use(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 7);
    int64_t now = 0;
    for (int step = 0; step < 5000; step++) {
        size_t i = random_below(&random, 200);
        if (random_below(&random, 4) > 0)
            set(i, now + (int64_t)random_below(&random, 100));
        else
            timers_cancel(&timers, &some[i]);
        if (step % 50)
            continue;
        now += 20;
        size_t expected = 0, n_set = 0;
        for (size_t j = 0; j < 200; j++) {
            expected += timer_is_set(&some[j]) && some[j].due_ns <= now;
            n_set += timer_is_set(&some[j]);
        }
        assert_int_equal(timers.n, n_set);
        n_fired = 0;
        assert_int_equal(timers_run(&timers, now), expected);
        for (size_t j = 1; j < n_fired; j++)
            assert_true(some[fired[j - 1]].due_ns <= some[fired[j]].due_ns);
        assert_true(timers_next_ns(&timers) > now);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, clear, clear)
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_due_in_an_empty_heap),
        TEST(fires_in_the_order_of_due_times),
        TEST(moves_and_cancels),
        TEST(one_that_sets_itself_for_now_waits_for_the_next_run),
        TEST(one_may_cancel_another_that_is_due),
        TEST(stays_a_heap_under_random_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
