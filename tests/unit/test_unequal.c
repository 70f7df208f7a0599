/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocations to processors of different speed: the tables of the paper, the best of all allocations of up to
 * 12 chunks by brute force, and the strategies of its figures 11 and 12.
 */
#include "tests/unit/unit.h"
#include "core/unequal/strategies.h"
#include "util/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define assert_close(found, expected, tolerance) assert_true(fabs((found) - (expected)) <= (tolerance))

static const double toy[3] = {3, 5, 8};

/* ---- tables ---- */

static void table_1(void **state)
{
    (void)state;
    int64_t shares[3];
    allocation_shares(toy, 3, 78, shares);
    assert_int_equal(shares[0], 40);
    assert_int_equal(shares[1], 24);
    assert_int_equal(shares[2], 14);
    assert_close(allocation_cost(toy, 3, shares) * 78, 120, 1e-9);
}

static void tables_2_and_3(void **state)
{
    (void)state;
    static const uint32_t expected[10] = {1, 2, 1, 3, 1, 2, 1, 1, 2, 3};
    static const double expected_costs[10] = {3, 2.5, 2, 2, 1.8, 1.67, 1.71, 1.875, 1.67, 1.6};
    uint32_t owners[10], columns[10];
    double costs[10];
    allocation_deal(toy, 3, NULL, 10, owners, costs);
    allocation_columns(toy, 3, 10, 10, columns);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(owners[i] + 1, expected[i]);
        assert_int_equal(columns[9 - i], owners[i]);
        assert_close(costs[i], expected_costs[i], 0.005);
    }
}

/* A network of section 3: cycle times, the processor of each chunk, and its cost, which the tables give
 * without its fraction. */
static void assert_network(const double *cycle_times, uint32_t processors, const uint32_t *expected,
                           const double *expected_costs, double limit)
{
    uint32_t owners[9];
    double costs[9];
    allocation_deal(cycle_times, processors, NULL, 9, owners, costs);
    for (int i = 0; i < 9; i++) {
        assert_int_equal(owners[i], expected[i]);
        assert_true(fabs(costs[i] - expected_costs[i]) < 1);
    }
    assert_true(fabs(allocation_limit(cycle_times, processors) - limit) < 1);
}

enum { FAROT, ARNICA, SMIRNOFF, LOOP, ARQUEBUSE, XERES };
enum { LHPCB, LHPCF, LHPCI };

static void table_4(void **state)
{
    (void)state;
    static const double lip[] = {100, 326, 303, 297, 161, 284};
    static const uint32_t owners[] = {FAROT, ARQUEBUSE, FAROT,     XERES, LOOP,
                                      FAROT, SMIRNOFF,  ARQUEBUSE, ARNICA};
    static const double costs[] = {100, 80, 66, 71, 59, 50, 43, 40, 36};
    assert_network(lip, 6, owners, costs, 34);
    assert_close(326.0 / 6, 54, 0.5);
    assert_close(allocation_gain(lip, 6), 326.0 / 6 / allocation_limit(lip, 6), 1e-12);
}

static void table_5(void **state)
{
    (void)state;
    static const double lhpc[] = {100, 143, 353};
    static const uint32_t owners[] = {LHPCB, LHPCF, LHPCB, LHPCF, LHPCB, LHPCI, LHPCB, LHPCF, LHPCB};
    static const double costs[] = {100, 71, 66, 71, 60, 59, 57, 54, 55};
    assert_network(lhpc, 3, owners, costs, 50);
}

/* The distributions that captions of figures 6 to 9 name. Figure 8 gives its blocks in another order; their
 * numbers are the same. */
static void distributions_of_the_experiments(void **state)
{
    (void)state;
    static const double lu_lhpc[] = {300, 430, 1060}, lu_lip[] = {31, 101, 94, 92, 50, 90},
                        qr_lhpc[] = {59, 121, 160};
    static const uint32_t on_lhpc[] = {LHPCB, LHPCF, LHPCB, LHPCI, LHPCB, LHPCF, LHPCB, LHPCF, LHPCB},
                          on_lip[] = {ARNICA, ARQUEBUSE, SMIRNOFF,  FAROT, LOOP,
                                      XERES,  FAROT,     ARQUEBUSE, FAROT};
    uint32_t owners[9];
    int64_t shares[3];
    allocation_columns(lu_lhpc, 3, 9, 9, owners);
    assert_memory_equal(owners, on_lhpc, sizeof owners);
    allocation_columns(lu_lip, 6, 9, 9, owners);
    assert_memory_equal(owners, on_lip, sizeof owners);
    allocation_shares(qr_lhpc, 3, 9, shares);
    assert_int_equal(shares[LHPCB], 5);
    assert_int_equal(shares[LHPCF], 2);
    assert_int_equal(shares[LHPCI], 2);
}

/* ---- the best of all ---- */

/* The least max(shares * cycle_times) of all ways to give `chunks` to processors from `at` on. */
static double best_of_all(const double *cycle_times, uint32_t processors, const int64_t *start, uint32_t at,
                          int64_t chunks)
{
    const double before = start ? (double)start[at] : 0;
    if (at + 1 == processors)
        return cycle_times[at] * (before + (double)chunks);
    double least = INFINITY;
    for (int64_t mine = 0; mine <= chunks; mine++)
        least = fmin(least, fmax(cycle_times[at] * (before + (double)mine),
                                 best_of_all(cycle_times, processors, start, at + 1, chunks - mine)));
    return least;
}

static void draw(struct random *random, double *cycle_times, uint32_t processors)
{
    const bool equal_ones = random_below(random, 3) == 0; /* ties */
    for (uint32_t i = 0; i < processors; i++)
        cycle_times[i] =
            equal_ones ? 1 + (double)random_below(random, 4) : 1 + (double)random_below(random, 1000) / 64;
}

static double time_of(const double *cycle_times, uint32_t processors, const int64_t *shares)
{
    double most = 0;
    for (uint32_t i = 0; i < processors; i++)
        most = fmax(most, cycle_times[i] * (double)shares[i]);
    return most;
}

static void no_allocation_is_better(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 34);
    for (int trial = 0; trial < TRIALS(300); trial++) {
        const uint32_t processors = 1 + (uint32_t)random_below(&random, 5);
        double cycle_times[5], costs[12];
        uint32_t owners[12];
        draw(&random, cycle_times, processors);
        allocation_deal(cycle_times, processors, NULL, 12, owners, costs);
        for (int64_t chunks = 0; chunks <= 12; chunks++) {
            const double best = best_of_all(cycle_times, processors, NULL, 0, chunks);
            int64_t shares[5], sum = 0;
            allocation_shares(cycle_times, processors, chunks, shares);
            for (uint32_t i = 0; i < processors; i++)
                sum += shares[i];
            assert_int_equal(sum, chunks);
            assert_close(time_of(cycle_times, processors, shares), best, 1e-9);
            if (chunks > 0)
                assert_close(costs[chunks - 1] * (double)chunks, best, 1e-9);
        }
    }
}

/* Section 4.4: the fastest processor has two tasks of each level before. */
static void no_allocation_with_a_start_is_better(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 44);
    for (int trial = 0; trial < TRIALS(200); trial++) {
        double cycle_times[4];
        uint32_t owners[12];
        int64_t start[4] = {2, 0, 0, 0}, shares[4] = {2, 0, 0, 0};
        draw(&random, cycle_times, 4);
        allocation_deal(cycle_times, 4, start, 12, owners, NULL);
        for (int64_t chunks = 1; chunks <= 12; chunks++) {
            shares[owners[chunks - 1]]++;
            assert_close(time_of(cycle_times, 4, shares), best_of_all(cycle_times, 4, start, 0, chunks),
                         1e-9);
        }
    }
}

/* Each level of a factorisation is balanced as well as its blocks can be. */
static void every_level_is_balanced(void **state)
{
    (void)state;
    uint32_t owners[12];
    allocation_columns(toy, 3, 12, 12, owners);
    for (uint32_t level = 0; level < 12; level++) {
        int64_t shares[3] = {0};
        for (uint32_t j = level + 1; j < 12; j++)
            shares[owners[j]]++;
        assert_close(time_of(toy, 3, shares), best_of_all(toy, 3, NULL, 0, 11 - level), 1e-9);
    }
}

static void slices_repeat(void **state)
{
    (void)state;
    uint32_t one[10], all[25], last[5];
    allocation_columns(toy, 3, 10, 10, one);
    allocation_columns(toy, 3, 5, 5, last);
    allocation_columns(toy, 3, 25, 10, all);
    assert_memory_equal(all, one, sizeof one);
    assert_memory_equal(all + 10, one, sizeof one);
    assert_memory_equal(all + 20, last, sizeof last);
}

static void what_is_left_shrinks(void **state)
{
    (void)state;
    uint32_t owners[78], cyclic[78];
    allocation_columns(toy, 3, 78, 78, owners);
    for (uint32_t i = 0; i < 78; i++)
        cyclic[i] = i % 3;
    for (uint32_t first = 0; first < 77; first++)
        assert_true(allocation_remaining(toy, 3, owners, first, 78) >=
                    allocation_remaining(toy, 3, owners, first + 1, 78));
    const double gain =
        allocation_remaining(toy, 3, cyclic, 0, 78) / allocation_remaining(toy, 3, owners, 0, 78);
    assert_close(gain, allocation_gain(toy, 3), 0.08);
}

static void bad_cycle_times_are_refused(void **state)
{
    (void)state;
    const double bad[][2] = {{1, 0}, {1, -1}, {1, NAN}, {1, INFINITY}};
    struct esp_error error;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(allocation_check(bad[i], 2, &error), ESP_INVALID);
        assert_non_null(strstr(error.text, "processor 1"));
    }
    assert_int_equal(allocation_check(toy, 0, &error), ESP_INVALID);
    assert_int_equal(allocation_check(toy, ALLOCATION_MOST_PROCESSORS + 1, &error), ESP_INVALID);
    assert_int_equal(allocation_check(toy, 3, &error), ESP_OK);
}

/* ---- strategies ---- */

static struct strategies_result simulate(const struct strategies_question *question, enum strategy strategy)
{
    struct strategies_result result;
    assert_int_equal(strategies_simulate(question, strategy, &result, NULL, NULL), ESP_OK);
    return result;
}

static struct strategies_question paper(uint32_t blocks)
{
    return (struct strategies_question){
        .cycle_times = toy, .processors = 3, .blocks = blocks, .width = 32, .element_s = 1};
}

/* Figure 11: a matrix of 20 blocks. */
static void allocations_of_figure_11(void **state)
{
    (void)state;
    enum { N = 20 };
    static uint32_t tasks[N * N];
    const struct strategies_question question = paper(N);
    struct strategies_result result;
    uint32_t owners[N];
    allocation_columns(toy, 3, N, N, owners);
    assert_int_equal(strategies_simulate(&question, STRATEGY_STATIC, &result, tasks, NULL), ESP_OK);
    assert_int_equal(result.moves, 0);
    for (uint32_t k = 0; k < N; k++)
        for (uint32_t j = k; j < N; j++)
            assert_int_equal(tasks[k * N + j], owners[j]);
    assert_int_equal(strategies_simulate(&question, STRATEGY_OPTIMISED, &result, tasks, NULL), ESP_OK);
    for (uint32_t k = 0; k < N; k++) {
        assert_int_equal(tasks[k * N + k], 0);
        assert_true(k + 1 == N || tasks[k * N + k + 1] == 0);
    }
    /* "many partial redistributions of column blocks between levels" */
    assert_true(simulate(&question, STRATEGY_LEVELS).moves > 3 * result.moves);
}

/* Figure 12, n = 1000 to 2000: "its performances are quite similar to that of our static distribution". */
static void times_of_figure_12(void **state)
{
    (void)state;
    for (uint32_t n = 1000; n <= 2000; n += 250) {
        const struct strategies_question question = paper(n / 32);
        const double fixed = simulate(&question, STRATEGY_STATIC).makespan_s,
                     levels = simulate(&question, STRATEGY_LEVELS).makespan_s,
                     best = simulate(&question, STRATEGY_OPTIMISED).makespan_s;
        assert_true(fabs(levels / fixed - 1) < 0.05);
        assert_true(best <= fixed && best > 0.95 * fixed);
        assert_true(simulate(&question, STRATEGY_MASTER_CENTRAL).makespan_s > 1.5 * fixed);
        assert_true(simulate(&question, STRATEGY_MASTER_DECENTRAL).moves > 100);
    }
}

/* The model of issue 34's row: 78 blocks, cycle times 3, 5 and 8. */
static void cyclic_goes_at_the_pace_of_the_slowest(void **state)
{
    (void)state;
    for (int qr = 0; qr < 2; qr++) {
        struct strategies_question question = paper(78);
        question.element_s = 0;
        question.factorisation = qr ? FACTORISE_QR : FACTORISE_LU;
        const double cyclic = simulate(&question, STRATEGY_CYCLIC).makespan_s,
                     fixed = simulate(&question, STRATEGY_STATIC).makespan_s;
        assert_close(cyclic / fixed, allocation_gain(toy, 3), 0.1);
        assert_true(cyclic / fixed > 1.65);
    }
}

/* The fastest processor halves its speed at a third of the way. */
static void phases_follow_the_speeds(void **state)
{
    (void)state;
    static const double later[3] = {6, 5, 8};
    struct strategies_question question = paper(94);
    question.element_s = 0.1;
    const double before = simulate(&question, STRATEGY_STATIC).makespan_s;
    assert_close(simulate(&question, STRATEGY_SEMI_STATIC).makespan_s, before, 1e-9 * before);
    question.later = later;
    question.change_s = before / 3;
    assert_true(simulate(&question, STRATEGY_STATIC).makespan_s >
                1.25 * simulate(&question, STRATEGY_SEMI_STATIC).makespan_s);
}

static void equal_processors_share_alike(void **state)
{
    (void)state;
    static const double equal[4] = {2, 2, 2, 2};
    struct strategies_question question = paper(64);
    question.cycle_times = equal;
    question.processors = 4;
    assert_close(simulate(&question, STRATEGY_STATIC).makespan_s,
                 simulate(&question, STRATEGY_CYCLIC).makespan_s,
                 0.01 * simulate(&question, STRATEGY_CYCLIC).makespan_s);
    assert_close(allocation_gain(equal, 4), 1, 1e-12);
}

/* A single processor takes the sum of all tasks, whatever the strategy. */
static void one_processor_does_everything(void **state)
{
    (void)state;
    struct strategies_question question = paper(9);
    question.processors = 1;
    const double all = simulate(&question, STRATEGY_STATIC).makespan_s;
    for (int i = 0; i < STRATEGIES; i++) {
        const struct strategies_result result = simulate(&question, i);
        assert_close(result.makespan_s, all, 1e-9 * all);
        assert_close(result.summed_s, all, 1e-9 * all);
        assert_int_equal(result.moves, 0);
    }
    const double n = 9 * 32;
    assert_close(all / 3, 2.0 / 3 * n * n * n, 0.01 * n * n * n);
}

static void bad_questions_are_refused(void **state)
{
    (void)state;
    struct strategies_result result;
    struct esp_error error;
    struct strategies_question question = paper(0);
    assert_int_equal(strategies_simulate(&question, STRATEGY_STATIC, &result, NULL, &error), ESP_INVALID);
    question = paper(STRATEGIES_MOST_BLOCKS + 1);
    assert_int_equal(strategies_simulate(&question, STRATEGY_STATIC, &result, NULL, &error), ESP_INVALID);
    question = paper(4);
    assert_int_equal(strategies_simulate(&question, STRATEGIES, &result, NULL, &error), ESP_INVALID);
    question.element_s = NAN;
    assert_int_equal(strategies_simulate(&question, STRATEGY_STATIC, &result, NULL, &error), ESP_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_1),
        cmocka_unit_test(tables_2_and_3),
        cmocka_unit_test(table_4),
        cmocka_unit_test(table_5),
        cmocka_unit_test(distributions_of_the_experiments),
        cmocka_unit_test(no_allocation_is_better),
        cmocka_unit_test(no_allocation_with_a_start_is_better),
        cmocka_unit_test(every_level_is_balanced),
        cmocka_unit_test(slices_repeat),
        cmocka_unit_test(what_is_left_shrinks),
        cmocka_unit_test(bad_cycle_times_are_refused),
        cmocka_unit_test(allocations_of_figure_11),
        cmocka_unit_test(times_of_figure_12),
        cmocka_unit_test(cyclic_goes_at_the_pace_of_the_slowest),
        cmocka_unit_test(phases_follow_the_speeds),
        cmocka_unit_test(equal_processors_share_alike),
        cmocka_unit_test(one_processor_does_everything),
        cmocka_unit_test(bad_questions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
