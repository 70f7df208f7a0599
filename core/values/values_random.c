/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that are made up, for sweeps over sizes and first tries: "rand" (of the extents that the description
 * has), "rand(n, 2*n)" (of these), "rand:7" (another seed than the one that follows from the name). Numbers
 * are uniform in [0, 1), both parts of complex ones; integers are from 0 to 99.
 */
#include "config.h"

#include "core/values/values_random.h"
#include "core/values/signature.h"
#include "core/values/values_storage.h"
#include "util/random.h"

#include <stdlib.h>
#include <string.h>

#define WORD          "rand"
#define MOST_INTEGERS 100
#define LARGE_BYTES                                                                                          \
    (64 << 20) /* smaller arrays are made without asking whether a server has room for them                  \
                */

bool values_is_random(const struct esp_problem_argument *formal, const char *text)
{
    size_t length = strlen(WORD);
    return formal->n_dims > 0 && esp_type_size(formal->type) > 0 && formal->type != ESP_TYPE_CHAR &&
           strncmp(text, WORD, length) == 0 && (!text[length] || strchr("(:", text[length]));
}

/* ---- what is asked for ---- */

struct asked {
    char extents[256]; /* between the parentheses; "": there are none */
    bool has_extents;
    uint64_t seed;
};

static enum esp_status not_understood(const struct esp_problem_argument *formal, const char *text,
                                      struct esp_error *error)
{
    return error_set(
        error, ESP_INVALID,
        "%s: expected rand, rand(ROWS, COLUMNS, ...) or rand:SEED (a number from 0), found '%.80s'",
        formal->name, text);
}

static enum esp_status read_asked(const struct esp_problem_argument *formal, const char *text,
                                  struct asked *asked, struct esp_error *error)
{
    const char *at = text + strlen(WORD), *close = *at == '(' ? strrchr(at, ')') : NULL;
    *asked = (struct asked){.seed = digest_text(formal->name, strlen(formal->name))};
    if (*at == '(') {
        if (!close || close - at > (ptrdiff_t)sizeof asked->extents)
            return not_understood(formal, text, error);
        memcpy(asked->extents, at + 1, (size_t)(close - at - 1));
        asked->has_extents = true;
        at = close + 1;
    }
    if (*at == ':' && at[1] && strspn(at + 1, "0123456789") == strlen(at + 1))
        asked->seed = strtoull(at + 1, NULL, 10);
    else if (*at)
        return not_understood(formal, text, error);
    return ESP_OK;
}

/* One expression over the scalars that are known. */
static enum esp_status read_extent(const struct problem *problem, const char *text, const struct scope *scope,
                                   int64_t *extent, struct esp_error *error)
{
    const char *names[PROBLEM_MAX_ARGUMENTS];
    struct arena arena = {0};
    struct expr *expr;
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        names[i] = problem->arguments[i].name;
    enum esp_status status = expr_parse(text, names, problem->n_arguments, &arena, &expr, error);
    if (status == ESP_OK)
        status = expr_eval_size(expr, scope, extent, error);
    arena_clear(&arena);
    return status;
}

static char *next_extent(char **rest)
{
    char *from = *rest;
    for (int depth = 0; **rest && (depth > 0 || **rest != ','); ++*rest)
        depth += (**rest == '(') - (**rest == ')');
    if (**rest)
        *(*rest)++ = 0;
    return from;
}

/* The scalars that are given, and those that follow from the extents of the arrays that are. */
static void known_scalars(const struct values *values, struct number *numbers)
{
    const int64_t *known[PROBLEM_MAX_ARGUMENTS] = {NULL};
    uint32_t n_known[PROBLEM_MAX_ARGUMENTS] = {0};
    struct esp_error unimportant; /* whatever is wrong is told when everything is given */
    values_scope(values, numbers);
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        const struct esp_argument *given = &values->arguments[i];
        if (!values->slots[i].given || given->n_dims == 0)
            continue;
        known[values_described_index(values, i)] = given->dims;
        n_known[values_described_index(values, i)] = given->n_dims;
    }
    problem_infer(values->described->problems[0], known, n_known, numbers, &unimportant);
}

static enum esp_status find_extents(const struct values *values, size_t index, struct asked *asked,
                                    int64_t *dims, struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    const struct argument *argument = values_argument(values, index);
    struct number numbers[PROBLEM_MAX_ARGUMENTS];
    const struct problem *problem = values->described->problems[0];
    struct scope scope = {numbers, problem->n_arguments};
    char *rest = asked->extents;
    known_scalars(values, numbers);
    enum esp_status status = ESP_OK;
    for (unsigned d = 0; d < formal->n_dims && status == ESP_OK; d++) {
        if (!asked->has_extents && expr_eval_size(argument->dims[d], &scope, &dims[d], error) != ESP_OK)
            status =
                error_set(error, ESP_INVALID, "extent %u, %s, is not known: tell it as rand(ROWS, COLUMNS)",
                          d + 1, expr_text(argument->dims[d]));
        else if (asked->has_extents && *rest)
            status = read_extent(problem, next_extent(&rest), &scope, &dims[d], error);
        else if (asked->has_extents)
            status = error_set(error, ESP_INVALID, "expected %u extents, found %u", formal->n_dims, d);
    }
    if (status == ESP_OK && asked->has_extents && *rest)
        status =
            error_set(error, ESP_INVALID, "expected %u extents, found more: '%.40s'", formal->n_dims, rest);
    if (status == ESP_OK)
        return ESP_OK;
    error->status = status == ESP_SYNTAX ? ESP_INVALID : status; /* ESP_SYNTAX is of files */
    return error_prefix(error, "%s: rand", formal->name);
}

/* ---- elements ---- */

static bool is_integer(enum esp_type type)
{
    return type >= ESP_TYPE_CHAR && type <= ESP_TYPE_INT64;
}

static double element(struct random *random, enum esp_type type)
{
    return is_integer(type) ? (double)random_below(random, MOST_INTEGERS) : random_real(random);
}

/* The lower triangle again above the diagonal, conjugated, and a diagonal that outweighs its rows: so it is
 * positive definite. */
static void make_definite(struct matrix *matrix)
{
    size_t n = (size_t)matrix->rows, parts = matrix->is_complex ? 2 : 1;
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < j; i++) {
            double *upper = matrix->values + parts * (j * n + i),
                   *lower = matrix->values + parts * (i * n + j);
            upper[0] = lower[0];
            if (parts == 2)
                upper[1] = -lower[1];
        }
        double *diagonal = matrix->values + parts * (j * n + j);
        diagonal[0] += (double)(parts * n);
        if (parts == 2)
            diagonal[1] = 0;
    }
}

/* A triangle whose diagonal outweighs its rows: solutions with it stay in the range of their type. */
static void make_solvable(struct matrix *matrix)
{
    const size_t n = (size_t)matrix->rows, parts = matrix->is_complex ? 2 : 1;
    for (size_t j = 0; j < n; j++)
        matrix->values[parts * (j * n + j)] += (double)(parts * n);
}

enum esp_status values_random_matrix(const struct values *values, size_t index, const char *text,
                                     int64_t *dims, struct matrix *matrix, struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    struct asked asked;
    struct random random;
    int64_t cols = 1;
    enum esp_status status = read_asked(formal, text, &asked, error);
    if (status == ESP_OK)
        status = find_extents(values, index, &asked, dims, error);
    for (unsigned d = 1; d < formal->n_dims && status == ESP_OK; d++)
        if (__builtin_mul_overflow(cols, dims[d], &cols))
            status = error_set(error, ESP_LIMIT, "%s: rand: too many elements", formal->name);
    bool is_complex = formal->type == ESP_TYPE_COMPLEX || formal->type == ESP_TYPE_DOUBLE_COMPLEX;
    if (status == ESP_OK &&
        (status = matrix_init(matrix, dims[0], cols, is_complex, values->reading.max_bytes, error)) != ESP_OK)
        error_prefix(error, "%s", formal->name);
    if (status != ESP_OK)
        return values_too_large(status, error);
    random_seed(&random, asked.seed);
    size_t n = (size_t)(dims[0] * cols) * (is_complex ? 2 : 1);
    for (size_t k = 0; k < n; k++)
        matrix->values[k] = element(&random, formal->type);
    if ((formal->properties & ESP_PROPERTY_POSITIVE_DEFINITE) && dims[0] == cols)
        make_definite(matrix);
    else if (values_argument(values, index)->triangle && dims[0] == cols)
        make_solvable(matrix);
    return ESP_OK;
}

/* ---- arguments ---- */

enum esp_status values_take_random(struct values *values, size_t index, const char *text,
                                   struct esp_error *error)
{
    struct asked asked;
    enum esp_status status = read_asked(&values->problem->arguments[index], text, &asked, error);
    if (status != ESP_OK)
        return status;
    values->slots[index].random = strdup(text);
    return values->slots[index].random ? ESP_OK : error_no_memory(error, "an argument");
}

static enum esp_status make_matrix(struct values *values, size_t index, struct esp_error *error)
{
    struct matrix matrix;
    int64_t dims[ESP_MAX_DIMS];
    enum esp_status status =
        values_random_matrix(values, index, values->slots[index].random, dims, &matrix, error);
    if (status != ESP_OK)
        return status;
    const unsigned n_dims = values->problem->arguments[index].n_dims;
    status = value_take_matrix(
        values, index, &(struct given_array){.matrix = &matrix, .n_dims = n_dims, .dims = dims}, error);
    matrix_clear(&matrix);
    return status;
}

/* As make_definite() and make_solvable(), of a square matrix that is stored packed or as a band. */
static enum esp_status outweigh(struct values *values, size_t index, struct esp_error *error)
{
    const struct argument *argument = values_argument(values, index);
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    const struct value_slot *slot = &values->slots[index];
    const bool definite = (formal->properties & ESP_PROPERTY_POSITIVE_DEFINITE) != 0;
    struct layout layout;
    if ((argument->storage != STORAGE_PACKED && argument->storage != STORAGE_BANDED) ||
        (!definite && !argument->triangle))
        return ESP_OK;
    enum esp_status status = values_layout(values, index, &layout, error);
    for (int64_t j = 0; status == ESP_OK && layout.rows == layout.cols && j < layout.cols; j++) {
        const size_t at = (size_t)layout_index(&layout, j, j);
        double re, im;
        value_load(formal->type, slot->memory, at, &re, &im);
        value_store(formal->type, slot->memory, at,
                    re + (double)layout.cols * (formal->type >= ESP_TYPE_COMPLEX ? 2 : 1), definite ? 0 : im);
    }
    return status;
}

/* The elements that are stored, whatever they are of. */
static enum esp_status make_elements(struct values *values, size_t index, struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    enum storage storage = values_argument(values, index)->storage;
    struct asked asked;
    struct random random;
    uint64_t count;
    if (storage == STORAGE_CSC || storage == STORAGE_CSR)
        return error_set(error, ESP_INVALID, "%s: rand makes no sparse matrices: give it as %s=@FILE",
                         formal->name, formal->name);
    if (storage == STORAGE_FULL && formal->n_dims == 2)
        return make_matrix(values, index, error);
    enum esp_status status = read_asked(formal, values->slots[index].random, &asked, error);
    if (status == ESP_OK)
        status = values_count(values, index, &count, error);
    if (status == ESP_OK)
        status = value_memory(values, index, count * esp_type_size(formal->type), error);
    if (status == ESP_OK)
        values->slots[index].count = count;
    random_seed(&random, asked.seed);
    for (uint64_t k = 0; status == ESP_OK && k < count; k++) {
        double re = element(&random, formal->type);
        double im = formal->type >= ESP_TYPE_COMPLEX ? element(&random, formal->type) : 0;
        value_store(formal->type, values->slots[index].memory, k, re, im);
    }
    return status == ESP_OK ? outweigh(values, index, error) : status;
}

/* A large array is made only when some server can hold the call that it is for. */
static enum esp_status check_room(const struct values *values, size_t index, struct esp_error *error)
{
    const struct values_library *library = values->library;
    const struct esp_problem *problem = values->problem;
    const struct esp_problem_argument *formal = &problem->arguments[index];
    struct esp_argument arguments[ESP_MAX_ARGUMENTS];
    struct asked asked;
    double bytes = (double)esp_type_size(formal->type);
    memcpy(arguments, values->arguments, problem->n_arguments * sizeof *arguments);
    enum esp_status status = read_asked(formal, values->slots[index].random, &asked, error);
    if (status == ESP_OK)
        status = find_extents(values, index, &asked, arguments[index].dims, error);
    if (status != ESP_OK)
        return status;
    arguments[index].n_dims = formal->n_dims;
    for (unsigned d = 0; d < formal->n_dims; d++)
        bytes *= (double)arguments[index].dims[d];
    /* What is wrong with the other arguments is told when everything is given. */
    if (bytes < LARGE_BYTES ||
        library->arguments_complete(problem, arguments, problem->n_arguments) != ESP_OK ||
        library->arguments_fit(problem, arguments, problem->n_arguments) != ESP_NO_SERVER)
        return ESP_OK;
    *error = *library->last_error();
    return ESP_NO_SERVER;
}

enum esp_status values_make_random(struct values *values, bool sizes_are_known, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < values->problem->n_arguments && status == ESP_OK; i++) {
        const struct value_slot *slot = &values->slots[i];
        if (!slot->random || slot->memory)
            continue;
        bool has_extents = slot->random[strlen(WORD)] == '(';
        if (has_extents || sizes_are_known)
            status = check_room(values, i, error);
        if (status != ESP_OK)
            return status;
        if (has_extents)
            status = make_matrix(values, i, error);
        else if (sizes_are_known)
            status = make_elements(values, i, error);
    }
    return status;
}
