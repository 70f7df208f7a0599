/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines that go by single columns up to some of them and by blocks beyond: forecasts for thin matrices
 * of many megabytes are as good as for square ones, and models with ranges of the lesser side travel whole
 * or not at all. */
#include "tests/unit/cost_trial.h"

#include <math.h>
#include <stdlib.h>

#define ASKED 100

/* Time of LAPACK's QR: the last 128 columns one by one, which wait for memory once they are not in a cache
 * of 2 MB any more, and blocks before them. */
static double by_columns_and_blocks(double m, double n)
{
    const double p = fmax(m, n), q = fmin(m, n), columns = fmin(q, 128), rest = p - q + columns;
    const double single = 2 * rest * columns * columns - 2.0 / 3 * pow(columns, 3);
    const double all = 2 * p * q * q - 2.0 / 3 * q * q * q, bytes = 8 * rest * columns;
    return 2e-5 + (all - single) * 1e-10 + single * (2.5e-10 + 5.5e-10 / (1 + pow(2e6 / bytes, 3)));
}

static double the_same_for_all(double m, double n)
{
    const double p = fmax(m, n), q = fmin(m, n);
    return 2e-5 + 3e-10 * p * q * q + 5e-10 * q * q * q;
}

static void begin(struct cost_trial *f, uint64_t seed, cost_of *cost)
{
    cost_trial_begin(f, "lapack/orthogonal.esp", "dgeqrf", seed);
    cost_trial_calibrate(f, cost, COST_TRIAL_MEASURED);
}

/* Of calls of some bytes at least, whose lesser side is between these and the greater one at most so many
 * times that. */
static double mean_error(struct cost_trial *f, cost_of *cost, double least_bytes, double least, double most,
                         double most_aspect)
{
    double sum = 0, error;
    int n = 0;
    while (n < ASKED) {
        const double q = least * pow(most / least, random_real(&f->random));
        const double p = q * pow(most_aspect, random_real(&f->random));
        const bool wide = random_below(&f->random, 2);
        const int64_t sizes[] = {(int64_t)(wide ? q : p), (int64_t)(wide ? p : q)};
        if (8 * p * q > least_bytes && 8 * p * q < 256e6 && cost_trial_error(f, cost, sizes, &error)) {
            sum += error;
            n++;
        }
    }
    return sum / n;
}

/* Time of the part that outgrows the cache. */
static void thin_matrices_are_told(void **state)
{
    (void)state;
    struct cost_trial f;
    for (uint64_t seed = 1; seed <= TRIALS(3); seed++) {
        begin(&f, seed, by_columns_and_blocks);
        const double columns = mean_error(&f, by_columns_and_blocks, 6e6, 30, 128, 3000);
        const double blocks = mean_error(&f, by_columns_and_blocks, 6e6, 129, 300, 1000);
        if (columns > 0.1 || blocks > 0.1)
            fail_msg("seed %d: mean errors %g and %g, expected %g", (int)seed, columns, blocks,
                     f.model.time.error);
        cost_trial_end(&f);
    }
}

static void square_ones_are_too(void **state)
{
    (void)state;
    struct cost_trial f;
    begin(&f, 4, by_columns_and_blocks);
    const double error = mean_error(&f, by_columns_and_blocks, 0, 300, 2000, 1.5);
    if (error > 0.03)
        fail_msg("mean error %g", error);
    cost_trial_end(&f);
}

static void what_has_no_ranges_gets_none(void **state)
{
    (void)state;
    struct cost_trial f;
    begin(&f, 5, the_same_for_all);
    assert_int_equal(cost_version(&f.model), 1);
    cost_trial_end(&f);
}

static void ranges_come_back_from_a_text(void **state)
{
    (void)state;
    struct cost_trial f;
    struct arena arena = {0};
    struct cost_model model;
    size_t length;
    begin(&f, 6, by_columns_and_blocks);
    assert_int_equal(cost_version(&f.model), 3);
    char *text = cost_text(&f.model, &length);
    assert_non_null(text);
    assert_non_null(strstr(text, "espalier-cost-model 3\n")); /* earlier versions shall say so */
    if (cost_parse(text, length, "a text", &arena, &model, &f.error) != ESP_OK)
        fail_msg("%s", f.error.text);
    cost_trial_same_curve(&f.model, &model, &f.random);
    free(text);
    arena_clear(&arena);
    cost_trial_end(&f);
}

static void ranges_travel(void **state)
{
    (void)state;
    struct cost_trial f;
    struct cost_set set = {0}, told;
    uint32_t length;
    begin(&f, 7, by_columns_and_blocks);
    assert_int_equal(cost_set_add(&set, &f.model, false, NULL), ESP_OK);
    uint8_t *encoded = cost_encode(&set, &f.arena, &length);
    assert_true(encoded && encoded[0] == 3 && cost_decode(encoded, length, &told));
    cost_trial_same_curve(&f.model, &told.models[0], &f.random);
    cost_set_clear(&told);
    for (uint32_t cut = 0; cut < length; cut++)
        assert_false(cost_decode(encoded, cut, &told));
    cost_set_clear(&set);
    cost_trial_end(&f);
}

/* Within a range shapes ascend anew, and within a shape the ends do; ranges ascend, and the last has no
 * bound.
 */
static void pieces_without_order_are_refused(void **state)
{
    (void)state;
    static const struct {
        double lesser[2], shape[2], until[2];
        bool follows;
    } pairs[] = {
        {{129, 0}, {0, 0}, {HUGE_VAL, HUGE_VAL}, true},    {{129, 0}, {0, 2}, {HUGE_VAL, 5}, true},
        {{129, 129}, {1, 0}, {HUGE_VAL, HUGE_VAL}, true},  {{129, 129}, {1, 1}, {3, 4}, true},
        {{129, 300}, {0, 0}, {HUGE_VAL, HUGE_VAL}, true},  {{129, 100}, {0, 0}, {HUGE_VAL, HUGE_VAL}, false},
        {{129, 129}, {0, 0}, {HUGE_VAL, HUGE_VAL}, false}, {{129, 0}, {1, 0}, {HUGE_VAL, HUGE_VAL}, false},
        {{129, 0}, {0, 0}, {3, HUGE_VAL}, false},          {{0, 129}, {1, 0}, {HUGE_VAL, HUGE_VAL}, false},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct cost_piece before = {pairs[i].lesser[0], pairs[i].shape[0], pairs[i].until[0], 0, NULL};
        const struct cost_piece piece = {pairs[i].lesser[1], pairs[i].shape[1], pairs[i].until[1], 0, NULL};
        if (cost_piece_follows(&before, &piece) != pairs[i].follows)
            fail_msg("pair %zu", i);
    }
    assert_false(cost_piece_is_last(&(struct cost_piece){.lesser = 129, .until = HUGE_VAL}));
    assert_true(cost_piece_is_last(&(struct cost_piece){.until = HUGE_VAL}));
}

/* The sizes of the request decide, not the measured ones: a call beyond keeps its range, before its bytes
 * are looked at. */
static void what_is_beyond_keeps_its_range(void **state)
{
    (void)state;
    struct cost_term terms[] = {{1e-9, {0, 0, 2}}, {5e-9, {0, 0, 2}}};
    struct cost_piece pieces[] = {{.lesser = 129, .until = HUGE_VAL, .n_terms = 1, .terms = &terms[0]},
                                  {.until = HUGE_VAL, .n_terms = 1, .terms = &terms[1]}};
    const struct cost_model model = {.n_variables = 4,
                                     .variables = {{.argument = 0, .least = 1, .most = 100},
                                                   {.argument = 1, .least = 1, .most = 1000},
                                                   {.argument = COST_LESSER, .least = 1, .most = 100},
                                                   {.argument = COST_BYTES, .least = 1, .most = 8e6}},
                                     .time = {.n_pieces = 2, .pieces = pieces}};
    bool extrapolated;
    const double beyond[COST_MOST_VARIABLES] = {200, 500, 200, 8e5}, within[] = {100, 500, 100, 4e5};
    const double value = cost_curve_value(&model, &model.time, beyond, &extrapolated);
    assert_true(extrapolated);
    assert_true(fabs(value / (5e-9 * 200 * 200) - 1) < 1e-9);
    assert_true(fabs(cost_curve_value(&model, &model.time, within, NULL) / (1e-9 * 1e4) - 1) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thin_matrices_are_told),
        cmocka_unit_test(square_ones_are_too),
        cmocka_unit_test(what_has_no_ranges_gets_none),
        cmocka_unit_test(ranges_come_back_from_a_text),
        cmocka_unit_test(ranges_travel),
        cmocka_unit_test(pieces_without_order_are_refused),
        cmocka_unit_test(what_is_beyond_keeps_its_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
