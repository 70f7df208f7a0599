/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictions for many ranks from runs on few: codes that keep the model's laws, with noise and without, and
 * the numbers of the paper's tables.
 */
#include "tests/unit/unit.h"
#include "core/forecast/few_ranks.h"
#include "util/random.h"

#include <math.h>
#include <stdbool.h>

static bool is_near(double found, double expected, double relative)
{
    return fabs(found - expected) <= relative * fabs(expected);
}

/* A code whose time is as the model says, but for noise. */
struct law {
    double c, d, gamma, rate, noise;
};

static double noisy(const struct law *law, struct random *random)
{
    return 1 + law->noise * (2 * random_real(random) - 1);
}

static struct few_ranks_run run(const struct law *law, double ranks, double work, struct random *random)
{
    const double alone = work / law->rate;
    return (struct few_ranks_run){ranks, work, alone * noisy(law, random),
                                  (alone + law->c + law->d * log2(ranks) + law->gamma * work) *
                                      noisy(law, random)};
}

/* The paper's measurements: two amounts of work on 4 and on 8 ranks. */
static struct few_ranks_model fit(const struct law *law, struct random *random)
{
    const struct few_ranks_run runs[] = {run(law, 4, 512, random), run(law, 4, 256, random),
                                         run(law, 8, 512, random), run(law, 8, 256, random)};
    struct few_ranks_model model;
    assert_int_equal(few_ranks_fit(runs, 4, &model, NULL), ESP_OK);
    return model;
}

static void runs_on_4_and_8_tell_those_on_64(void **state)
{
    (void)state;
    /* blocking messages: overhead grows with the ranks; non-blocking ones: it does not */
    static const struct law laws[] = {
        {0.4, 0.3, 0.002, 50, 0}, {0.9, 0, 0.004, 50, 0}, {-0.2, 0.5, 0, 50, 0}};
    struct random random;
    random_seed(&random, 4);
    for (size_t i = 0; i < 3; i++) {
        const struct few_ranks_model model = fit(&laws[i], &random);
        assert_true(fabs(model.c - laws[i].c) < 1e-9 && fabs(model.d - laws[i].d) < 1e-9);
        assert_true(fabs(model.gamma - laws[i].gamma) < 1e-9 && model.error < 1e-9);
        for (double ranks = 16; ranks <= 1024; ranks *= 2) {
            const struct few_ranks_run target = run(&laws[i], ranks, 512, &random);
            assert_true(is_near(few_ranks_seconds(&model, ranks, 512, target.alone_s), target.seconds, 1e-9));
        }
    }
}

static void noise_of_one_percent_costs_a_few(void **state)
{
    (void)state;
    static const struct law law = {0.4, 0.3, 0.002, 50, 0.01};
    struct random random;
    random_seed(&random, 7);
    for (int i = 0; i < 50; i++) {
        const struct few_ranks_model model = fit(&law, &random);
        const struct few_ranks_run target = run(&law, 16, 512, &random);
        assert_true(model.error < 0.1);
        assert_true(is_near(few_ranks_seconds(&model, 16, 512, target.alone_s), target.seconds, 0.1));
    }
}

/* Overheads of 8 ranks that are below those of 4 must not make 1024 ranks free. */
static void an_overhead_does_not_shrink(void **state)
{
    (void)state;
    static const struct few_ranks_run runs[] = {
        {4, 512, 10, 12}, {4, 256, 5, 6.5}, {8, 512, 10, 11}, {8, 256, 5, 5.5}};
    struct few_ranks_model model;
    assert_int_equal(few_ranks_fit(runs, 4, &model, NULL), ESP_OK);
    assert_true(!(model.d > 0) && !(model.d < 0));
    assert_true(few_ranks_seconds(&model, 1024, 512, 10) > 10.9);
    assert_true(is_near(few_ranks_seconds(&model, 1, 512, 10), 10, 1e-12));
}

/* Tables I and II: measurement, prediction, |error| in percent. */
static void errors_of_the_paper(void **state)
{
    (void)state;
    static const double rows[][3] = {{1703.9, 1715.7, 0.69}, {1014.9, 983.9, 3.05}, {1104.6, 1044.4, 5.45},
                                     {776.7, 739.2, 4.83},   {628.3, 628.6, 0.05},  {444.4, 451.9, 1.69},
                                     {281.0, 259.5, 7.65},   {1645.5, 1686.0, 2.46}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(fabs(100 * fabs(rows[i][1] - rows[i][0]) / rows[i][0] - rows[i][2]) < 0.011);
}

/* Scenario 1: 96 processors of both clusters by Ethernet are faster than 64 of A, slower than A by Myrinet.
 * Scenario 2: twice the resolution on both costs about ten times that of B alone, at prices of 1 and 2. */
static void choices_of_the_paper(void **state)
{
    (void)state;
    const double both = few_ranks_both(1044.4, 980);
    assert_true(both < 1715.7 && both > 983.9);
    const double fine = few_ranks_both(1686.0, 1600) * (32 * 1 + 32 * 2), coarse = 259.5 * 32 * 2;
    assert_true(fine / coarse > 9 && fine / coarse < 11);
}

static void too_few_runs_are_refused(void **state)
{
    (void)state;
    static const struct few_ranks_run one_number[] = {{4, 512, 10, 12}, {4, 256, 5, 6}},
                                      one_work[] = {{4, 512, 10, 12}, {8, 512, 10, 13}},
                                      bad[] = {{4, 512, 10, 12}, {4, 256, NAN, 6}},
                                      single[] = {{1, 512, 10, 10}};
    struct few_ranks_model model;
    struct esp_error error;
    assert_int_equal(few_ranks_fit(one_number, 2, &model, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "two numbers of ranks"));
    assert_int_equal(few_ranks_fit(one_work, 2, &model, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "two amounts of work"));
    assert_int_equal(few_ranks_fit(bad, 2, &model, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "run 1"));
    assert_int_equal(few_ranks_fit(single, 1, &model, &error), ESP_INVALID);
    assert_int_equal(few_ranks_fit(single, 0, &model, &error), ESP_INVALID);
    assert_int_equal(few_ranks_fit(single, FEW_RANKS_MOST_RUNS + 1, &model, &error), ESP_INVALID);
}

/* ---- dense routines ---- */

enum { MOST_RUNS = 15 };

static double dense_law(double ranks, double n)
{
    return 2e-4 + 9 * n * n * n / ranks * 2e-10 + n * log2(ranks) * 3e-6 +
           (ranks > 1 ? n * n / sqrt(ranks) * 8e-9 : 0);
}

static struct dense_ranks_model fit_dense(double noise, struct random *random)
{
    static const double ranks[] = {1, 2, 4}, sizes[] = {200, 400, 600, 900, 1200};
    struct dense_ranks_run runs[MOST_RUNS];
    struct dense_ranks_model model;
    size_t n = 0;
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 5; j++) {
            const double size = sizes[j],
                         seconds = dense_law(ranks[i], size) * (1 + noise * (2 * random_real(random) - 1));
            runs[n++] = (struct dense_ranks_run){ranks[i], size, 9 * size * size * size, seconds};
        }
    assert_int_equal(dense_ranks_fit(runs, n, &model, NULL), ESP_OK);
    return model;
}

static void dense_runs_on_4_tell_those_on_16(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 9);
    for (int trial = 0; trial < 20; trial++) {
        const double noise = trial == 0 ? 0 : 0.02;
        const struct dense_ranks_model model = fit_dense(noise, &random);
        assert_true(model.error <= noise + 1e-6);
        for (int i = 0; i < DENSE_RANKS_TERMS; i++)
            assert_true(model.t[i] >= 0);
        for (double ranks = 8; ranks <= 64; ranks *= 2)
            for (double n = 1000; n <= 4000; n *= 2)
                assert_true(is_near(dense_ranks_seconds(&model, ranks, n, 9 * n * n * n), dense_law(ranks, n),
                                    noise > 0 ? 0.25 : 1e-4));
    }
}

static void dense_runs_that_say_nothing_are_refused(void **state)
{
    (void)state;
    struct dense_ranks_run runs[6];
    struct dense_ranks_model model;
    struct esp_error error;
    for (int i = 0; i < 6; i++)
        runs[i] = (struct dense_ranks_run){2, 100 * (i + 1), 1e6 * (i + 1), 0.1 * (i + 1)};
    assert_int_equal(dense_ranks_fit(runs, 6, &model, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "on one"));
    runs[0].ranks = 1;
    assert_int_equal(dense_ranks_fit(runs, 4, &model, &error), ESP_INVALID);
    assert_int_equal(dense_ranks_fit(runs, 6, &model, &error), ESP_OK);
    runs[3].seconds = 0;
    assert_int_equal(dense_ranks_fit(runs, 6, &model, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "run 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_on_4_and_8_tell_those_on_64),
        cmocka_unit_test(noise_of_one_percent_costs_a_few),
        cmocka_unit_test(an_overhead_does_not_shrink),
        cmocka_unit_test(errors_of_the_paper),
        cmocka_unit_test(choices_of_the_paper),
        cmocka_unit_test(too_few_runs_are_refused),
        cmocka_unit_test(dense_runs_on_4_tell_those_on_16),
        cmocka_unit_test(dense_runs_that_say_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
