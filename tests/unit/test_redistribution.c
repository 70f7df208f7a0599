/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans of redistributions: the examples of "Scheduling Block-Cyclic Array Redistribution", messages and runs
 * against moving every element by itself, and steps against what a step is.
 */
#include "tests/unit/unit.h"
#include "core/redistribution/redistribution.h"
#include "util/random.h"

#include <stdio.h>
#include <stdlib.h>

static const struct redistribution_costs costs = {1e-5, 1e-8};

static int64_t gcd(int64_t a, int64_t b)
{
    return b ? gcd(b, a % b) : a;
}

/* A vector of one period, disjoint ranks: as the paper's tables are. */
static struct redistribution line(int64_t p, int64_t q, int64_t r, int64_t s)
{
    int64_t period = p * r / gcd(p * r, q * s) * q * s;
    return (struct redistribution){.from = block_cyclic_vector((struct block_cyclic){period, r, p, 0}),
                                   .to = block_cyclic_vector((struct block_cyclic){period, s, q, 0})};
}

static struct redistribution_plan *plan_of(const struct redistribution *what,
                                           enum redistribution_schedule schedule)
{
    struct redistribution_plan *plan = NULL;
    struct esp_error error = {0};
    if (redistribution_plan_create(what, schedule, &costs, &plan, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return plan;
}

/* ---- the paper's examples ---- */

static void assert_example(int64_t p, int64_t q, int64_t r, int64_t s, enum redistribution_schedule schedule,
                           int32_t steps, int64_t cost)
{
    struct redistribution what = line(p, q, r, s);
    struct redistribution_plan *plan = plan_of(&what, schedule);
    assert_int_equal(redistribution_plan_summary(plan)->steps, steps);
    assert_int_equal(redistribution_plan_summary(plan)->cost, cost);
    redistribution_plan_destroy(plan);
}

static void examples_2_and_3_are_optimal_by_classes(void **state)
{
    (void)state;
    assert_example(16, 16, 3, 5, REDISTRIBUTION_CLASSES, 7, 15);
    assert_example(16, 16, 3, 5, REDISTRIBUTION_STEPWISE, 7, 15);
    assert_example(16, 16, 7, 11, REDISTRIBUTION_CLASSES, 16, 77);
    assert_example(16, 16, 7, 11, REDISTRIBUTION_STEPWISE, 16, 77);
    assert_example(16, 16, 7, 11, REDISTRIBUTION_CATERPILLAR, 16, 112);
}

/* The paper: 10 steps and 26; its greedy is not told. */
static void example_4_is_below_the_paper(void **state)
{
    (void)state;
    assert_example(15, 15, 3, 5, REDISTRIBUTION_STEPWISE, 10, 25);
    assert_example(15, 15, 3, 5, REDISTRIBUTION_GREEDY, 11, 23);
    assert_example(15, 15, 12, 20, REDISTRIBUTION_STEPWISE, 10, 100); /* table E.10: 4 times as long */
}

static void example_5_is_as_in_the_paper(void **state)
{
    (void)state;
    assert_example(12, 8, 4, 3, REDISTRIBUTION_STEPWISE, 4, 8);
    struct redistribution what = line(12, 8, 4, 3);
    struct redistribution_plan *plan = plan_of(&what, REDISTRIBUTION_CATERPILLAR);
    static const int64_t table_e15[12] = {3, 0, 0, 0, 3, 3, 3, 0, 0, 0, 3, 3};
    assert_int_equal(redistribution_plan_summary(plan)->steps, 12);
    assert_int_equal(redistribution_plan_summary(plan)->cost, 18);
    for (int32_t step = 0; step < 12; step++)
        assert_int_equal(redistribution_plan_step_cost(plan, step), table_e15[step]);
    redistribution_plan_destroy(plan);
}

/* The paper: stepwise 10 and 20, greedy 12 and 18. */
static void example_6_is_below_the_paper(void **state)
{
    (void)state;
    assert_example(15, 6, 2, 3, REDISTRIBUTION_STEPWISE, 10, 20);
    assert_example(15, 6, 2, 3, REDISTRIBUTION_GREEDY, 11, 16);
}

/* ---- steps ---- */

static void assert_steps_are_steps(const struct redistribution *what, const struct redistribution_plan *plan)
{
    const struct redistribution_summary *summary = redistribution_plan_summary(plan);
    int64_t sent = 0, kept = 0, cost = 0;
    for (int32_t step = -1; step < summary->steps; step++) {
        char sends[256] = {0}, receives[256] = {0};
        size_t n;
        int64_t longest = 0;
        const struct redistribution_message *messages = redistribution_plan_step(plan, step, &n);
        for (size_t i = 0; i < n; i++) {
            bool same =
                what->from_ids && what->from_ids[messages[i].source] == what->to_ids[messages[i].target];
            assert_int_equal(messages[i].step, step);
            assert_true(messages[i].elements > 0);
            assert_int_equal(same, step < 0);
            *(step < 0 ? &kept : &sent) += messages[i].elements;
            if (step < 0)
                continue;
            assert_false(sends[messages[i].source]++);
            assert_false(receives[messages[i].target]++);
            longest = messages[i].elements > longest ? messages[i].elements : longest;
        }
        assert_true(step < 0 || longest == redistribution_plan_step_cost(plan, step));
        cost += longest;
    }
    assert_int_equal(sent, summary->sent);
    assert_int_equal(kept, summary->kept);
    assert_int_equal(cost, summary->cost);
    assert_int_equal(sent + kept, what->from.rows.n * what->from.cols.n);
    assert_true(summary->steps >= summary->least_steps && summary->cost >= summary->least_cost);
}

/* The most messages of a rank by theorem 1, where the grid of messages is not full. */
static int64_t theorem_1(int64_t p, int64_t q, int64_t r, int64_t s)
{
    int64_t unit = gcd(r, s);
    r /= unit;
    s /= unit;
    int64_t s1 = gcd(s, p), r1 = gcd(r, q), g0 = gcd(p / s1, q / r1), used = r + s - 1;
    if (used > r1 * s1 * g0)
        return p > q ? p : q;
    int64_t rows = q / r1 / g0 * ((used + s1 - 1) / s1), cols = p / s1 / g0 * ((used + r1 - 1) / r1);
    return rows > cols ? rows : cols;
}

static void steps_are_always_as_few_as_the_busiest_rank_has_messages(void **state)
{
    (void)state;
    for (int64_t r = 1; r <= 12; r++)
        for (int64_t s = 1; s <= 12; s++)
            for (int64_t p = 1; p <= 16; p++)
                for (int64_t q = 1; q <= 16; q++) {
                    struct redistribution what = line(p, q, r, s);
                    struct redistribution_plan *plan = plan_of(&what, REDISTRIBUTION_STEPWISE);
                    const struct redistribution_summary *summary = redistribution_plan_summary(plan);
                    if (summary->steps != summary->least_steps || summary->steps != theorem_1(p, q, r, s))
                        fail_msg("P = %d, Q = %d, r = %d, s = %d: %d steps, %d at least", (int)p, (int)q,
                                 (int)r, (int)s, summary->steps, summary->least_steps);
                    if (gcd(r * 7 + s, 12) == 1)
                        assert_steps_are_steps(&what, plan);
                    redistribution_plan_destroy(plan);
                }
}

/* ---- against moving every element by itself ---- */

static struct block_cyclic draw_layout(struct random *random, int64_t n, int64_t ranks)
{
    struct block_cyclic layout = {n, 1 + (int64_t)random_below(random, 9),
                                  1 + (int64_t)random_below(random, (uint64_t)ranks), 0};
    layout.source = (int64_t)random_below(random, (uint64_t)layout.ranks);
    return layout;
}

static void count_elements(const struct redistribution *what, int64_t *table)
{
    int64_t targets = block_cyclic_matrix_ranks(&what->to);
    for (int64_t j = 0; j < what->from.cols.n; j++)
        for (int64_t i = 0; i < what->from.rows.n; i++)
            table[block_cyclic_matrix_owner(&what->from, i, j) * targets +
                  block_cyclic_matrix_owner(&what->to, i, j)]++;
}

static void assert_messages(const struct redistribution *what, const struct redistribution_plan *plan,
                            const int64_t *expected, int64_t *table)
{
    int64_t targets = block_cyclic_matrix_ranks(&what->to),
            pairs = block_cyclic_matrix_ranks(&what->from) * targets;
    memset(table, 0, (size_t)pairs * sizeof *table);
    for (int32_t step = -1; step < redistribution_plan_summary(plan)->steps; step++) {
        size_t n;
        const struct redistribution_message *messages = redistribution_plan_step(plan, step, &n);
        for (size_t i = 0; i < n; i++)
            table[messages[i].source * targets + messages[i].target] += messages[i].elements;
    }
    for (int64_t pair = 0; pair < pairs; pair++)
        assert_int_equal(table[pair], expected[pair]);
    assert_steps_are_steps(what, plan);
}

static void messages_hold_each_element_once(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 3);
    for (int trial = 0; trial < 400; trial++) {
        int64_t m = (int64_t)random_below(&random, 90),
                n = trial % 3 ? (int64_t)random_below(&random, 90) : 1;
        int64_t most = n == 1 ? 16 : 5, ids[2][32], expected[1024] = {0}, table[1024];
        struct redistribution what = {
            .from = {draw_layout(&random, m, most), draw_layout(&random, n, n == 1 ? 1 : most), trial % 2},
            .to = {draw_layout(&random, m, most), draw_layout(&random, n, n == 1 ? 1 : most),
                   trial % 5 == 0}};
        for (int64_t i = 0; i < 32; i++) {
            ids[0][i] = i;
            ids[1][i] = (i * 7 + trial) % 32;
        }
        if (trial % 4 >= 2) {
            what.from_ids = ids[0];
            what.to_ids = ids[1];
        }
        count_elements(&what, expected);
        for (int schedule = REDISTRIBUTION_BEST; schedule <= REDISTRIBUTION_CATERPILLAR; schedule++) {
            if (schedule == REDISTRIBUTION_CLASSES)
                continue;
            struct redistribution_plan *plan = plan_of(&what, (enum redistribution_schedule)schedule);
            const struct redistribution_summary *summary = redistribution_plan_summary(plan);
            assert_messages(&what, plan, expected, table);
            if (schedule == REDISTRIBUTION_STEPWISE)
                assert_int_equal(summary->steps, summary->least_steps);
            redistribution_plan_destroy(plan);
        }
    }
}

/* Moves values of one dimension by the runs of all pairs. */
static void move(const struct block_cyclic *from, const struct block_cyclic *to, char (*arrived)[256])
{
    for (int64_t p = 0; p < from->ranks; p++)
        for (int64_t q = 0; q < to->ranks; q++) {
            struct redistribution_run *runs;
            size_t n;
            assert_int_equal(redistribution_runs(from, to, p, q, &runs, &n, NULL), ESP_OK);
            for (size_t i = 0; i < n; i++) {
                assert_true(i == 0 || runs[i].first >= runs[i - 1].first + runs[i - 1].length);
                for (int64_t k = 0; k < runs[i].length; k++) {
                    assert_int_equal(block_cyclic_global(from, p, runs[i].from + k), runs[i].first + k);
                    assert_int_equal(block_cyclic_global(to, q, runs[i].to + k), runs[i].first + k);
                    arrived[q][runs[i].to + k]++;
                }
            }
            free(runs);
        }
}

static void runs_bring_each_element_to_its_place(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 5);
    for (int trial = 0; trial < 500; trial++) {
        int64_t n = (int64_t)random_below(&random, 250);
        struct block_cyclic from = draw_layout(&random, n, 8), to = draw_layout(&random, n, 8);
        if (trial % 10 == 0)
            from.block = INT64_MAX;
        if (trial % 15 == 0)
            to.block = n + 3;
        char arrived[8][256] = {{0}};
        move(&from, &to, arrived);
        for (int64_t q = 0; q < to.ranks; q++)
            for (int64_t local = 0; local < block_cyclic_count(&to, q); local++)
                assert_int_equal(arrived[q][local], 1);
    }
}

/* ---- sizes ---- */

static void a_whole_period_is_not_walked(void **state)
{
    (void)state;
    /* 2^40 elements: only arithmetic can count them in a test's time. */
    struct redistribution what = {
        .from = block_cyclic_vector((struct block_cyclic){(int64_t)1 << 40, 3, 16, 2}),
        .to = block_cyclic_vector((struct block_cyclic){(int64_t)1 << 40, 5, 15, 1})};
    struct redistribution_plan *plan = plan_of(&what, REDISTRIBUTION_BEST);
    assert_steps_are_steps(&what, plan);
    redistribution_plan_destroy(plan);
    what.from.rows.block = 1;
    what.to.rows.block = 1000000;
    plan = plan_of(&what, REDISTRIBUTION_BEST);
    assert_steps_are_steps(&what, plan);
    redistribution_plan_destroy(plan);
}

static void the_same_layout_sends_nothing(void **state)
{
    (void)state;
    int64_t ids[6] = {0, 1, 2, 3, 4, 5};
    struct block_cyclic_matrix matrix = {{1000, 7, 2, 1}, {500, 3, 3, 0}, false};
    struct redistribution what = {matrix, matrix, ids, ids};
    struct redistribution_plan *plan = plan_of(&what, REDISTRIBUTION_BEST);
    assert_int_equal(redistribution_plan_summary(plan)->steps, 0);
    assert_int_equal(redistribution_plan_summary(plan)->kept, 500000);
    redistribution_plan_destroy(plan);
}

static void two_dimensions_are_a_product(void **state)
{
    (void)state;
    /* Example 2 in the rows, example 5 in the columns. */
    struct redistribution rows = line(16, 16, 3, 5), cols = line(12, 8, 4, 3);
    struct redistribution what = {.from = {rows.from.rows, cols.from.rows, false},
                                  .to = {rows.to.rows, cols.to.rows, false}};
    struct redistribution_plan *plan = plan_of(&what, REDISTRIBUTION_STEPWISE);
    const struct redistribution_summary *summary = redistribution_plan_summary(plan);
    assert_int_equal(summary->steps, 7 * 4);
    assert_true(summary->cost <= 15 * 8); /* less where steps of both are not products */
    assert_steps_are_steps(&what, plan);
    redistribution_plan_destroy(plan);
}

/* ---- what is picked ---- */

static void the_model_weighs_steps_against_cost(void **state)
{
    (void)state;
    struct redistribution what = line(15, 6, 2, 3);
    struct redistribution_plan *plan;
    assert_int_equal(redistribution_plan_create(&what, REDISTRIBUTION_BEST,
                                                &(struct redistribution_costs){100, 1}, &plan, NULL),
                     ESP_OK);
    assert_int_equal(redistribution_plan_summary(plan)->steps, 10);
    redistribution_plan_destroy(plan);
    assert_int_equal(redistribution_plan_create(&what, REDISTRIBUTION_BEST,
                                                &(struct redistribution_costs){0, 1}, &plan, NULL),
                     ESP_OK);
    assert_int_equal(redistribution_plan_summary(plan)->cost, 16);
    redistribution_plan_destroy(plan);
    what = line(16, 16, 3, 5);
    plan = plan_of(&what, REDISTRIBUTION_BEST);
    assert_int_equal(redistribution_plan_summary(plan)->schedule, REDISTRIBUTION_CLASSES);
    redistribution_plan_destroy(plan);
}

static void assert_refused(struct redistribution what, enum redistribution_schedule schedule,
                           enum esp_status status, const char *text)
{
    struct redistribution_plan *plan;
    struct esp_error error = {0};
    assert_int_equal(redistribution_plan_create(&what, schedule, &costs, &plan, &error), status);
    if (!strstr(error.text, text))
        fail_msg("expected '%s' in '%s'", text, error.text);
}

static void wrong_redistributions_are_refused(void **state)
{
    (void)state;
    struct redistribution what = line(4, 4, 2, 3);
    int64_t ids[4] = {0};
    what.to.rows.n++;
    assert_refused(what, REDISTRIBUTION_BEST, ESP_INVALID,
                   "expected as many rows before as after, found 24 and 25");
    what = line(4, 4, 2, 3);
    what.to.cols.block = 0;
    assert_refused(what, REDISTRIBUTION_BEST, ESP_INVALID,
                   "after: columns: expected a block size of 1 or more");
    what = line(4, 4, 2, 3);
    what.from_ids = ids;
    assert_refused(what, REDISTRIBUTION_BEST, ESP_INVALID, "expected ids of both grids");
    assert_refused(line(15, 15, 3, 5), REDISTRIBUTION_CLASSES, ESP_INVALID, "take the stepwise one");
    what = line(4, 4, 2, 3);
    what.from.rows.n = what.to.rows.n = ((int64_t)1 << 40) + 1;
    assert_refused(what, REDISTRIBUTION_BEST, ESP_LIMIT, "at most 2^40 rows");
    assert_refused(line(4096, 4095, 1, 1), REDISTRIBUTION_BEST, ESP_LIMIT, "at most 4194304 messages");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_2_and_3_are_optimal_by_classes),
        cmocka_unit_test(example_4_is_below_the_paper),
        cmocka_unit_test(example_5_is_as_in_the_paper),
        cmocka_unit_test(example_6_is_below_the_paper),
        cmocka_unit_test(steps_are_always_as_few_as_the_busiest_rank_has_messages),
        cmocka_unit_test(messages_hold_each_element_once),
        cmocka_unit_test(runs_bring_each_element_to_its_place),
        cmocka_unit_test(a_whole_period_is_not_walked),
        cmocka_unit_test(the_same_layout_sends_nothing),
        cmocka_unit_test(two_dimensions_are_a_product),
        cmocka_unit_test(the_model_weighs_steps_against_cost),
        cmocka_unit_test(wrong_redistributions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
