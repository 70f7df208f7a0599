/* SPDX-License-Identifier: Apache-2.0
 *
 * The time for which silence is accepted: the lease of a regular node, a longer one of an irregular node,
 * and never without end. */
#include "core/hierarchy/arrivals.h"
#include "tests/unit/unit.h"
#include "util/clock.h"
#include "util/random.h"

#include <math.h>

#define HEARTBEAT (1000 * NS_PER_MS)
#define LEASE     (5000 * NS_PER_MS)

static int64_t patience(const struct arrivals *arrivals)
{
    return arrivals_patience_ns(arrivals, LEASE);
}

static void who_is_regular_has_the_lease(void **state)
{
    (void)state;
    struct arrivals arrivals = {0};
    assert_true(patience(&arrivals) == LEASE);
    for (int i = 1; i <= 100; i++)
        arrivals_note(&arrivals, i * HEARTBEAT + i % 3 * NS_PER_MS, HEARTBEAT);
    assert_true(patience(&arrivals) == LEASE);
    assert_true(arrivals.heard_ns == 100 * HEARTBEAT + NS_PER_MS);
}

static void news_in_between_say_nothing(void **state)
{
    (void)state;
    struct arrivals arrivals = {0}, late;
    int64_t now_ns = NS_PER_S;
    for (int i = 0; i < 100; i++)
        arrivals_note(&arrivals, now_ns += (1 + i % 4) * HEARTBEAT, HEARTBEAT);
    late = arrivals;
    for (int i = 0; i < 1000; i++)
        arrivals_note(&arrivals, now_ns += 75 * NS_PER_MS, HEARTBEAT);
    assert_true(patience(&late) > LEASE);
    assert_true(patience(&arrivals) == patience(&late));
}

/* Intervals of a loaded machine: at least a heartbeat, and beyond it whatever the load makes of it. */
static void a_loaded_machine_gives_no_false_alarm(void **state)
{
    (void)state;
    struct random random;
    int late = 0, beyond_the_lease = 0;
    random_seed(&random, 4);
    struct arrivals arrivals = {0};
    arrivals_note(&arrivals, NS_PER_S, HEARTBEAT);
    for (int i = 0; i < 2000; i++) {
        const double load = i < 200 ? i / 200.0 : 1; /* it grows */
        const int64_t interval_ns =
            HEARTBEAT - (int64_t)(load * 1.1 * (double)NS_PER_S * log(1 - random_real(&random)));
        late += interval_ns > patience(&arrivals);
        beyond_the_lease += interval_ns > LEASE;
        arrivals_note(&arrivals, arrivals.heard_ns + interval_ns, HEARTBEAT);
    }
    assert_true(beyond_the_lease > 20); /* so many alarms a fixed lease would have given */
    assert_int_equal(late, 0);
}

static void there_is_a_bound(void **state)
{
    (void)state;
    struct arrivals arrivals = {0};
    int64_t now_ns = NS_PER_S;
    for (int i = 0; i < 20; i++)
        arrivals_note(&arrivals, now_ns += (i % 2 ? 1 : 19) * NS_PER_S, HEARTBEAT);
    assert_true(patience(&arrivals) == ARRIVALS_MOST * LEASE);
    for (int i = 0; i < 300; i++) /* all is well again */
        arrivals_note(&arrivals, now_ns += HEARTBEAT, HEARTBEAT);
    assert_true(patience(&arrivals) == LEASE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_regular_has_the_lease),
        cmocka_unit_test(news_in_between_say_nothing),
        cmocka_unit_test(a_loaded_machine_gives_no_false_alarm),
        cmocka_unit_test(there_is_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
