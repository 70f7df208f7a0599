/* SPDX-License-Identifier: Apache-2.0
 *
 * Extents of arrays: what a matrix or an array of a file is for an argument, and where its elements lie.
 */
#include "core/values/values_storage.h"
#include "core/values/signature.h"
#include "config.h"
#include "core/problem/problem_solves.h"
#include "util/bytes.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum esp_status wrong_shape(const struct esp_problem_argument *formal, const struct given_array *given,
                                   const char *expected, struct esp_error *error)
{
    char found[MATRIX_MAX_DIMS * 24];
    size_t used = 0;
    unsigned n = given->n_dims > 2 ? given->n_dims : 2;
    const int64_t plain[2] = {given->matrix->rows, given->matrix->cols};
    const int64_t *dims = given->n_dims > 2 ? given->dims : plain;
    for (unsigned d = 0; d < n; d++)
        used +=
            (size_t)snprintf(found + used, sizeof found - used, "%s%lld", d ? " x " : "", (long long)dims[d]);
    return error_set(error, ESP_INVALID, "%s: expected %s, found %s of %s elements", formal->name, expected,
                     given->n_dims > 2 ? "an array" : "a matrix", found);
}

/* Three dimensions and more: from a file that has as many, or the elements one after the other. */
static enum esp_status take_array(struct values *values, size_t index, const struct given_array *given,
                                  const char *expected, struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    const struct matrix *matrix = given->matrix;
    struct esp_argument *argument = &values->arguments[index];
    bool is_vector = matrix->rows == 1 || matrix->cols == 1 || matrix->rows * matrix->cols == 0;
    if (given->n_dims == formal->n_dims) {
        argument->n_dims = given->n_dims;
        memcpy(argument->dims, given->dims, given->n_dims * sizeof *given->dims);
    } else if (given->n_dims > 2 || !is_vector) {
        return wrong_shape(formal, given, expected, error);
    }
    values->slots[index].count = (uint64_t)(matrix->rows * matrix->cols);
    return ESP_OK;
}

enum esp_status values_take_extents(struct values *values, size_t index, const struct given_array *given,
                                    struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    struct esp_argument *argument = &values->arguments[index];
    const struct matrix *matrix = given->matrix;
    char shape[256], expected[320];
    bool is_vector = matrix->rows == 1 || matrix->cols == 1 || matrix->rows * matrix->cols == 0;
    signature_shape(formal, shape, sizeof shape);
    if (formal->n_dims == 0)
        snprintf(expected, sizeof expected, "one %s", esp_type_name(formal->type));
    else
        snprintf(expected, sizeof expected, "%s %s", formal->n_dims == 2 ? "a matrix for" : "a vector for",
                 shape);
    if (formal->n_dims > 2)
        return take_array(values, index, given, expected, error);
    if (given->n_dims > 2 || (formal->n_dims == 0 && matrix->rows * matrix->cols != 1) ||
        (formal->n_dims == 1 && !is_vector))
        return wrong_shape(formal, given, expected, error);
    argument->n_dims = formal->n_dims;
    argument->dims[0] = formal->n_dims == 1 ? matrix->rows * matrix->cols : matrix->rows;
    argument->dims[1] = matrix->cols;
    return ESP_OK;
}

size_t values_place(const struct esp_problem_argument *formal, const struct esp_argument *extents, size_t k)
{
    size_t at[ESP_MAX_DIMS], place = 0;
    if (!(formal->properties & ESP_PROPERTY_ROW_MAJOR) || extents->n_dims < 2)
        return k;
    for (unsigned d = 0; d < extents->n_dims; d++) {
        size_t extent = (size_t)extents->dims[d];
        at[d] = extent ? k % extent : 0;
        k = extent ? k / extent : 0;
    }
    for (unsigned d = 0; d < extents->n_dims; d++)
        place = place * (size_t)extents->dims[d] + at[d];
    return place;
}

/* ---- nothing: [] ---- */

bool values_is_nothing(const struct matrix *matrix, const struct esp_problem_argument *formal)
{
    return matrix->rows == 0 && matrix->cols == 0 && formal->n_dims > 1;
}

/* The extents of [] are left open, but for so many of the first ones, which are 0. */
static void open_extents(struct values *values, unsigned n_known)
{
    for (size_t i = 0; i < values->problem->n_arguments; i++)
        if (values->slots[i].is_nothing) {
            values->arguments[i].n_dims = values->problem->arguments[i].n_dims;
            for (unsigned d = 0; d < values->arguments[i].n_dims; d++)
                values->arguments[i].dims[d] = d < n_known ? 0 : -1;
        }
}

static bool are_empty(const struct values *values)
{
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        const struct esp_argument *argument = &values->arguments[i];
        bool empty = !values->slots[i].is_nothing;
        for (unsigned d = 0; d < argument->n_dims; d++)
            empty |= argument->dims[d] == 0;
        if (!empty)
            return false;
    }
    return true;
}

static bool complete(struct values *values, struct esp_error *error)
{
    if (values->library->arguments_complete(values->problem, values->arguments,
                                            values->problem->n_arguments) == ESP_OK)
        return true;
    *error = *values->library->last_error();
    return false;
}

enum esp_status values_complete(struct values *values, struct esp_error *error)
{
    size_t n = values->problem->n_arguments;
    struct esp_argument as_given[ESP_MAX_ARGUMENTS];
    bool some = false;
    memcpy(as_given, values->arguments, n * sizeof *as_given);
    for (size_t i = 0; i < n; i++)
        some |= values->slots[i].is_nothing;
    if (complete(values, error))
        return ESP_OK;
    if (!some)
        return error->status;
    /* Empty arrays of other extents than 0 x 0: without rows, or as the other arguments say. */
    for (unsigned n_known = 2; n_known-- > 0;) {
        open_extents(values, n_known);
        struct esp_error unimportant;
        if (complete(values, &unimportant) && are_empty(values))
            return ESP_OK;
        memcpy(values->arguments, as_given, n * sizeof *as_given);
    }
    return error->status;
}

/* ---- arrays of characters ---- */

/* Up to the first zero, without the blanks that Fortran pads with. */
size_t characters_length(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    return length;
}

bool values_is_characters(const struct values *values, size_t index)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    const struct esp_argument *argument = &values->arguments[index];
    const char *memory = values->slots[index].memory;
    if (formal->type != ESP_TYPE_CHAR || formal->n_dims < 1 || formal->n_dims > 2 || !memory ||
        (formal->properties & ESP_PROPERTY_ROW_MAJOR))
        return false;
    size_t size = (size_t)argument->dims[0], n = formal->n_dims == 2 ? (size_t)argument->dims[1] : 1;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0, length = characters_length(memory + k * size, size); i < length; i++) {
            unsigned char c = (unsigned char)memory[k * size + i];
            if (c < ' ' && c != '\n' && c != '\t')
                return false; /* numbers rather than letters */
        }
    return true;
}

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

/* The matrix again, zero where nothing is stored. matrix_clear() frees. */
static enum esp_status values_unpack(const struct values *values, size_t index, struct matrix *matrix,
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

/* Leaves the first rows of a matrix, or elements of a vector. */
static void cut_rows(struct esp_argument *given, int64_t rows)
{
    const size_t element = esp_type_size(given->type), from = (size_t)given->dims[0] * element,
                 to = (size_t)rows * element;
    const int64_t cols = given->n_dims > 1 ? given->dims[1] : 1;
    for (int64_t j = 1; j < cols; j++)
        memmove((char *)given->data + (size_t)j * to, (char *)given->data + (size_t)j * from, to);
    given->dims[0] = rows;
}

enum esp_status values_cut(struct values *values, struct esp_error *error)
{
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    values_scope(values, scope);
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        const struct esp_job_name *other = values->slots[i].other;
        struct esp_argument *given = &values->arguments[i];
        if (other && given->data && (given->n_dims == 1 || given->n_dims == 2) && other->rows >= 0 &&
            other->rows < given->dims[0] && values_argument(values, i)->storage == STORAGE_FULL)
            cut_rows(given, other->rows);
    }
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

/* Matrices that descriptions want packed or banded, from whole or sparse ones. */

/* Walks the elements of what was given: those of a full matrix, or those that a sparse one has. */
struct walk {
    const struct value_slot *slot;
    enum esp_type type;
    int64_t rows, cols;
    int64_t row, col; /* of the element */
    size_t at;        /* the next one's number */
    double re, im;
};

static struct walk walk_begin(const struct values *values, size_t index)
{
    const int64_t *dims = values->arguments[index].dims;
    return (struct walk){.slot = &values->slots[index],
                         .type = values->problem->arguments[index].type,
                         .rows = dims[0],
                         .cols = dims[1]};
}

static bool walk_sparse(struct walk *walk)
{
    const struct matrix *matrix = &walk->slot->sparse;
    size_t at = walk->at++;
    if (at >= (size_t)matrix_stored(matrix))
        return false;
    while (matrix->starts[walk->col + 1] <= (int64_t)at)
        walk->col++;
    walk->row = matrix->indices[at];
    walk->re = matrix->values[matrix->is_complex ? 2 * at : at];
    walk->im = matrix->is_complex ? matrix->values[2 * at + 1] : 0;
    return true;
}

static bool walk_next(struct walk *walk)
{
    if (walk->slot->sparse.starts)
        return walk_sparse(walk);
    size_t at = walk->at++;
    if (at >= (size_t)(walk->rows * walk->cols))
        return false;
    walk->row = (int64_t)at % walk->rows;
    walk->col = (int64_t)at / walk->rows;
    value_load(walk->type, walk->slot->memory, at, &walk->re, &walk->im);
    return true;
}

/* How far from the diagonal the elements reach that are not zero. */
static void measure_band(const struct values *values, size_t index, int64_t *below, int64_t *above)
{
    *below = *above = 0;
    for (struct walk walk = walk_begin(values, index); walk_next(&walk);) {
        if (walk.re == 0 && walk.im == 0)
            continue;
        *below = walk.row - walk.col > *below ? walk.row - walk.col : *below;
        *above = walk.col - walk.row > *above ? walk.col - walk.row : *above;
    }
}

/* Sets the int that the width of that side is, unless it was given. */
static enum esp_status give_width(struct values *values, const struct argument *argument, unsigned side,
                                  const int64_t reach[2], struct esp_error *error)
{
    uint32_t described_at;
    bool both;
    if (!problem_band_width(argument, side, &described_at, &both))
        return ESP_OK;
    int64_t width = both && reach[1 - side] > reach[side] ? reach[1 - side] : reach[side];
    int index = signature_find(values->problem, described(values)->arguments[described_at].name);
    if (index < 0 || values->slots[index].given || values->problem->arguments[index].initial)
        return ESP_OK;
    enum esp_status status = value_memory(values, (size_t)index, 16, error);
    values->slots[index].given = true;
    if (status == ESP_OK)
        value_store(values->problem->arguments[index].type, values->slots[index].memory, 0, (double)width, 0);
    return status;
}

enum esp_status values_measure_bands(struct values *values, struct esp_error *error)
{
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        const struct argument *argument = values_argument(values, i);
        int64_t reach[2];
        if (argument->storage != STORAGE_BANDED || !values->slots[i].is_full)
            continue;
        measure_band(values, i, &reach[0], &reach[1]);
        enum esp_status status = give_width(values, argument, 0, reach, error);
        if (status == ESP_OK)
            status = give_width(values, argument, 1, reach, error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

enum esp_status values_layout(const struct values *values, size_t index, struct layout *layout,
                              struct esp_error *error)
{
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    values_scope(values, scope);
    return problem_layout(described(values), values_described_index(values, index), scope,
                          values->arguments[index].dims, layout, error);
}

static bool is_mirrored(const struct argument *argument)
{
    return (argument->properties & (PROPERTY_SYMMETRIC | PROPERTY_HERMITIAN)) != 0;
}

static enum esp_status put_elements(const struct values *values, size_t index, const struct layout *layout,
                                    void *stored, struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    bool mirrored = is_mirrored(values_argument(values, index));
    for (struct walk walk = walk_begin(values, index); walk_next(&walk);) {
        int64_t at = layout_index(layout, walk.row, walk.col);
        if (at >= 0 && !value_store(formal->type, stored, (size_t)at, walk.re, walk.im))
            return error_set(error, ESP_INVALID, "%s: the element in row %lld, column %lld cannot be a %s",
                             formal->name, (long long)walk.row + 1, (long long)walk.col + 1,
                             esp_type_name(formal->type));
        if (at >= 0 || (walk.re == 0 && walk.im == 0) ||
            (mirrored && layout_index(layout, walk.col, walk.row) >= 0))
            continue;
        return error_set(error, ESP_INVALID,
                         "%s: row %lld, column %lld is not zero, but outside of what is stored (%s)",
                         formal->name, (long long)walk.row + 1, (long long)walk.col + 1, formal->storage);
    }
    return ESP_OK;
}

static enum esp_status pack(struct values *values, size_t index, struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    struct value_slot *slot = &values->slots[index];
    struct layout layout;
    uint64_t count;
    enum esp_status status = values_layout(values, index, &layout, error);
    if (status == ESP_OK)
        status = values_count(values, index, &count, error);
    if (status != ESP_OK)
        return status;
    void *stored = calloc(count ? count : 1, esp_type_size(formal->type));
    if (!stored)
        return error_no_memory(error, formal->name);
    status = put_elements(values, index, &layout, stored, error);
    free(slot->memory);
    slot->memory = values->arguments[index].data = stored;
    slot->is_full = false;
    matrix_clear(&slot->sparse);
    return status;
}

enum esp_status values_pack(struct values *values, struct esp_error *error)
{
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        enum storage storage = values_argument(values, i)->storage;
        if (!values->slots[i].is_full || (storage != STORAGE_PACKED && storage != STORAGE_BANDED))
            continue;
        enum esp_status status = pack(values, i, error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

enum esp_status values_take_sparse(struct values *values, size_t index, const struct matrix *matrix,
                                   struct esp_error *error)
{
    struct value_slot *slot = &values->slots[index];
    const struct given_array given = {.matrix = matrix};
    enum esp_status status = values_take_extents(values, index, &given, error);
    if (status == ESP_OK)
        status = value_memory(values, index, 1, error); /* until values_pack() */
    if (status == ESP_OK)
        status = matrix_to_sparse(matrix, &slot->sparse, error);
    slot->is_full = status == ESP_OK;
    return status;
}

/* Symmetric and Hermitian matrices of which a problem reads one triangle: the other one has to agree, and the
 * diagonal of a Hermitian one is real (LAPACK ignores its imaginary parts). */

#define ROUNDING 64 /* as in core/matrix/matrix_norms.c */

/* The state of a pass through pairs of elements. */
struct halves {
    const char *name;
    bool upper, known; /* the triangle that is read, if the description says it */
    bool conjugated;
    double epsilon;
    bool differs, other_is_there;
    int64_t row, col; /* of the first pair that differs, in the triangle that is read */
    double read[2], other[2];
    int64_t not_real; /* the first place on a Hermitian diagonal that is not real; -1: all are */
    double on_diagonal[2];
};

static bool is_single(enum esp_type type)
{
    return type == ESP_TYPE_FLOAT || type == ESP_TYPE_COMPLEX;
}

static bool is_finite(const double *element)
{
    return isfinite(element[0]) && isfinite(element[1]);
}

/* An element of the triangle that is read, its counterpart, and the larger of the two on the diagonal. The
 * check for finite numbers looks at the one that is read; the other one is as good as absent when it is not
 * finite. */
static void look_at_pair(struct halves *halves, int64_t row, int64_t col, const double *read,
                         const double *other, double diagonal)
{
    const double wanted = halves->conjugated ? -read[1] : read[1];
    const double apart = hypot(other[0] - read[0], other[1] - wanted);
    if (!is_finite(read) || !is_finite(other))
        return;
    halves->other_is_there |= other[0] != 0 || other[1] != 0;
    const double largest = fmax(hypot(read[0], read[1]), diagonal);
    if (halves->differs || apart <= ROUNDING * halves->epsilon * (isfinite(largest) ? largest : 0))
        return;
    halves->differs = true;
    halves->row = row;
    halves->col = col;
    for (int k = 0; k < 2; k++) {
        halves->read[k] = read[k];
        halves->other[k] = other[k];
    }
}

static double size_of(const double *element)
{
    return hypot(element[0], element[1]);
}

static void look_at_diagonal(struct halves *halves, int64_t at, const double *element)
{
    if (!halves->conjugated || halves->not_real >= 0 || !is_finite(element) ||
        fabs(element[1]) <= ROUNDING * halves->epsilon * size_of(element))
        return;
    halves->not_real = at;
    halves->on_diagonal[0] = element[0];
    halves->on_diagonal[1] = element[1];
}

/* Squares of elements, so that the one that is read across the columns stays near. */
#define SQUARE 64

static void look_at_full(struct halves *halves, enum esp_type type, const void *memory, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double element[2];
        value_load(type, memory, (size_t)(i + i * n), &element[0], &element[1]);
        look_at_diagonal(halves, i, element);
    }
    for (int64_t j0 = 0; j0 < n; j0 += SQUARE)
        for (int64_t i0 = 0; i0 <= j0; i0 += SQUARE)
            for (int64_t j = j0; j < j0 + SQUARE && j < n; j++)
                for (int64_t i = i0; i < i0 + SQUARE && i < j; i++) {
                    double above[2], below[2], first[2], second[2];
                    value_load(type, memory, (size_t)(i + j * n), &above[0], &above[1]);
                    value_load(type, memory, (size_t)(j + i * n), &below[0], &below[1]);
                    value_load(type, memory, (size_t)(i + i * n), &first[0], &first[1]);
                    value_load(type, memory, (size_t)(j + j * n), &second[0], &second[1]);
                    look_at_pair(halves, halves->upper ? i : j, halves->upper ? j : i,
                                 halves->upper ? above : below, halves->upper ? below : above,
                                 fmax(size_of(first), size_of(second)));
                }
}

/* A pair is seen from each of its elements that is stored. */
static void look_at_sparse(struct halves *halves, const struct matrix *matrix)
{
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t k = matrix->starts[j]; k < matrix->starts[j + 1]; k++) {
            const int64_t i = matrix->indices[k];
            const bool is_read = halves->upper ? i < j : i > j;
            const int64_t row = is_read ? i : j, col = is_read ? j : i;
            double read[2], other[2], first[2], second[2];
            matrix_element(matrix, row, col, &read[0], &read[1]);
            if (i == j) {
                look_at_diagonal(halves, i, read);
                continue;
            }
            matrix_element(matrix, col, row, &other[0], &other[1]);
            matrix_element(matrix, i, i, &first[0], &first[1]);
            matrix_element(matrix, j, j, &second[0], &second[1]);
            look_at_pair(halves, row, col, read, other, fmax(size_of(first), size_of(second)));
        }
}

static enum esp_status judge(const struct halves *halves, const char *problem, struct esp_error *error)
{
    if (halves->not_real >= 0)
        return error_set(error, ESP_INVALID,
                         "%s: %s has to be Hermitian, but %s(%lld,%lld) = %.6g%+.6gi: the diagonal of a "
                         "Hermitian matrix is real",
                         problem, halves->name, halves->name, (long long)halves->not_real + 1,
                         (long long)halves->not_real + 1, halves->on_diagonal[0], halves->on_diagonal[1]);
    if (!halves->differs || (halves->known && !halves->other_is_there))
        return ESP_OK;
    char read[64], other[64];
    const bool is_complex = halves->read[1] != 0 || halves->other[1] != 0;
    snprintf(read, sizeof read, is_complex ? "%.6g%+.6gi" : "%.6g", halves->read[0], halves->read[1]);
    snprintf(other, sizeof other, is_complex ? "%.6g%+.6gi" : "%.6g", halves->other[0], halves->other[1]);
    return error_set(
        error, ESP_INVALID,
        "%s: %s has to be %s, but %s(%lld,%lld) = %s and %s(%lld,%lld) = %s: %s reads the %s triangle "
        "only; give that one alone, with zeros in the other",
        problem, halves->name, halves->conjugated ? "Hermitian" : "symmetric", halves->name,
        (long long)halves->row + 1, (long long)halves->col + 1, read, halves->name,
        (long long)halves->col + 1, (long long)halves->row + 1, other, problem,
        halves->upper ? "upper" : "lower");
}

/* Which triangle is read: by the description's property, by packed storage, or by the only diagonals of a
 * band. */
static bool reads_triangle(const struct values *values, size_t index, bool *upper)
{
    const struct argument *argument = values_argument(values, index);
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct layout layout;
    struct esp_error unimportant;
    values_scope(values, scope);
    if (argument_reads_triangle(values->described->problems[0], values_described_index(values, index), scope,
                                upper))
        return true;
    if ((argument->storage != STORAGE_PACKED && argument->storage != STORAGE_BANDED) ||
        values_layout(values, index, &layout, &unimportant) != ESP_OK)
        return false;
    *upper = argument->storage == STORAGE_PACKED ? layout.upper : layout.below == 0;
    return argument->storage == STORAGE_PACKED || layout.below == 0 || layout.above == 0;
}

enum esp_status values_check_halves(const struct values *values, size_t index, struct esp_error *error)
{
    const struct value_slot *slot = &values->slots[index];
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    const struct argument *argument = values_argument(values, index);
    const struct esp_argument *given = &values->arguments[index];
    const uint32_t mirrored = PROPERTY_SYMMETRIC | PROPERTY_HERMITIAN | PROPERTY_POSITIVE_DEFINITE;
    if (!(argument->properties & mirrored) || !argument_in(formal) || !slot->given || slot->datum ||
        slot->random || given->n_dims != 2 || given->dims[0] != given->dims[1])
        return ESP_OK;
    struct halves halves = {.name = formal->name,
                            .upper = true,
                            .not_real = -1,
                            .conjugated =
                                !(argument->properties & PROPERTY_SYMMETRIC) &&
                                (formal->type == ESP_TYPE_COMPLEX || formal->type == ESP_TYPE_DOUBLE_COMPLEX),
                            .epsilon = is_single(formal->type) ? (double)FLT_EPSILON : DBL_EPSILON};
    halves.known = reads_triangle(values, index, &halves.upper);
    halves.upper = halves.known ? halves.upper : true;
    if (slot->sparse.values) {
        look_at_sparse(&halves, &slot->sparse);
    } else if (argument->storage >= STORAGE_CSC) {
        struct matrix matrix;
        enum esp_status status = values_sparse(values, index, &matrix, error);
        if (status != ESP_OK)
            return status;
        look_at_sparse(&halves, &matrix);
        matrix_clear(&matrix);
    } else if (slot->is_full && slot->memory) {
        look_at_full(&halves, formal->type, slot->memory, given->dims[0]);
    }
    return judge(&halves, values->problem->name, error);
}

enum esp_status value_memory(struct values *values, size_t index, size_t bytes, struct esp_error *error)
{
    struct value_slot *slot = &values->slots[index];
    char size[BYTES_TEXT];
    slot->memory = calloc(bytes ? bytes : 1, 1);
    if (!slot->memory)
        return error_set(error, ESP_NO_MEMORY, "%s: there is no memory here for its %s",
                         values->problem->arguments[index].name, bytes_text(bytes, size));
    values->arguments[index].data = slot->memory;
    values->arguments[index].type = values->problem->arguments[index].type;
    return ESP_OK;
}

bool values_is_left(const struct values *values, size_t index)
{
    const struct value_slot *slot = &values->slots[index];
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    return argument_out(formal) && formal->n_dims > 0 && !slot->is_kept &&
           ((values->some_saved && !slot->path) || slot->is_unwanted);
}
