/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/problems/trial.h"

#include "core/matrix/matrix.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_PRINTED 8 /* failures of one problem */

int trial_size(int i)
{
    static const int sizes[] = {0, 1, 2, 3, 7, 33, 130, -1};
    return sizes[i];
}

static void fails(struct trial *trial, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fails(struct trial *trial, const char *format, ...)
{
    char text[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (trial->failures++ < MOST_PRINTED)
        print_message("# %s, %s: %s\n", trial->problem->name, trial->where, text);
}

void trial_case(struct trial *trial, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(trial->where, sizeof trial->where, format, args);
    va_end(args);
    arena_clear(&trial->lab.arena);
    random_seed(&trial->lab.random, digest_text(trial->where, strlen(trial->where)));
    trial->lab.is_complex = trial->type == 'c' || trial->type == 'z';
    use(trial, NULL);
    trial->cases++;
}

void use(struct trial *trial, const char *root)
{
    char name[80];
    snprintf(name, sizeof name, "%c%s", trial->type, root ? root : "");
    trial->problem = root ? problem_find(trial->rig->problems, name) : trial->tried;
    if (!trial->problem)
        fail_msg("problems/ has no problem %s", name);
    memset(trial->values, 0, sizeof trial->values);
    memset(trial->given, 0, sizeof trial->given);
}

/* ---- values ---- */

static uint32_t index_of(const struct trial *trial, const char *argument)
{
    int index = problem_argument_index(trial->problem, argument);
    if (index < 0)
        fail_msg("%s has no argument '%s'", trial->problem->name, argument);
    return (uint32_t)index;
}

bool has(const struct trial *trial, const char *argument)
{
    return problem_argument_index(trial->problem, argument) >= 0;
}

static void store(enum base_type type, double complex value, void *raw)
{
    float real = (float)creal(value), parts[2] = {real, (float)cimag(value)};
    double wide = creal(value);
    struct number integer = {.kind = NUMBER_INTEGER, .integer = (int64_t)wide};
    if (type == TYPE_FLOAT)
        memcpy(raw, &real, sizeof real);
    else if (type == TYPE_DOUBLE)
        memcpy(raw, &wide, sizeof wide);
    else if (type == TYPE_COMPLEX)
        memcpy(raw, parts, sizeof parts);
    else if (type == TYPE_DOUBLE_COMPLEX)
        memcpy(raw, &value, sizeof value);
    else if (number_store(&integer, type, raw, NULL) != ESP_OK)
        fail_msg("%g is no %s", wide, base_type_name(type));
}

static double complex load(enum base_type type, const void *raw)
{
    float parts[2];
    double complex value;
    if (type == TYPE_COMPLEX) {
        memcpy(parts, raw, sizeof parts);
        return CMPLX(parts[0], parts[1]);
    }
    if (type == TYPE_DOUBLE_COMPLEX) {
        memcpy(&value, raw, sizeof value);
        return value;
    }
    struct number number = number_load(type, raw);
    return number.kind == NUMBER_INTEGER ? (double)number.integer : number.real;
}

static void *room(struct trial *trial, uint64_t bytes)
{
    void *data = arena_alloc(&trial->lab.arena, bytes + 16);
    if (!data)
        fail_msg("out of memory");
    return data;
}

static bool is_stored_in_part(const struct argument *argument)
{
    return argument->storage == STORAGE_PACKED || argument->storage == STORAGE_BANDED;
}

static void *raw_values(struct trial *trial, enum base_type type, struct mat value)
{
    size_t size = base_type_size(type), count = (size_t)value.m * (size_t)value.n;
    char *raw = room(trial, count * size);
    for (size_t k = 0; k < count; k++)
        store(type, value.v[k], raw + k * size);
    return raw;
}

void give(struct trial *trial, const char *argument, struct mat value)
{
    uint32_t i = index_of(trial, argument);
    const struct argument *formal = &trial->problem->arguments[i];
    trial->dims[i][0] = value.m;
    trial->dims[i][1] = value.n;
    trial->given[i] = value;
    trial->values[i] = is_stored_in_part(formal) ? room(trial, 1) : raw_values(trial, formal->type, value);
}

/* Goes through the elements that are stored, as the command does. */
static void store_in_part(struct trial *trial, uint32_t i)
{
    enum base_type type = trial->problem->arguments[i].type;
    size_t size = base_type_size(type);
    struct mat A = trial->given[i];
    char *raw = trial->values[i] = room(trial, trial->shapes[i].bytes);
    for (int col = 0; col < A.n; col++)
        for (int row = 0; row < A.m; row++) {
            int64_t at = layout_index(&trial->layouts[i], row, col);
            if (at >= 0)
                store(type, AT(A, row, col), raw + (size_t)at * size);
        }
}

static struct mat load_in_part(struct trial *trial, uint32_t i)
{
    enum base_type type = trial->problem->arguments[i].type;
    size_t size = base_type_size(type);
    struct mat A = mat_new(&trial->lab, (int)trial->layouts[i].rows, (int)trial->layouts[i].cols);
    for (int col = 0; col < A.n; col++)
        for (int row = 0; row < A.m; row++) {
            int64_t at = layout_index(&trial->layouts[i], row, col);
            if (at >= 0)
                AT(A, row, col) = load(type, (char *)trial->values[i] + (size_t)at * size);
        }
    return A;
}

void give_number(struct trial *trial, const char *argument, double complex value)
{
    uint32_t i = index_of(trial, argument);
    trial->values[i] = room(trial, 16);
    store(trial->problem->arguments[i].type, value, trial->values[i]);
}

void give_flag(struct trial *trial, const char *argument, char value)
{
    give_number(trial, argument, (unsigned char)value);
}

struct mat result(struct trial *trial, const char *argument)
{
    uint32_t i = index_of(trial, argument);
    if (is_stored_in_part(&trial->problem->arguments[i]))
        return load_in_part(trial, i);
    const struct shape *shape = &trial->shapes[i];
    enum base_type type = trial->problem->arguments[i].type;
    size_t size = base_type_size(type);
    struct mat value = mat_new(&trial->lab, shape->n_dims > 0 ? (int)shape->dims[0] : 1,
                               shape->n_dims > 1 ? (int)shape->dims[1] : 1);
    for (size_t k = 0; k < shape->count; k++)
        value.v[k] = load(type, (char *)trial->values[i] + k * size);
    return value;
}

struct mat result_vector(struct trial *trial, const char *argument, int n)
{
    uint32_t i = index_of(trial, argument);
    enum base_type type = trial->problem->arguments[i].type;
    struct mat value = mat_new(&trial->lab, n, 1);
    for (int k = 0; k < n; k++)
        value.v[k] = load(type, (char *)trial->values[i] + (size_t)k * base_type_size(type));
    return value;
}

double complex result_number(struct trial *trial, const char *argument)
{
    return result(trial, argument).v[0];
}

/* ---- the call ---- */

/* Sizes from arrays and defaults, as the command does it; then memory for what comes back. */
static enum esp_status complete(struct trial *trial, struct esp_error *error)
{
    const struct problem *problem = trial->problem;
    struct number scope[PROBLEM_MAX_ARGUMENTS] = {0};
    const int64_t *known[PROBLEM_MAX_ARGUMENTS] = {0};
    uint32_t rank[PROBLEM_MAX_ARGUMENTS] = {0};
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {0};
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (argument->n_dims == 0 && trial->values[i] && argument->type <= TYPE_DOUBLE)
            scope[i] = number_load(argument->type, trial->values[i]);
        if (argument->n_dims > 0 && trial->values[i]) {
            known[i] = trial->dims[i];
            rank[i] = 2;
        }
    }
    if (problem_infer(problem, known, rank, scope, error) != ESP_OK)
        return error->status;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        bool follows =
            argument_is_input(argument) && argument->n_dims == 0 && scope[i].kind != NUMBER_UNKNOWN;
        if (!trial->values[i] && follows) {
            trial->values[i] = room(trial, 16);
            number_store(&scope[i], argument->type, trial->values[i], NULL);
        }
        inputs[i] = argument_is_input(argument) ? trial->values[i] : NULL;
    }
    if (problem_bind(problem, inputs, scope, trial->shapes, error) != ESP_OK)
        return error->status;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (argument->n_dims == 2 && is_stored_in_part(argument) &&
            problem_layout(problem, i, scope, trial->shapes[i].dims, &trial->layouts[i], error) != ESP_OK)
            return error->status;
        if (!trial->values[i] && argument_is_output(argument))
            trial->values[i] = room(trial, trial->shapes[i].bytes);
        else if (trial->values[i] && is_stored_in_part(argument))
            store_in_part(trial, i);
    }
    return ESP_OK;
}

static struct esp_error call(struct trial *trial)
{
    struct esp_error error = {.status = ESP_OK};
    if (complete(trial, &error) != ESP_OK)
        return error;
    for (uint32_t i = 0; i < trial->problem->n_arguments; i++)
        if (!trial->values[i] && argument_is_input(&trial->problem->arguments[i]) &&
            !trial->problem->arguments[i].initial)
            fail_msg("%s, %s: no value for %s", trial->problem->name, trial->where,
                     trial->problem->arguments[i].name);
    return rig_call(trial->rig, trial->problem->name, trial->values, true);
}

bool run(struct trial *trial)
{
    struct esp_error error = call(trial);
    if (error.status != ESP_OK)
        fails(trial, "%s", error.text);
    return error.status == ESP_OK;
}

void run_fails(struct trial *trial, const char *text)
{
    struct esp_error error = call(trial);
    if (error.status == ESP_OK)
        fails(trial, "expected the error '%s', found success", text);
    else if (!strstr(error.text, text))
        fails(trial, "expected the error '%s', found '%s'", text, error.text);
}

/* ---- checks ---- */

void at_most(struct trial *trial, const char *quantity, double value, double bound)
{
    if (!(value <= bound))
        fails(trial, "%s is %.3g, expected at most %.3g", quantity, value, bound);
}

void near(struct trial *trial, const char *quantity, struct mat X, struct mat Y, double bound)
{
    if (X.m != Y.m || X.n != Y.n)
        fails(trial, "%s is %d x %d, expected %d x %d", quantity, X.m, X.n, Y.m, Y.n);
    else
        at_most(trial, quantity, mat_max(mat_sum(&trial->lab, 1, X, -1, Y)), bound);
}

static double bound_for(const struct trial *trial, int n)
{
    return 10 * trial->slack * (n > 1 ? n : 1) * trial->eps;
}

void solves(struct trial *trial, struct mat A, struct mat X, struct mat B)
{
    struct mat R = mat_sum(&trial->lab, 1, mat_mul(&trial->lab, A, X), -1, B);
    double scale = mat_norm_f(A), worst = 0;
    for (int j = 0; j < R.n; j++) {
        double most =
            scale * mat_norm_f(mat_column(&trial->lab, X, j)) + mat_norm_f(mat_column(&trial->lab, B, j));
        double error = mat_norm_f(mat_column(&trial->lab, R, j));
        error = error > 0 ? error / most : error; /* 0/0 is none */
        worst = error > worst || isnan(error) ? error : worst;
    }
    at_most(trial, "the backward error of the solution", worst, bound_for(trial, A.n));
}

void vanishes(struct trial *trial, const char *quantity, struct mat R, double scale, int n)
{
    at_most(trial, quantity, mat_norm_f(R), bound_for(trial, n) * scale);
}

void orthonormal(struct trial *trial, const char *quantity, struct mat Q)
{
    struct mat G = mat_mul(&trial->lab, mat_transposed(&trial->lab, Q, true), Q);
    char text[100];
    snprintf(text, sizeof text, "the distance of %s from orthonormal columns", quantity);
    vanishes(trial, text, mat_sum(&trial->lab, 1, G, -1, mat_identity(&trial->lab, Q.n)), 1, Q.m);
}

static void ordered(struct trial *trial, const char *quantity, struct mat w, double sign, const char *how)
{
    for (int i = 0; i + 1 < w.m; i++)
        if (!(sign * creal(w.v[i]) <= sign * creal(w.v[i + 1]))) {
            fails(trial, "%s do not %s: element %d is %g, element %d is %g", quantity, how, i + 1,
                  creal(w.v[i]), i + 2, creal(w.v[i + 1]));
            return;
        }
}

void ascending(struct trial *trial, const char *quantity, struct mat w)
{
    ordered(trial, quantity, w, 1, "ascend");
}

void descending(struct trial *trial, const char *quantity, struct mat w)
{
    ordered(trial, quantity, w, -1, "descend");
}

struct mat example(struct trial *trial, const char *file)
{
    char path[PATH_MAX];
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/examples/matrices/%s", top ? top : "..", file);
    struct matrix_file read;
    struct esp_error error;
    if (matrix_load_dense(path, 0, &read, &error) != ESP_OK)
        fail_msg("%s", error.text);
    struct mat A = mat_new(&trial->lab, (int)read.matrix.rows, (int)read.matrix.cols);
    bool single = trial->type == 's' || trial->type == 'c';
    for (size_t i = 0; i < (size_t)A.m * (size_t)A.n; i++)
        A.v[i] = single ? (double)(float)read.matrix.values[i] : read.matrix.values[i];
    matrix_file_clear(&read);
    return A;
}
