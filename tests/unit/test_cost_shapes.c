/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines for rectangular matrices that take another way by their shape: the sizes that a calibration tries
 * find where the ways part, and models of several shapes travel whole or not at all.
 */
#include "tests/unit/cost_trial.h"

#include <math.h>
#include <stdlib.h>

#define ASKED 200
/* The time of a fit grows with their square: with sanitizers, which slow it down, fewer. */
#define MEASURED (100 + TRIALS(50))

/* Times like those of singular values: where one side is 1.6 times the other a QR factorisation comes
 * first; rows take other times than columns. */
static double with_qr_first(double m, double n)
{
    const double p = fmax(m, n), q = fmin(m, n), way = m < n ? 1.15 : 1;
    if (p >= 1.6 * q)
        return 3e-5 + 3e-10 * p * q * q + 1.8e-9 * q * q * q * way + 2e-9 * m * n;
    return 3e-5 + 1.5e-9 * p * q * q * way + 4e-10 * q * q * q + 1e-9 * m * n;
}

/* The times on a machine whose cache gives out little by little. */
static double with_a_cache(double m, double n)
{
    return with_qr_first(m, n) * (1 + 0.3 / (1 + pow(450 / fmin(m, n), 4)));
}

/* A way that parts where nobody knows, and only for tall matrices. */
static double parting_somewhere(double m, double n)
{
    const double p = fmax(m, n), q = fmin(m, n);
    return m > 2.3 * n ? 2e-5 + 2e-10 * p * q * q : 2e-5 + 3e-10 * p * q * q + 4e-9 * m * n;
}

static double the_same_for_all(double m, double n)
{
    const double p = fmax(m, n), q = fmin(m, n);
    return 2e-5 + 3e-10 * p * q * q + 5e-10 * q * q * q;
}

/* The mean error at sizes that were not measured, of calls of 10 ms and more with aspects up to four. */
static double mean_error(struct cost_trial *f, cost_of *cost)
{
    double sum = 0;
    int n = 0;
    while (n < ASKED) {
        const double scale = exp(log(60) + random_real(&f->random) * log(30));
        const int64_t sizes[] = {(int64_t)(scale * exp2(2 * random_real(&f->random) - 1)),
                                 (int64_t)(scale * exp2(2 * random_real(&f->random) - 1))};
        double error;
        if (!cost_trial_error(f, cost, sizes, &error))
            continue;
        sum += error;
        n++;
    }
    return sum / n;
}

static void check_told(cost_of *cost)
{
    struct cost_trial f;
    for (uint64_t seed = 1; seed <= TRIALS(2); seed++) {
        cost_trial_begin(&f, "lapack/singular-values.esp", "dgesvd", seed);
        cost_trial_calibrate(&f, cost, MEASURED);
        const double error = mean_error(&f, cost);
        if (error > 0.03)
            fail_msg("seed %d: mean error %g, expected %g", (int)seed, error, f.model.time.error);
        cost_trial_end(&f);
    }
}

static void ways_that_part_by_shape_are_told(void **state)
{
    (void)state;
    check_told(with_qr_first);
}

static void and_bent_by_a_cache_besides(void **state)
{
    (void)state;
    check_told(with_a_cache);
}

static void where_they_part_need_not_be_known(void **state)
{
    (void)state;
    check_told(parting_somewhere);
}

static void what_has_no_shapes_gets_none(void **state)
{
    (void)state;
    struct cost_trial f;
    cost_trial_begin(&f, "lapack/singular-values.esp", "dgesvd", 5);
    cost_trial_calibrate(&f, the_same_for_all, MEASURED);
    assert_false(cost_has_shapes(&f.model));
    assert_true(mean_error(&f, the_same_for_all) < 0.02);
    cost_trial_end(&f);
}

/* ---- how they travel ---- */

static void shapes_come_back_from_a_text(void **state)
{
    (void)state;
    struct cost_trial f;
    struct arena arena = {0};
    struct cost_model model;
    size_t length;
    cost_trial_begin(&f, "lapack/singular-values.esp", "dgesvd", 6);
    cost_trial_calibrate(&f, with_qr_first, MEASURED);
    assert_true(cost_has_shapes(&f.model));
    char *text = cost_text(&f.model, &length);
    assert_non_null(text);
    assert_non_null(strstr(text, "espalier-cost-model 2\n")); /* earlier versions shall say so */
    if (cost_parse(text, length, "a text", &arena, &model, &f.error) != ESP_OK)
        fail_msg("%s", f.error.text);
    cost_trial_same_curve(&f.model, &model, &f.random);
    free(text);
    arena_clear(&arena);
    cost_trial_end(&f);
}

static void pieces_without_order_are_refused(void **state)
{
    (void)state;
    struct cost_term term = {.coefficient = 1};
    struct cost_piece pieces[] = {{.shape = 2, .until = HUGE_VAL, .n_terms = 1, .terms = &term},
                                  {.shape = 1, .until = HUGE_VAL, .n_terms = 1, .terms = &term},
                                  {.shape = 0, .until = HUGE_VAL, .n_terms = 1, .terms = &term}};
    struct cost_measurement measurement = {.x = {1}, .seconds = 1, .repetitions = 1};
    struct cost_model model = {.problem = "p",
                               .implementation = "i",
                               .machine = "m",
                               .digest = 1,
                               .n_measurements = 1,
                               .measurements = &measurement,
                               .threads = 1,
                               .n_variables = 1,
                               .variables = {{.argument = COST_BYTES, .name = "bytes", .most = 1}},
                               .time = {.n_pieces = 3, .pieces = pieces}};
    static const double orders[][3] = {{2, 1, 0}, {1, 1, 0}, {1, 2, 3}, {0, 1, 0}, {1, 2, 0}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct arena arena = {0};
        struct cost_model read;
        struct cost_set set = {0}, told;
        struct esp_error error;
        size_t length;
        uint32_t encoded_length;
        const bool good = i + 1 == sizeof orders / sizeof *orders;
        for (int k = 0; k < 3; k++)
            pieces[k].shape = orders[i][k];
        char *text = cost_text(&model, &length);
        assert_int_equal(cost_parse(text, length, "here", &arena, &read, &error),
                         good ? ESP_OK : ESP_INVALID);
        assert_true(good || strncmp(error.text, "here:", 5) == 0);
        model.factor = 1;
        assert_int_equal(cost_set_add(&set, &model, false, NULL), ESP_OK);
        const uint8_t *encoded = cost_encode(&set, &arena, &encoded_length);
        assert_true(cost_decode(encoded, encoded_length, &told) == good);
        cost_set_clear(&told);
        cost_set_clear(&set);
        arena_clear(&arena);
        free(text);
    }
}

static void shapes_travel(void **state)
{
    (void)state;
    struct cost_trial f;
    struct cost_set set = {0}, told;
    uint32_t length;
    cost_trial_begin(&f, "lapack/singular-values.esp", "dgesvd", 7);
    cost_trial_calibrate(&f, with_qr_first, MEASURED);
    assert_int_equal(cost_set_add(&set, &f.model, false, NULL), ESP_OK);
    uint8_t *encoded = cost_encode(&set, &f.arena, &length);
    assert_true(encoded && encoded[0] == 2 && cost_decode(encoded, length, &told));
    cost_trial_same_curve(&f.model, &told.models[0], &f.random);
    cost_set_clear(&told);
    for (uint32_t cut = 0; cut < length; cut++)
        assert_false(cost_decode(encoded, cut, &told));
    for (uint32_t i = 0; i < f.model.time.n_pieces; i++)
        f.model.time.pieces[i].shape = 0;
    f.model.time.n_pieces = 1;
    f.model.time.pieces[0].until = HUGE_VAL;
    f.model.memory.n_pieces = 0;
    cost_set_clear(&set);
    assert_int_equal(cost_set_add(&set, &f.model, false, NULL), ESP_OK);
    encoded = cost_encode(&set, &f.arena, &length);
    assert_true(encoded && encoded[0] == 1); /* agents of earlier versions read it */
    cost_set_clear(&set);
    cost_trial_end(&f);
}

/* A side beyond what was measured leaves a call in its shape. */
static void what_is_beyond_keeps_its_shape(void **state)
{
    (void)state;
    struct cost_term terms[] = {{1e-9, {0, 0, 3}}, {5e-9, {0, 0, 3}}};
    struct cost_piece pieces[] = {{.shape = 4, .until = HUGE_VAL, .n_terms = 1, .terms = &terms[0]},
                                  {.until = HUGE_VAL, .n_terms = 1, .terms = &terms[1]}};
    const struct cost_model model = {.n_variables = 4,
                                     .variables = {{.argument = 0, .least = 1, .most = 1000},
                                                   {.argument = 1, .least = 1, .most = 1000},
                                                   {.argument = COST_LESSER, .least = 1, .most = 1000},
                                                   {.argument = COST_BYTES, .least = 1, .most = 8e6}},
                                     .time = {.n_pieces = 2, .pieces = pieces}};
    bool extrapolated;
    const double x[COST_MOST_VARIABLES] = {5000, 500, 500, 2e7};
    const double value = cost_curve_value(&model, &model.time, x, &extrapolated);
    assert_true(extrapolated);
    assert_true(fabs(value / (5e-9 * 500 * 500 * 500) - 1) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_that_part_by_shape_are_told),
        cmocka_unit_test(and_bent_by_a_cache_besides),
        cmocka_unit_test(where_they_part_need_not_be_known),
        cmocka_unit_test(what_has_no_shapes_gets_none),
        cmocka_unit_test(shapes_come_back_from_a_text),
        cmocka_unit_test(pieces_without_order_are_refused),
        cmocka_unit_test(shapes_travel),
        cmocka_unit_test(what_is_beyond_keeps_its_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
