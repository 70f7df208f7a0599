/* SPDX-License-Identifier: Apache-2.0
 *
 * Cost models: fitting recovers what made the measurements, and what is read or received is believed only
 * when it is whole.
 */
#include "tests/unit/unit.h"
#include "core/forecast/corrections.h"
#include "core/forecast/cost_files.h"
#include "services/fast/fit.h"
#include "util/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 200

struct fixture {
    struct cost_model model;
    struct cost_measurement measurements[MOST];
    struct arena arena;
    struct random random;
    struct esp_error error;
};

/* A model of n with work n^3 and bytes 8 n^2. */
static void begin(struct fixture *f, uint64_t seed)
{
    memset(f, 0, sizeof *f);
    random_seed(&f->random, seed);
    struct cost_model *model = &f->model;
    *model = (struct cost_model){.problem = "dgesv",
                                 .implementation = "lapack",
                                 .machine = "here",
                                 .digest = 0x1234567890abcdef,
                                 .threads = 1,
                                 .n_variables = 3,
                                 .factor = 1,
                                 .measurements = f->measurements};
    model->variables[0] = (struct cost_variable){.argument = 0, .name = "n"};
    model->variables[1] = (struct cost_variable){.argument = COST_WORK, .name = "work"};
    model->variables[2] = (struct cost_variable){.argument = COST_BYTES, .name = "bytes"};
}

static double noise(struct fixture *f, double relative)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += random_real(&f->random);
    return 1 + relative * (sum - 6);
}

static void add(struct fixture *f, double n, double seconds, double bytes)
{
    f->measurements[f->model.n_measurements++] = (struct cost_measurement){
        .x = {n, n * n * n, 8 * n * n}, .seconds = seconds, .bytes = bytes, .repetitions = 3};
}

static double ask(const struct fixture *f, double n, bool *extrapolated)
{
    const double x[] = {n, n * n * n, 8 * n * n};
    return cost_curve_value(&f->model, &f->model.time, x, extrapolated);
}

static void fit(struct fixture *f)
{
    if (fit_model(&f->model, &f->arena, &f->error) != ESP_OK)
        fail_msg("%s", f->error.text);
}

static double cubic(double n)
{
    return 1e-5 + 2e-8 * n * n + 6e-11 * n * n * n;
}

static void cubic_costs_are_recovered_within_the_noise(void **state)
{
    (void)state;
    struct fixture f;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        begin(&f, seed);
        for (int i = 0; i < 40; i++) {
            double n = 30 * pow(2000.0 / 30, i / 39.0);
            add(&f, n, cubic(n) * noise(&f, 0.03), 0);
        }
        fit(&f);
        double sum = 0;
        int count = 0;
        for (double n = 40; n < 1900; n *= 1.1, count++)
            sum += fabs(ask(&f, n, NULL) / cubic(n) - 1);
        if (sum / count > 0.02)
            fail_msg("seed %d: mean error %g", (int)seed, sum / count);
        assert_true(f.model.time.error > 0.015 && f.model.time.error < 0.06);
        arena_clear(&f.arena);
    }
}

static void what_grows_by_one_term_is_told_by_few(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 5);
    for (int i = 0; i < 30; i++) {
        double n = 50 * pow(40, i / 29.0);
        add(&f, n, 1e-4 + 3e-11 * n * n * n, 0);
    }
    fit(&f);
    assert_int_equal(f.model.time.n_pieces, 1);
    assert_true(f.model.time.pieces[0].n_terms <= 2);
    assert_true(f.model.time.error < 0.001);
    arena_clear(&f.arena);
}

static void a_bend_is_found(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 6);
    for (int i = 0; i < 60; i++) {
        double n = 50 * pow(40, i / 59.0);
        add(&f, n, (n < 500 ? 4e-11 : 9e-11) * n * n * n * noise(&f, 0.005), 0);
    }
    fit(&f);
    assert_true(f.model.time.n_pieces >= 2);
    assert_true(fabs(ask(&f, 300, NULL) / (4e-11 * 2.7e7) - 1) < 0.03);
    assert_true(fabs(ask(&f, 1000, NULL) / (9e-11 * 1e9) - 1) < 0.03);
    arena_clear(&f.arena);
}

static void a_few_wild_measurements_are_outvoted(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 7);
    for (int i = 0; i < 45; i++) {
        double n = 50 * pow(40, i / 44.0);
        add(&f, n, cubic(n) * noise(&f, 0.01) * (i % 15 == 7 ? 6 : 1), 0);
    }
    add(&f, 100, -1, 0);
    add(&f, 100, NAN, 0);
    add(&f, 100, INFINITY, 0);
    fit(&f);
    for (double n = 60; n < 1900; n *= 1.3)
        if (fabs(ask(&f, n, NULL) / cubic(n) - 1) > 0.10)
            fail_msg("n = %g: %g instead of %g", n, ask(&f, n, NULL), cubic(n));
    arena_clear(&f.arena);
}

static void beyond_the_range_the_leading_term_tells(void **state)
{
    (void)state;
    struct fixture f;
    bool extrapolated;
    begin(&f, 8);
    for (int i = 0; i < 40; i++) {
        double n = 100 * pow(10, i / 39.0);
        add(&f, n, cubic(n) * noise(&f, 0.01), 0);
    }
    fit(&f);
    ask(&f, 500, &extrapolated);
    assert_false(extrapolated);
    double far = ask(&f, 8000, &extrapolated);
    assert_true(extrapolated);
    if (fabs(far / cubic(8000) - 1) > 0.4)
        fail_msg("%g instead of %g", far, cubic(8000));
    double last = ask(&f, 1000, NULL);
    for (double n = 1010; n < 1e7; n *= 1.3) {
        double value = ask(&f, n, NULL);
        assert_true(isfinite(value) && value >= last);
        last = value;
    }
    assert_true(isfinite(ask(&f, 1e150, NULL)));
    assert_true(ask(&f, 1, &extrapolated) >= 0 && extrapolated);
    arena_clear(&f.arena);
}

static void shapes_that_are_rectangular_are_told(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 9);
    struct cost_model *model = &f.model;
    model->n_variables = 5;
    for (int i = 0; i < 3; i++)
        snprintf(model->variables[i].name, 2, "%c", "mnk"[i]);
    for (int i = 0; i < 5; i++)
        model->variables[i].argument = i < 3 ? i : i == 3 ? COST_WORK : COST_BYTES;
    snprintf(model->variables[3].name, 5, "work");
    snprintf(model->variables[4].name, 6, "bytes");
    double errors = 0;
    for (int i = 0; i < 160; i++) {
        double m = floor(exp(3 + 4 * random_real(&f.random))), n = floor(exp(3 + 4 * random_real(&f.random)));
        double k = floor(exp(3 + 4 * random_real(&f.random)));
        double seconds = 2e-6 + 8e-11 * m * n * k + 2e-9 * m * n + 1e-9 * (m * k + n * k);
        double bytes = 8 * (m * n + m * k + n * k);
        const double x[] = {m, n, k, 2 * m * n * k, bytes};
        if (i < 100) {
            struct cost_measurement *to = &f.measurements[model->n_measurements++];
            *to = (struct cost_measurement){.seconds = seconds * noise(&f, 0.01), .repetitions = 3};
            memcpy(to->x, x, sizeof x);
            continue;
        }
        if (i == 100)
            fit(&f);
        errors += fabs(cost_curve_value(model, &model->time, x, NULL) / seconds - 1) / 60;
    }
    if (errors > 0.03)
        fail_msg("mean error %g", errors);
    arena_clear(&f.arena);
}

/* Thin matrices have more operations than any square one that was measured: beyond the range is then the
 * lesser side alone. */
static void squares_beyond_thin_matrices_are_extrapolated(void **state)
{
    (void)state;
    static const int32_t arguments[] = {2, 3, COST_LESSER, COST_WORK, COST_BYTES};
    struct cost_term terms[] = {{2.6e-9, {0, 0, 3}}, {3.9e-11, {0, 0, 0, 1}}};
    struct cost_piece piece = {.until = HUGE_VAL, .n_terms = 2, .terms = terms};
    struct cost_model model = {
        .n_variables = 5, .time = {.n_pieces = 1, .pieces = &piece, .error = 0.05}, .factor = 1};
    for (int i = 0; i < 5; i++)
        model.variables[i] = (struct cost_variable){.argument = arguments[i], .least = 5, .most = 1e11};
    model.variables[2].most = 573;
    const double m = 800, n = 900, work = 22 * m * m * n;
    const struct scalar_value scalars[] = {{.index = 2, .integer = 800}, {.index = 3, .integer = 900}};
    const struct cost_call call = {scalars, 2, work, 8 * (m * n + m * (m + n + 1))};
    struct cost_forecast forecast;
    assert_true(cost_evaluate(&model, &call, &forecast));
    const double seconds = 2.6e-9 * m * m * m + 3.9e-11 * work;
    if (fabs(forecast.seconds / seconds - 1) > 0.01)
        fail_msg("%g instead of %g", forecast.seconds, seconds);
    assert_int_equal(forecast.ground, COST_EXTRAPOLATED);
    assert_true(forecast.error_s > 0.08 * forecast.seconds); /* half a doubling beyond */
}

/* Times like those of singular values on a real machine: operations along the lesser side take eight times
 * as long as the description's operations suggest. Sums of products of m and n alone are off by a fifth. */
static void factorisations_along_the_lesser_side_are_told(void **state)
{
    (void)state;
    static const int32_t arguments[] = {2, 3, COST_LESSER, COST_WORK, COST_BYTES};
    static const char *const names[] = {"m", "n", "lesser", "work", "bytes"};
    struct fixture f;
    begin(&f, 11);
    struct cost_model *model = &f.model;
    model->n_variables = 5;
    for (int i = 0; i < 5; i++) {
        model->variables[i].argument = arguments[i];
        snprintf(model->variables[i].name, sizeof model->variables[i].name, "%s", names[i]);
    }
    double errors = 0;
    struct cost_set told = {.n = 0};
    for (int i = 0; i < 100; i++) {
        const double m = floor(exp(3 + 4 * random_real(&f.random)));
        const double n = floor(fmin(m * exp(4 * random_real(&f.random) - 2), 3000));
        const double q = fmin(m, n), p = fmax(m, n);
        const double seconds = 2e-5 + 4.4e-10 * p * q * q + 3.5e-9 * q * q * q + 1e-9 * m * n;
        const double work = 14 * p * q * q + 8 * q * q * q, bytes = 8 * (m * n + q * (m + n + 1));
        if (i < 48) {
            struct cost_measurement *to = &f.measurements[model->n_measurements++];
            *to = (struct cost_measurement){
                .x = {m, n, q, work, bytes}, .seconds = seconds * noise(&f, 0.01), .repetitions = 3};
            continue;
        }
        if (i == 48) { /* agents forecast by what travels */
            struct cost_set set = {.n = 0};
            struct arena arena = {0};
            uint32_t length;
            fit(&f);
            assert_int_equal(cost_set_add(&set, model, false, NULL), ESP_OK);
            const uint8_t *encoded = cost_encode(&set, &arena, &length);
            assert_true(encoded && cost_decode(encoded, length, &told));
            arena_clear(&arena);
            cost_set_clear(&set);
        }
        const struct scalar_value scalars[] = {{.index = 2, .integer = (int64_t)m},
                                               {.index = 3, .integer = (int64_t)n}};
        const struct cost_call call = {scalars, 2, work, bytes};
        struct cost_forecast forecast;
        assert_true(cost_evaluate(&told.models[0], &call, &forecast));
        errors += fabs(forecast.seconds / seconds - 1) / 52;
    }
    if (errors > 0.04)
        fail_msg("mean error %g", errors);
    cost_set_clear(&told);
    arena_clear(&f.arena);
}

static void too_few_measurements_make_no_model(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    for (int i = 1; i < FIT_LEAST_MEASUREMENTS; i++)
        add(&f, 100 * i, cubic(100 * i), 0);
    assert_int_equal(fit_model(&f.model, &f.arena, &f.error), ESP_INVALID);
    assert_non_null(strstr(f.error.text, "expected at least 6"));
    arena_clear(&f.arena);
}

static void memory_is_told_where_it_counts(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 3);
    for (int i = 0; i < 30; i++) {
        double n = 100 * pow(20, i / 29.0);
        add(&f, n, cubic(n), 8 * n * n + 50000);
    }
    fit(&f);
    struct scalar_value scalars[] = {{.index = 0, .integer = 1500}};
    struct cost_call call = {.scalars = scalars, .n_scalars = 1, .work_flop = 3.375e9, .bytes = 1.8e7};
    struct cost_forecast forecast;
    assert_true(cost_evaluate(&f.model, &call, &forecast));
    assert_true(fabs(forecast.memory_bytes / (8 * 1500.0 * 1500 + 50000) - 1) < 0.05);
    assert_int_equal(forecast.ground, COST_MEASURED);
    arena_clear(&f.arena);
}

/* ---- sets, text, wire ---- */

static void make_choice(struct fixture *f, char flag)
{
    f->model.n_options = 1;
    f->model.n_choices = 1;
    f->model.options[0] = (struct cost_option){.argument = 4, .name = "jobz"};
    f->model.choices = arena_alloc(&f->arena, sizeof *f->model.choices);
    f->model.choices[0] = flag;
}

static void fitted(struct fixture *f)
{
    begin(f, 4);
    for (int i = 0; i < 20; i++) {
        double n = 100 * pow(10, i / 19.0);
        add(f, n, cubic(n), 0);
    }
    fit(f);
}

static void options_choose_the_model(void **state)
{
    (void)state;
    struct fixture f;
    struct cost_set set = {0};
    fitted(&f);
    make_choice(&f, 'N');
    assert_int_equal(cost_set_add(&set, &f.model, false, NULL), ESP_OK);
    make_choice(&f, 'V');
    for (uint32_t t = 0; t < f.model.time.pieces[0].n_terms; t++)
        f.model.time.pieces[0].terms[t].coefficient *= 3;
    f.model.floor_s_per_flop *= 3;
    assert_int_equal(cost_set_add(&set, &f.model, false, NULL), ESP_OK);
    struct scalar_value scalars[] = {{.index = 0, .integer = 500}, {.index = 4, .integer = 'N'}};
    struct cost_call call = {.scalars = scalars, .n_scalars = 2, .work_flop = 1.25e8, .bytes = 2e6};
    struct cost_forecast forecast[3];
    assert_true(cost_set_evaluate(&set, f.model.digest, &call, &forecast[0]));
    scalars[1].integer = 'v';
    assert_true(cost_set_evaluate(&set, f.model.digest, &call, &forecast[1]));
    assert_true(fabs(forecast[1].seconds / forecast[0].seconds - 3) < 0.01);
    scalars[1].integer = 'X';
    assert_true(cost_set_evaluate(&set, f.model.digest, &call, &forecast[2]));
    assert_int_equal(forecast[2].ground, COST_OTHER_OPTIONS);
    assert_true(forecast[2].error_s > forecast[0].error_s);
    assert_false(cost_set_evaluate(&set, 1, &call, &forecast[2]));
    cost_set_clear(&set);
    arena_clear(&f.arena);
}

static char *path_in(const char *name)
{
    static char path[300];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/cost-%ld-%s", folder ? folder : "/tmp", (long)getpid(), name);
    return path;
}

static void a_model_comes_back_from_its_file(void **state)
{
    (void)state;
    struct fixture f;
    struct arena arena = {0};
    struct cost_model model;
    fitted(&f);
    make_choice(&f, 'N');
    char *path = path_in("whole");
    assert_int_equal(cost_save(&f.model, path, &f.error), ESP_OK);
    if (cost_load(path, &arena, &model, &f.error) != ESP_OK)
        fail_msg("%s", f.error.text);
    assert_string_equal(model.problem, "dgesv");
    assert_int_equal(model.n_measurements, 20);
    assert_int_equal(model.choices[0], 'N');
    for (double n = 50; n < 5000; n *= 1.7) {
        const double x[] = {n, n * n * n, 8 * n * n};
        assert_true(cost_curve_value(&model, &model.time, x, NULL) == ask(&f, n, NULL));
    }
    unlink(path);
    arena_clear(&arena);
    arena_clear(&f.arena);
}

static void put_file(const char *path, const char *data, size_t length)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    static char text[100000], touched[100000];
    fitted(&f);
    char *path = path_in("damaged");
    assert_int_equal(cost_save(&f.model, path, &f.error), ESP_OK);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    struct cost_model model;
    for (size_t at = 0; at < length; at += 37) {
        struct arena arena = {0};
        put_file(path, text, at);
        assert_int_equal(cost_load(path, &arena, &model, &f.error), ESP_INVALID);
        memcpy(touched, text, length);
        touched[at] ^= 4;
        put_file(path, touched, length);
        assert_int_equal(cost_load(path, &arena, &model, &f.error), ESP_INVALID);
        arena_clear(&arena);
    }
    struct arena arena = {0};
    put_file(path, "espalier-cost-model 7\n", 22);
    assert_int_equal(cost_load(path, &arena, &model, &f.error), ESP_INVALID);
    assert_non_null(strstr(f.error.text, "found one of version 7"));
    put_file(path, "name = \"S\"\nslots = 1\n", 21); /* one line, quoted in the error */
    assert_int_equal(cost_load(path, &arena, &model, &f.error), ESP_INVALID);
    assert_non_null(strstr(f.error.text, "found \"name = \"S\"\""));
    unlink(path);
    assert_int_equal(cost_load(path, &arena, &model, &f.error), ESP_NOT_FOUND);
    arena_clear(&arena);
    arena_clear(&f.arena);
}

/* The model's checksum is right and each of its numbers can be read, but it is nonsense all the same. */
static void models_that_contradict_their_measurements_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    fitted(&f);
    char *path = path_in("absurd");
    const double absurd[] = {1e300, -1e300, 0};
    struct arena arena = {0};
    struct cost_model model;
    const double floor_s = f.model.floor_s_per_flop;
    f.model.floor_s_per_flop = 1; /* no call could take less than a second for each operation */
    assert_int_equal(cost_save(&f.model, path, &f.error), ESP_OK);
    assert_int_equal(cost_load(path, &arena, &model, &f.error), ESP_INVALID);
    assert_non_null(strstr(f.error.text, "or its floor, lead to other times"));
    f.model.floor_s_per_flop = floor_s;
    assert_int_equal(cost_save(&f.model, path, &f.error), ESP_OK);
    assert_int_equal(cost_load(path, &arena, &model, &f.error), ESP_OK);
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
        for (uint32_t k = 0; k < f.model.time.n_pieces; k++)
            for (uint32_t t = 0; t < f.model.time.pieces[k].n_terms; t++)
                f.model.time.pieces[k].terms[t].coefficient = absurd[i];
        assert_int_equal(cost_save(&f.model, path, &f.error), ESP_OK);
        assert_int_equal(cost_load(path, &arena, &model, &f.error), ESP_INVALID);
        assert_non_null(strstr(f.error.text, "other times, or memory, than were measured; calibrate again"));
    }
    f.model.n_measurements = 0; /* and with nothing that it could contradict */
    assert_int_equal(cost_save(&f.model, path, &f.error), ESP_OK);
    assert_int_equal(cost_load(path, &arena, &model, &f.error), ESP_INVALID);
    assert_non_null(strstr(f.error.text, "expected the measurements that it was made of, found none"));
    unlink(path);
    arena_clear(&arena);
    arena_clear(&f.arena);
}

struct told {
    unsigned n, stay;
};

static void count_wrong(void *arg, const struct esp_error *error, bool stays)
{
    struct told *told = arg;
    (void)error;
    told->n++;
    told->stay += stays;
}

static void a_damaged_file_does_not_take_the_place_of_a_good_one(void **state)
{
    (void)state;
    struct fixture f;
    struct cost_files files = {0};
    struct cost_set set = {0};
    struct told told = {0};
    char folder[] = "/tmp/espalier-models-XXXXXX", path[64], other[64];
    fitted(&f);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/dgesv-lapack-1-0.model", folder);
    snprintf(other, sizeof other, "%s/dgemm-blas-1-0.model", folder);
    put_file(path, "espalier-cost-model 7\n", 22);
    assert_int_equal(cost_files_read(&files, folder, count_wrong, &told, &f.error), ESP_OK);
    assert_true(files.n == 0 && told.n == 1 && told.stay == 0); /* there is none before */
    assert_int_equal(cost_save(&f.model, path, &f.error), ESP_OK);
    assert_int_equal(cost_files_read(&files, folder, count_wrong, &told, &f.error), ESP_OK);
    assert_true(files.n == 1 && told.n == 1);
    put_file(path, "espalier-cost-model 7\n", 22);
    put_file(other, "rubbish", 7);
    for (unsigned i = 1; i <= 2; i++) { /* it stays for as long as it takes */
        assert_int_equal(cost_files_read(&files, folder, count_wrong, &told, &f.error), ESP_OK);
        assert_true(files.n == 1 && told.n == 1 + 2 * i && told.stay == i);
    }
    assert_int_equal(cost_files_add(&files, &set, &f.error), ESP_OK);
    assert_int_equal(set.n, 1);
    assert_true(set.models[0].digest == f.model.digest);
    const double x[] = {700, 700.0 * 700 * 700, 8.0 * 700 * 700};
    assert_true(cost_curve_value(&set.models[0], &set.models[0].time, x, NULL) == ask(&f, 700, NULL));
    unlink(path);
    unlink(other);
    assert_int_equal(cost_files_read(&files, folder, count_wrong, &told, &f.error), ESP_OK);
    assert_int_equal(files.n, 0); /* gone is gone */
    assert_int_equal(rmdir(folder), 0);
    cost_files_clear(&files);
    cost_set_clear(&set);
    arena_clear(&f.arena);
}

static void models_travel(void **state)
{
    (void)state;
    struct fixture f;
    struct cost_set set = {0}, other;
    uint32_t length;
    fitted(&f);
    make_choice(&f, 'N');
    assert_int_equal(cost_set_add(&set, &f.model, true, NULL), ESP_OK);
    uint8_t *data = cost_encode(&set, &f.arena, &length);
    assert_non_null(data);
    assert_true(cost_decode(data, length, &other));
    assert_int_equal(other.n, 1);
    for (double n = 50; n < 5000; n *= 1.7) {
        const double x[] = {n, n * n * n, 8 * n * n};
        assert_true(cost_curve_value(&other.models[0], &other.models[0].time, x, NULL) == ask(&f, n, NULL));
    }
    cost_set_clear(&other);
    for (uint32_t cut = 0; cut < length; cut++)
        assert_false(cost_decode(data, cut, &other));
    for (uint32_t at = 0; at < length; at++) { /* whatever comes, it is refused or can be evaluated */
        uint8_t *touched = arena_memdup(&f.arena, data, length);
        touched[at] = 0xff;
        if (!cost_decode(touched, length, &other))
            continue;
        const double x[COST_MOST_VARIABLES] = {1e5, 1e15, 8e10};
        double value = cost_curve_value(&other.models[0], &other.models[0].time, x, NULL);
        assert_true(isfinite(value) && value >= 0);
        cost_set_clear(&other);
    }
    cost_set_clear(&set);
    arena_clear(&f.arena);
}

/* ---- correction ---- */

static struct cost_set one_model(struct fixture *f, uint64_t seed)
{
    struct cost_set set = {0};
    begin(f, seed);
    for (int n = 100; n <= 1000; n += 25)
        add(f, n, cubic(n) * noise(f, 0.02), 8.0 * n);
    fit(f);
    assert_int_equal(cost_set_add(&set, &f->model, false, &f->error), ESP_OK);
    return set;
}

static void corrections_outlive_the_server(void **state)
{
    (void)state;
    struct fixture f, same, another;
    struct cost_set set = one_model(&f, 9), again = one_model(&same, 9), other = one_model(&another, 10);
    struct cost_correction learned = {0}, heard = {0};
    uint32_t taken;
    size_t length;
    double factor = 1;
    for (int i = 0; i < 40; i++)
        factor = cost_correct(&learned, i < 38 ? 1.5 : 1.2, 1);
    char *text = corrections_write(&set, &learned, NULL, &length);
    assert_non_null(text);
    assert_int_equal(corrections_read(text, length, &again, &heard, NULL, &taken, &f.error), ESP_OK);
    assert_int_equal(taken, 1);
    assert_float_equal(again.models[0].factor, factor, 1e-9);
    for (int i = 0; i < 20; i++) /* goes on as it would have: the oldest leaves first */
        assert_float_equal(cost_correct(&heard, 0.9, 1), cost_correct(&learned, 0.9, 1), 1e-6);
    assert_int_equal(corrections_read(text, length, &other, &heard, NULL, &taken, &f.error), ESP_OK);
    assert_int_equal(taken, 0); /* it was calibrated anew */
    assert_true(other.models[0].factor == 1);
    for (size_t cut = 0; cut < length; cut++)
        assert_int_equal(corrections_read(text, cut, &again, &heard, NULL, &taken, &f.error), ESP_INVALID);
    text[length / 2] ^= 1;
    assert_int_equal(corrections_read(text, length, &again, &heard, NULL, &taken, &f.error), ESP_INVALID);
    free(text);
    cost_set_clear(&set);
    cost_set_clear(&again);
    cost_set_clear(&other);
    arena_clear(&f.arena);
    arena_clear(&same.arena);
    arena_clear(&another.arena);
}

static void calls_correct_the_model_and_one_bad_day_does_not(void **state)
{
    (void)state;
    struct cost_correction correction = {0};
    double factor = 1;
    for (int i = 0; i < 40; i++)
        factor = cost_correct(&correction, 1.3, 1);
    assert_true(fabs(factor - 1.3) < 1e-9);
    for (int i = 0; i < 10; i++)
        factor = cost_correct(&correction, 20, 1);
    assert_true(fabs(factor - 1.3) < 1e-9);
    for (int i = 0; i < 100; i++)
        factor = cost_correct(&correction, 1e6, 1);
    assert_true(factor <= COST_MOST_FACTOR);
    for (int i = 0; i < 18; i++)
        factor = cost_correct(&correction, 1, 1);
    assert_true(fabs(factor - 1) < 1e-9);
    struct cost_correction fresh = {0};
    assert_true(cost_correct(&fresh, 3, 1) == 1);
    assert_true(cost_correct(&fresh, -5, 1) == 1 && cost_correct(&fresh, NAN, 1) == 1);
    assert_true(cost_correct(&fresh, 1, 0) == 1 && cost_correct(&fresh, 1e-5, 1e-5) == 1);
    assert_int_equal(fresh.n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cubic_costs_are_recovered_within_the_noise),
        cmocka_unit_test(what_grows_by_one_term_is_told_by_few),
        cmocka_unit_test(a_bend_is_found),
        cmocka_unit_test(a_few_wild_measurements_are_outvoted),
        cmocka_unit_test(beyond_the_range_the_leading_term_tells),
        cmocka_unit_test(shapes_that_are_rectangular_are_told),
        cmocka_unit_test(squares_beyond_thin_matrices_are_extrapolated),
        cmocka_unit_test(factorisations_along_the_lesser_side_are_told),
        cmocka_unit_test(too_few_measurements_make_no_model),
        cmocka_unit_test(memory_is_told_where_it_counts),
        cmocka_unit_test(options_choose_the_model),
        cmocka_unit_test(a_model_comes_back_from_its_file),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(models_that_contradict_their_measurements_are_refused),
        cmocka_unit_test(a_damaged_file_does_not_take_the_place_of_a_good_one),
        cmocka_unit_test(models_travel),
        cmocka_unit_test(corrections_outlive_the_server),
        cmocka_unit_test(calls_correct_the_model_and_one_bad_day_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
