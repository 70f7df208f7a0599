/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a call waits for consecutive ranks, against looking at all of them.
 */
#include "tests/unit/unit.h"
#include "sed/ranks/ranks_wait.h"

#include <math.h>

#define MOST 12

static double by_looking(const double *left_s, uint32_t ranks, uint32_t wanted)
{
    double soonest = INFINITY;
    for (uint32_t first = 0; first + wanted <= ranks; first++) {
        double latest = 0;
        for (uint32_t i = first; i < first + wanted; i++)
            latest = fmax(latest, left_s[i]);
        soonest = fmin(soonest, latest);
    }
    return soonest;
}

/* Every way to have up to three calls on the ranks. */
static void try_calls(struct busy *busy, uint32_t n, uint32_t ranks)
{
    double left_s[MOST] = {0};
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < busy[i].n; k++)
            left_s[busy[i].first + k] = busy[i].left_s;
    for (uint32_t wanted = 1; wanted <= ranks + 1; wanted++)
        assert_true(ranks_wait_s(busy, n, ranks, wanted) == by_looking(left_s, ranks, wanted));
    const uint32_t from = n ? busy[n - 1].first + busy[n - 1].n : 0;
    for (uint32_t first = from; n < 3 && first < ranks; first++)
        for (uint32_t length = 1; first + length <= ranks; length++)
            for (int left = 1; left <= 3; left++) {
                busy[n] = (struct busy){first, length, left};
                try_calls(busy, n + 1, ranks);
            }
}

static void a_call_waits_for_the_ranks_that_are_free_soonest(void **state)
{
    struct busy busy[3];
    (void)state;
    for (uint32_t ranks = 1; ranks <= 8; ranks++)
        try_calls(busy, 0, ranks);
}

/* The order in which calls get their ends does not matter. */
static void calls_may_be_told_in_any_order(void **state)
{
    (void)state;
    const struct busy busy[] = {{6, 2, 1}, {0, 2, 5}, {2, 3, 9}};
    assert_true(ranks_wait_s(busy, 3, 10, 1) == 0);
    assert_true(ranks_wait_s(busy, 3, 10, 2) == 0);
    assert_true(ranks_wait_s(busy, 3, 10, 4) == 1);
    assert_true(ranks_wait_s(busy, 3, 10, 6) == 9);
    assert_true(isinf(ranks_wait_s(busy, 3, 10, 11)));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_waits_for_the_ranks_that_are_free_soonest),
        cmocka_unit_test(calls_may_be_told_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
