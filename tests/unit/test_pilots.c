/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/batch/pilots.h"
#include "tests/unit/unit.h"

#include <math.h>

static const struct pilots_rule rule = {.least = 0, .most = 10, .idle_s = 60};

static void a_backlog_that_outlasts_the_queue_is_worth_pilots(void **state)
{
    (void)state;
    const struct pilots_view none = {.slots = 1, .backlog_s = 0, .wait_s = 60};
    assert_int_equal(pilots_plan(&rule, &none).start, 0);
    const struct pilots_view first = {.slots = 1, .backlog_s = 1, .wait_s = 60};
    assert_int_equal(pilots_plan(&rule, &first).start, 1);
    const struct pilots_view much = {.slots = 4, .backlog_s = 1200, .wait_s = 60};
    assert_int_equal(pilots_plan(&rule, &much).start, 5);
    const struct pilots_view enough = {.running = 2, .slots = 1, .backlog_s = 100, .wait_s = 60};
    assert_int_equal(pilots_plan(&rule, &enough).start, 0);
    const struct pilots_view on_the_way = {.waiting = 5, .slots = 4, .backlog_s = 1200, .wait_s = 60};
    assert_int_equal(pilots_plan(&rule, &on_the_way).start, 0);
}

static void idle_pilots_end_and_needless_ones_are_withdrawn(void **state)
{
    (void)state;
    const struct pilots_rule two = {.least = 2, .most = 10, .idle_s = 60};
    const struct pilots_view idle = {.running = 5, .idle = 4, .slots = 1, .wait_s = 60};
    assert_int_equal(pilots_plan(&two, &idle).end, 3);
    const struct pilots_view waiting = {.running = 5, .waiting = 3, .slots = 1, .wait_s = 60};
    assert_int_equal(pilots_plan(&two, &waiting).withdraw, 3);
    assert_int_equal(pilots_plan(&two, &waiting).end, 0);
}

static void strange_numbers_are_harmless(void **state)
{
    (void)state;
    const struct pilots_view strange = {
        .running = 1, .idle = 7, .slots = 0, .backlog_s = NAN, .wait_s = -INFINITY};
    assert_int_equal(pilots_plan(&rule, &strange).end, 1);
    const struct pilots_view huge = {.slots = 1, .backlog_s = 1e300, .wait_s = 1};
    assert_int_equal(pilots_plan(&rule, &huge).start, 10);
}

static struct pilots_view apply(struct pilots_view view, struct pilots_change change)
{
    view.waiting += change.start;
    view.waiting -= change.withdraw;
    view.running -= change.end;
    view.idle -= change.end;
    return view;
}

static void check(const struct pilots_rule *limits, const struct pilots_view *view)
{
    const struct pilots_change change = pilots_plan(limits, view);
    assert_true(change.start == 0 || (change.withdraw == 0 && change.end == 0));
    assert_true(change.withdraw <= view->waiting && change.end <= view->idle);
    const struct pilots_view then = apply(*view, change);
    const uint32_t before = view->running + view->waiting, after = then.running + then.waiting;
    assert_true(after >= limits->least || after == before);
    assert_true(change.start == 0 || after <= limits->most);
    if (view->backlog_s > 0)
        assert_int_equal(change.end, 0);
    /* Doing what is planned is enough: the plan of what comes of it is empty. */
    const struct pilots_change again = pilots_plan(limits, &then);
    assert_int_equal(again.start + again.withdraw + again.end, 0);
    /* A larger backlog never means fewer pilots. */
    struct pilots_view more = *view;
    more.backlog_s += 50;
    const struct pilots_view then_more = apply(more, pilots_plan(limits, &more));
    assert_true(then_more.running + then_more.waiting >= after);
}

static void every_small_case_keeps_the_rules(void **state)
{
    static const double backlogs[] = {0, 0.5, 30, 100, 1000, 100000}, waits[] = {0, 1, 30, 600};
    (void)state;
    for (uint32_t least = 0; least < 4; least++)
        for (uint32_t most = least; most < 6; most++)
            for (uint32_t running = 0; running < 7; running++)
                for (uint32_t waiting = 0; waiting < 5; waiting++)
                    for (uint32_t idle = 0; idle <= running; idle++)
                        for (size_t b = 0; b < 6; b++)
                            for (size_t w = 0; w < 4; w++)
                                check(
                                    &(struct pilots_rule){least, most, 60},
                                    &(struct pilots_view){running, waiting, idle, 2, backlogs[b], waits[w]});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backlog_that_outlasts_the_queue_is_worth_pilots),
        cmocka_unit_test(idle_pilots_end_and_needless_ones_are_withdrawn),
        cmocka_unit_test(strange_numbers_are_harmless),
        cmocka_unit_test(every_small_case_keeps_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
