/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "client/arguments/signature.h"
#include "client/arguments/values_storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct problem *described(const struct values *values)
{
    return values->described->problems[0];
}

uint32_t values_described_index(const struct values *values, size_t index)
{
    return (uint32_t)problem_argument_index(described(values), values->problem->arguments[index].name);
}

const struct argument *values_argument(const struct values *values, size_t index)
{
    return &described(values)->arguments[values_described_index(values, index)];
}

void values_scope(const struct values *values, struct number *scope)
{
    memset(scope, 0, PROBLEM_MAX_ARGUMENTS * sizeof *scope);
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        const struct argument *argument = values_argument(values, i);
        const struct esp_argument *given = &values->arguments[i];
        struct number *number = &scope[values_described_index(values, i)];
        if (argument->n_dims || argument->type > TYPE_DOUBLE)
            continue;
        if (given->data)
            *number = number_load(argument->type, given->data);
        else if (given->completed && argument->type >= TYPE_FLOAT)
            *number = (struct number){.kind = NUMBER_REAL, .real = given->value.real};
        else if (given->completed)
            *number = (struct number){.kind = NUMBER_INTEGER, .integer = given->value.integer};
    }
}

/* ---- compressed columns and rows ---- */

/* The arrays that belong to a compressed matrix. */
struct companions {
    size_t pointers, indices;
};

static enum esp_status find_companions(const struct values *values, size_t index, struct companions *found)
{
    const struct argument *argument = values_argument(values, index);
    const struct problem *problem = described(values);
    int pointers = signature_find(values->problem, problem->arguments[argument->pointers].name);
    int indices = signature_find(values->problem, problem->arguments[argument->indices].name);
    *found = (struct companions){(size_t)pointers, (size_t)indices};
    return pointers >= 0 && indices >= 0 ? ESP_OK : ESP_INTERNAL;
}

static enum esp_status give_vector(struct values *values, size_t index, int64_t n, const char *matrix,
                                   struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    if (values->slots[index].given)
        return error_set(error, ESP_INVALID, "%s follows from %s: leave it out", formal->name, matrix);
    values->slots[index].given = true;
    values->arguments[index].n_dims = 1;
    values->arguments[index].dims[0] = n;
    return value_memory(values, index, (size_t)n * esp_type_size(formal->type), error);
}

/* `lines` has the lines of the storage as its columns. */
static enum esp_status store_lines(struct values *values, size_t index, const struct companions *with,
                                   const struct matrix *lines, struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    int64_t base = values_argument(values, index)->base, n = matrix_stored(lines);
    enum esp_type pointer_type = values->problem->arguments[with->pointers].type;
    enum esp_type index_type = values->problem->arguments[with->indices].type;
    enum esp_status status = give_vector(values, with->pointers, lines->cols + 1, formal->name, error);
    if (status == ESP_OK)
        status = give_vector(values, with->indices, n, formal->name, error);
    if (status == ESP_OK)
        status = value_memory(values, index, (size_t)n * esp_type_size(formal->type), error);
    for (int64_t line = 0; line <= lines->cols && status == ESP_OK; line++)
        if (!value_store(pointer_type, values->slots[with->pointers].memory, (size_t)line,
                         (double)(lines->starts[line] + base), 0))
            status = error_set(error, ESP_INVALID, "%s: its %lld elements are more than a %s counts",
                               formal->name, (long long)n, esp_type_name(pointer_type));
    for (int64_t k = 0; k < n && status == ESP_OK; k++) {
        double re = lines->values[lines->is_complex ? 2 * k : k];
        double im = lines->is_complex ? lines->values[2 * k + 1] : 0;
        if (!value_store(formal->type, values->slots[index].memory, (size_t)k, re, im) ||
            !value_store(index_type, values->slots[with->indices].memory, (size_t)k,
                         (double)(lines->indices[k] + base), 0))
            status = error_set(error, ESP_INVALID, "%s: element %lld cannot be a %s", formal->name,
                               (long long)k + 1, esp_type_name(formal->type));
    }
    return status;
}

enum esp_status values_compress(struct values *values, size_t index, const struct matrix *matrix,
                                struct esp_error *error)
{
    struct companions with;
    struct matrix columns = {0}, rows = {0};
    bool by_columns = values_argument(values, index)->storage == STORAGE_CSC;
    enum esp_status status = find_companions(values, index, &with);
    if (status == ESP_OK)
        status = matrix_check_doubles(matrix, error); /* sparse matrices have no others */
    if (status == ESP_OK)
        status = matrix_to_sparse(matrix, &columns, error);
    if (status == ESP_OK && !by_columns)
        status = matrix_transpose_sparse(&columns, &rows, error);
    if (status == ESP_OK)
        status = store_lines(values, index, &with, by_columns ? &columns : &rows, error);
    matrix_clear(&columns);
    matrix_clear(&rows);
    if (status != ESP_OK)
        return status;
    values->arguments[index].n_dims = 2;
    values->arguments[index].dims[0] = matrix->rows;
    values->arguments[index].dims[1] = matrix->cols;
    return ESP_OK;
}

static double number_at(const struct values *values, size_t index, size_t at)
{
    double re, im;
    value_load(values->problem->arguments[index].type, values->slots[index].memory, at, &re, &im);
    return re;
}

/* One line of the storage, a column of `lines`. */
static enum esp_status take_line(const struct values *values, size_t index, const struct companions *with,
                                 struct matrix *lines, int64_t line, struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    int64_t base = values_argument(values, index)->base, n = values->arguments[with->indices].dims[0];
    int64_t from = (int64_t)number_at(values, with->pointers, (size_t)line) - base;
    int64_t to = (int64_t)number_at(values, with->pointers, (size_t)line + 1) - base;
    if (from != lines->starts[line] || to < from || to > n)
        return error_set(error, ESP_FAILED, "%s: its pointers lead out of its elements", formal->name);
    for (int64_t at = from; at < to; at++) {
        double re, im;
        int64_t other = (int64_t)number_at(values, with->indices, (size_t)at) - base;
        if (other < 0 || other >= lines->rows)
            return error_set(error, ESP_FAILED, "%s: an element lies outside of the matrix", formal->name);
        value_load(formal->type, values->slots[index].memory, (size_t)at, &re, &im);
        lines->indices[at] = other;
        lines->values[lines->is_complex ? 2 * at : at] = re;
        if (lines->is_complex)
            lines->values[2 * at + 1] = im;
    }
    lines->starts[line + 1] = to;
    return ESP_OK;
}

/* Transposing sorts: a place that comes twice comes twice in a row. */
static enum esp_status check_places(const struct esp_problem_argument *formal, const struct matrix *matrix,
                                    struct esp_error *error)
{
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t k = matrix->starts[j] + 1; k < matrix->starts[j + 1]; k++)
            if (matrix->indices[k] == matrix->indices[k - 1])
                return error_set(error, ESP_FAILED, "%s: row %lld, column %lld comes twice", formal->name,
                                 (long long)matrix->indices[k] + 1, (long long)j + 1);
    return ESP_OK;
}

enum esp_status values_sparse(const struct values *values, size_t index, struct matrix *matrix,
                              struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    const int64_t *dims = values->arguments[index].dims;
    bool by_columns = values_argument(values, index)->storage == STORAGE_CSC;
    bool is_complex = formal->type == ESP_TYPE_COMPLEX || formal->type == ESP_TYPE_DOUBLE_COMPLEX;
    struct companions with;
    struct matrix lines = {0}, across = {0};
    *matrix = (struct matrix){0};
    enum esp_status status = find_companions(values, index, &with);
    if (status == ESP_OK)
        status = matrix_init_sparse(&lines, by_columns ? dims[0] : dims[1], by_columns ? dims[1] : dims[0],
                                    values->arguments[with.indices].dims[0], is_complex, 0, error);
    for (int64_t line = 0; status == ESP_OK && line < lines.cols; line++)
        status = take_line(values, index, &with, &lines, line, error);
    if (status == ESP_OK)
        status = matrix_transpose_sparse(&lines, by_columns ? &across : matrix, error);
    if (status == ESP_OK && by_columns)
        status = matrix_transpose_sparse(&across, matrix, error);
    if (status == ESP_OK)
        status = check_places(formal, matrix, error);
    if (status != ESP_OK)
        matrix_clear(matrix);
    matrix_clear(&lines);
    matrix_clear(&across);
    return status;
}

enum esp_status values_count(const struct values *values, size_t index, uint64_t *count,
                             struct esp_error *error)
{
    const struct argument *argument = values_argument(values, index);
    const struct esp_argument *extents = &values->arguments[index];
    bool fits = true;
    *count = 1;
    if (argument->storage == STORAGE_PACKED || argument->storage == STORAGE_BANDED) {
        struct layout layout;
        enum esp_status status = values_layout(values, index, &layout, error);
        if (status != ESP_OK)
            return status;
        fits = layout_count(&layout, count);
    } else if (argument->storage != STORAGE_FULL) {
        struct companions with;
        find_companions(values, index, &with);
        extents = &values->arguments[with.indices];
    }
    if (argument->storage == STORAGE_FULL || argument->storage >= STORAGE_CSC)
        for (unsigned k = 0; k < extents->n_dims && fits; k++)
            fits = !__builtin_mul_overflow(*count, (uint64_t)extents->dims[k], count);
    uint64_t bytes;
    if (fits && !__builtin_mul_overflow(*count, base_type_size(argument->type), &bytes) &&
        bytes <= SIZE_MAX / 2)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "%s: its extents overflow", argument->name);
}

enum esp_status values_unpack(const struct values *values, size_t index, struct matrix *matrix,
                              struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    const struct argument *argument = values_argument(values, index);
    const int64_t *dims = values->arguments[index].dims;
    bool is_complex = formal->type == ESP_TYPE_COMPLEX || formal->type == ESP_TYPE_DOUBLE_COMPLEX;
    struct layout layout;
    if (argument->storage >= STORAGE_CSC) {
        enum esp_status read = values_sparse(values, index, matrix, error);
        if (read == ESP_OK && (read = matrix_make_dense(matrix, 0, error)) != ESP_OK)
            matrix_clear(matrix);
        return read;
    }
    enum esp_status status = matrix_init(matrix, dims[0], dims[1], is_complex, 0, error);
    if (status == ESP_OK)
        status = values_layout(values, index, &layout, error);
    for (int64_t j = 0; status == ESP_OK && j < dims[1]; j++)
        for (int64_t i = 0; i < dims[0]; i++) {
            size_t to = (size_t)(j * dims[0] + i);
            int64_t from = layout_index(&layout, i, j);
            double re = 0, im = 0;
            if (from >= 0)
                value_load(formal->type, values->slots[index].memory, (size_t)from, &re, &im);
            matrix->values[is_complex ? 2 * to : to] = re;
            if (is_complex)
                matrix->values[2 * to + 1] = im;
        }
    return status;
}

/* ---- back to matrices ---- */

void value_load(enum esp_type type, const void *memory, size_t index, double *re, double *im)
{
    *im = 0;
    switch (type) {
    case ESP_TYPE_CHAR:
        *re = ((const char *)memory)[index];
        break;
    case ESP_TYPE_SHORT:
        *re = ((const int16_t *)memory)[index];
        break;
    case ESP_TYPE_INT:
        *re = ((const int32_t *)memory)[index];
        break;
    case ESP_TYPE_LONG:
    case ESP_TYPE_INT64:
        *re = (double)((const int64_t *)memory)[index];
        break;
    case ESP_TYPE_FLOAT:
        *re = ((const float *)memory)[index];
        break;
    case ESP_TYPE_COMPLEX:
        *re = ((const float *)memory)[2 * index];
        *im = ((const float *)memory)[2 * index + 1];
        break;
    case ESP_TYPE_DOUBLE_COMPLEX:
        *re = ((const double *)memory)[2 * index];
        *im = ((const double *)memory)[2 * index + 1];
        break;
    default:
        *re = ((const double *)memory)[index];
        break;
    }
}

enum esp_status value_load_element(enum esp_type type, const void *memory, size_t from, struct matrix *matrix,
                                   size_t to, struct esp_error *error)
{
    double re, im;
    if (type == ESP_TYPE_LONG || type == ESP_TYPE_INT64)
        return matrix_set_integer(matrix, to, ((const int64_t *)memory)[from], error);
    value_load(type, memory, from, &re, &im);
    matrix->values[matrix->is_complex ? 2 * to : to] = re;
    if (matrix->is_complex)
        matrix->values[2 * to + 1] = im;
    return ESP_OK;
}

static void matrix_extents(const struct esp_argument *argument, int64_t *rows, int64_t *cols)
{
    *rows = 1;
    *cols = 1;
    if (argument->n_dims == 2) {
        *rows = argument->dims[0];
        *cols = argument->dims[1];
        return;
    }
    for (unsigned k = 0; k < argument->n_dims; k++)
        *rows *= argument->dims[k];
}

enum esp_status values_matrix(const struct values *values, size_t index, struct matrix *matrix,
                              struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    int64_t rows, cols;
    bool is_complex = formal->type == ESP_TYPE_COMPLEX || formal->type == ESP_TYPE_DOUBLE_COMPLEX;
    if (values_argument(values, index)->storage != STORAGE_FULL)
        return values_unpack(values, index, matrix, error);
    matrix_extents(&values->arguments[index], &rows, &cols);
    enum esp_status status = matrix_init(matrix, rows, cols, is_complex, 0, error);
    if (status != ESP_OK)
        return status;
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) {
            size_t to = (size_t)(j * rows + i), from = values_place(formal, &values->arguments[index], to);
            status = value_load_element(formal->type, values->slots[index].memory, from, matrix, to, error);
            if (status != ESP_OK) {
                matrix_clear(matrix);
                return status;
            }
        }
    return ESP_OK;
}

/* ---- results that are shorter than their place ---- */

enum esp_status values_cut(struct values *values, struct esp_error *error)
{
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    values_scope(values, scope);
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        struct esp_argument *given = &values->arguments[i];
        if (!values_argument(values, i)->count || !given->data)
            continue;
        struct shape shape = {.n_dims = given->n_dims};
        memcpy(shape.dims, given->dims, sizeof shape.dims);
        enum esp_status status =
            problem_cut(described(values), values_described_index(values, i), scope, &shape, error);
        if (status != ESP_OK) {
            error->status = ESP_FAILED; /* the routine's count, not the caller's */
            return ESP_FAILED;
        }
        given->dims[given->n_dims - 1] = shape.dims[given->n_dims - 1];
    }
    return ESP_OK;
}
