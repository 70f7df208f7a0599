/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the values of arrays, and how many of them a call returned. */
#include "core/problem/problem_solves.h"
#include "core/problem/section.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers that are finite ---- */

/* Returns the index of the first of n numbers, each a float or a double, that is not finite; n if all are
 * finite. Tests many at once by a sum: x - x is 0 for finite x and NaN for all others. */
static uint64_t first_not_finite(const void *data, uint64_t n, bool is_double)
{
    enum { BLOCK = 256 };
    const double *doubles = data;
    const float *floats = data;
    for (uint64_t from = 0; from < n; from += BLOCK) {
        uint64_t to = from + BLOCK < n ? from + BLOCK : n;
        double sum = 0;
        for (uint64_t i = from; i < to; i++)
            sum += is_double ? doubles[i] - doubles[i] : (double)(floats[i] - floats[i]);
        for (uint64_t i = from; sum != 0 && i < to; i++)
            if (!isfinite(is_double ? doubles[i] : (double)floats[i]))
                return i;
    }
    return n;
}

bool problem_piece_is_finite(const struct argument *argument, const void *piece, uint64_t bytes)
{
    bool is_double = argument->type == TYPE_DOUBLE || argument->type == TYPE_DOUBLE_COMPLEX;
    uint64_t size = is_double ? sizeof(double) : sizeof(float);
    if (bytes % size != 0 || (uintptr_t)piece % size != 0)
        return false;
    return first_not_finite(piece, bytes / size, is_double) == bytes / size;
}

/* Writes "A", "x(3)", "A(3,2)", with numbers from 1; "element 7 of A" if the storage is not full. */
static const char *element_name(const struct argument *argument, const struct shape *shape, uint64_t index,
                                char *text, size_t size)
{
    uint64_t rest = index;
    if (argument->n_dims == 0)
        snprintf(text, size, "%s", argument->name);
    if (argument->is_section)
        snprintf(text, size, "element %" PRIu64 " of the section of %s", index + 1, argument->name);
    else if (argument->n_dims > 0 && argument->storage != STORAGE_FULL)
        snprintf(text, size, "element %" PRIu64 " of %s as it is stored", index + 1, argument->name);
    if (argument->n_dims == 0 || argument->storage != STORAGE_FULL || argument->is_section)
        return text;
    int64_t at[PROBLEM_MAX_DIMS];
    bool row_major = (argument->properties & PROPERTY_ROW_MAJOR) != 0;
    for (uint32_t k = 0; k < shape->n_dims; k++) {
        uint32_t d = row_major ? shape->n_dims - 1 - k : k;
        at[d] = (int64_t)(rest % (uint64_t)shape->dims[d]) + 1;
        rest /= (uint64_t)shape->dims[d];
    }
    size_t used = (size_t)snprintf(text, size, "%s", argument->name);
    for (uint32_t d = 0; d < shape->n_dims && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, d ? "," : "(", at[d]);
    if (used < size)
        snprintf(text + used, size - used, ")");
    return text;
}

/* The elements of a matrix that a call reads, if it does not read all stored ones: the corners of a band,
 * the other triangle, and a diagonal that is assumed to be 1 are not read, and need not be numbers. */
struct read_part {
    struct layout layout; /* by columns */
    bool triangle, upper; /* only one triangle is read; upper: which */
    bool unit;            /* the diagonal is not read */
};

static void turn(struct read_part *part)
{
    const struct layout by_rows = part->layout;
    part->layout.row_major = false;
    part->layout.upper = !by_rows.upper;
    part->layout.rows = by_rows.cols;
    part->layout.cols = by_rows.rows;
    part->layout.below = by_rows.above;
    part->layout.above = by_rows.below;
    part->upper = !part->upper;
}

/* Returns false if all stored elements are read. */
static bool part_open(const struct problem *problem, uint32_t index, const struct number *scope_values,
                      const struct shape *shape, struct read_part *part)
{
    const struct argument *argument = &problem->arguments[index];
    *part = (struct read_part){0};
    if (argument->n_dims != 2 || argument->is_section ||
        problem_layout(problem, index, scope_values, shape->dims, &part->layout, NULL) != ESP_OK)
        return false;
    part->triangle = argument_reads_triangle(problem, index, scope_values, &part->upper);
    part->unit = argument_has_unit_diagonal(problem, index, scope_values);
    if (argument->storage != STORAGE_BANDED && !part->triangle && !part->unit)
        return false;
    if (part->layout.row_major && argument->storage < STORAGE_CSC)
        turn(part);
    uint64_t count;
    return argument->storage >= STORAGE_CSC || (layout_count(&part->layout, &count) && count == shape->count);
}

static bool part_reads(const struct read_part *part, int64_t i, int64_t j)
{
    return !(part->triangle && (part->upper ? i > j : i < j)) && !(part->unit && i == j);
}

/* Computes the stored rows of column j, from *from up to the one before *to, in the triangle that is read. */
static void rows_of(const struct read_part *part, int64_t j, int64_t *from, int64_t *to)
{
    const struct layout *layout = &part->layout;
    *from = 0;
    *to = layout->rows;
    if (layout->storage == STORAGE_BANDED) {
        *from = j > layout->above ? j - layout->above : 0;
        *to = layout->rows - j > layout->below ? j + layout->below + 1 : layout->rows;
    }
    const bool is_packed = layout->storage == STORAGE_PACKED;
    if (((part->triangle && part->upper) || (is_packed && layout->upper)) && *to > j + 1)
        *to = j + 1;
    if (((part->triangle && !part->upper) || (is_packed && !layout->upper)) && *from < j)
        *from = j;
}

/* Like first_not_finite(), for rows from..to-1 of column j. */
static uint64_t first_of_column(const void *data, const struct read_part *part, int64_t j, int64_t from,
                                int64_t to, uint64_t parts, bool is_double, uint64_t none)
{
    if (from >= to)
        return none;
    uint64_t size = is_double ? sizeof(double) : sizeof(float);
    uint64_t start = (uint64_t)layout_index(&part->layout, from, j) * parts;
    uint64_t n = (uint64_t)(to - from) * parts;
    uint64_t found = first_not_finite((const char *)data + start * size, n, is_double);
    return found < n ? start + found : none;
}

static uint64_t first_not_finite_of_part(const void *data, const struct read_part *part, uint64_t parts,
                                         bool is_double, uint64_t none)
{
    uint64_t found = none;
    for (int64_t j = 0; found == none && j < part->layout.cols; j++) {
        int64_t from, to;
        rows_of(part, j, &from, &to);
        const bool splits = part->unit && from <= j && j < to;
        found = first_of_column(data, part, j, from, splits ? j : to, parts, is_double, none);
        if (splits && found == none)
            found = first_of_column(data, part, j, j + 1, to, parts, is_double, none);
    }
    return found;
}

static int64_t integer_at(const struct argument *argument, const void *data, int64_t i)
{
    return argument->type == TYPE_INT ? ((const int32_t *)data)[i] : ((const int64_t *)data)[i];
}

/* Like first_not_finite(), for a csc or csr matrix whose pointers and numbers have been checked. */
static uint64_t first_not_finite_of_compressed(const struct problem *problem, const struct argument *argument,
                                               const void *const *data, const void *values,
                                               const struct read_part *part, uint64_t parts, bool is_double,
                                               uint64_t none)
{
    const bool by_columns = argument->storage == STORAGE_CSC;
    const struct argument *pointers = &problem->arguments[argument->pointers];
    const struct argument *indices = &problem->arguments[argument->indices];
    const uint64_t size = parts * (is_double ? sizeof(double) : sizeof(float));
    const int64_t lines = by_columns ? part->layout.cols : part->layout.rows;
    for (int64_t line = 0; line < lines; line++) {
        int64_t from = integer_at(pointers, data[argument->pointers], line) - argument->base;
        int64_t to = integer_at(pointers, data[argument->pointers], line + 1) - argument->base;
        for (int64_t k = from; k < to; k++) {
            int64_t other = integer_at(indices, data[argument->indices], k) - argument->base;
            uint64_t found = first_not_finite((const char *)values + (uint64_t)k * size, parts, is_double);
            if (found < parts && part_reads(part, by_columns ? other : line, by_columns ? line : other))
                return (uint64_t)k * parts + found;
        }
    }
    return none;
}

static bool is_compressed(const struct argument *argument)
{
    return argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR;
}

static enum esp_status check_finite(const struct problem *problem, uint32_t index, const void *const *data,
                                    const struct number *scope_values, const struct shape *shape,
                                    struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[index];
    const void *values = data[index];
    bool is_double = argument->type == TYPE_DOUBLE || argument->type == TYPE_DOUBLE_COMPLEX;
    uint64_t parts = argument->type >= TYPE_COMPLEX ? 2 : 1, none = shape->count * parts;
    struct read_part part;
    bool is_part = part_open(problem, index, scope_values, shape, &part);
    uint64_t found = is_part && !is_compressed(argument)
                         ? first_not_finite_of_part(values, &part, parts, is_double, none)
                         : first_not_finite(values, none, is_double);
    if (found < none && is_part && is_compressed(argument) && data[argument->pointers] &&
        data[argument->indices])
        found =
            first_not_finite_of_compressed(problem, argument, data, values, &part, parts, is_double, none);
    if (found == none)
        return ESP_OK;
    char name[256];
    double value = is_double ? ((const double *)values)[found] : (double)((const float *)values)[found];
    return error_set(error, ESP_INVALID, "%s: %s is %s: expected finite numbers in %s", problem->name,
                     element_name(argument, shape, found / parts, name, sizeof name),
                     isnan(value) ? "not a number (NaN)"
                     : value > 0  ? "infinite"
                                  : "minus infinity",
                     argument->name);
}

/* ---- integers ---- */

/* Checks that indices lie between 1 and the maximum, or are of either sign if the problem allows it. */
static enum esp_status check_index(const struct problem *problem, uint32_t index, const void *data,
                                   const struct number *scope_values, const struct shape *shape,
                                   struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[index];
    const struct scope scope = {scope_values, problem->n_arguments};
    char name[256], sign[64] = "";
    int64_t most;
    enum esp_status status = expr_eval_size(argument->index_of, &scope, &most, error);
    if (status != ESP_OK) {
        error_prefix(error, "%s: %s", problem->name, argument->name);
        return status;
    }
    if (argument->index_signed)
        snprintf(sign, sizeof sign, " or from -1 to -%" PRId64, most);
    for (uint64_t i = 0; i < shape->count; i++) {
        int64_t found = integer_at(argument, data, (int64_t)i);
        if (found != 0 && found <= most && found >= (argument->index_signed ? -most : 1))
            continue;
        return error_set(error, ESP_INVALID,
                         "%s: %s: expected a number from 1 to %" PRId64 "%s, found %" PRId64, problem->name,
                         element_name(argument, shape, i, name, sizeof name), most, sign, found);
    }
    return ESP_OK;
}

/* ---- compressed columns and rows ---- */

struct compressed {
    const struct problem *problem;
    const struct argument *matrix, *pointers, *indices;
    const void *pointer_data, *index_data;
    int64_t lines, across; /* columns and rows; for csr: rows and columns */
    int64_t n;             /* number of row (column) numbers */
    const char *line;      /* "column" */
};

static enum esp_status check_pointers(const struct compressed *c, struct esp_error *error)
{
    const char *name = c->pointers->name;
    int64_t base = c->matrix->base, before = base;
    for (int64_t j = 0; j <= c->lines; j++) {
        int64_t pointer = integer_at(c->pointers, c->pointer_data, j);
        if (j == 0 && pointer != base)
            return error_set(error, ESP_INVALID, "%s: %s(1): expected %" PRId64 ", found %" PRId64,
                             c->problem->name, name, base, pointer);
        if (pointer < before || pointer > base + c->n)
            return error_set(error, ESP_INVALID,
                             "%s: %s(%" PRId64 "): expected a number from %" PRId64 " to %" PRId64
                             ", found %" PRId64,
                             c->problem->name, name, j + 1, before, base + c->n, pointer);
        before = pointer;
    }
    if (before != base + c->n)
        return error_set(error, ESP_INVALID,
                         "%s: %s(%" PRId64 "): expected %" PRId64 ", the end of %s, found %" PRId64,
                         c->problem->name, name, c->lines + 1, base + c->n, c->indices->name, before);
    return ESP_OK;
}

static enum esp_status check_indices(const struct compressed *c, struct esp_error *error)
{
    int64_t base = c->matrix->base;
    for (int64_t i = 0; i < c->n; i++) {
        int64_t index = integer_at(c->indices, c->index_data, i);
        if (index < base || index - base >= c->across)
            return error_set(
                error, ESP_INVALID,
                "%s: %s(%" PRId64 "): expected a %s from %" PRId64 " to %" PRId64 ", found %" PRId64,
                c->problem->name, c->indices->name, i + 1, c->line, base, base + c->across - 1, index);
    }
    return ESP_OK;
}

static enum esp_status check_compressed(const struct problem *problem, uint32_t index,
                                        const void *const *data, const struct shape *shapes,
                                        struct esp_error *error)
{
    const struct argument *matrix = &problem->arguments[index];
    bool columns = matrix->storage == STORAGE_CSC;
    struct compressed c = {.problem = problem,
                           .matrix = matrix,
                           .pointers = &problem->arguments[matrix->pointers],
                           .indices = &problem->arguments[matrix->indices],
                           .pointer_data = data[matrix->pointers],
                           .index_data = data[matrix->indices],
                           .lines = shapes[index].dims[columns ? 1 : 0],
                           .across = shapes[index].dims[columns ? 0 : 1],
                           .n = (int64_t)shapes[matrix->indices].count,
                           .line = columns ? "row" : "column"};
    if (!c.pointer_data || (!c.index_data && c.n > 0))
        return ESP_OK;
    enum esp_status status = check_pointers(&c, error);
    return status == ESP_OK ? check_indices(&c, error) : status;
}

enum esp_status problem_check_contents(const struct problem *problem, const void *const *data,
                                       const struct number *scope_values, const struct shape *shapes,
                                       struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!data[i] || !argument_is_input(argument))
            continue;
        if (argument->index_of)
            status = check_index(problem, i, data[i], scope_values, &shapes[i], error);
        if (is_compressed(argument))
            status = check_compressed(problem, i, data, shapes, error);
        if (status == ESP_OK && (argument->properties & PROPERTY_FINITE))
            status = check_finite(problem, i, data, scope_values, &shapes[i], error);
    }
    return status;
}

/* ---- results shorter than their array ---- */

enum esp_status problem_cut(const struct problem *problem, uint32_t index, const struct number *scope_values,
                            struct shape *shape, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[index];
    const struct scope scope = {scope_values, problem->n_arguments};
    int64_t count;
    if (!argument->count)
        return ESP_OK;
    enum esp_status status = expr_eval_size(argument->count, &scope, &count, error);
    int64_t *last = &shape->dims[shape->n_dims - 1];
    if (status == ESP_OK && count > *last)
        status = error_set(error, ESP_INVALID, "%s: expected a count of at most %" PRId64 ", found %" PRId64,
                           expr_text(argument->count), *last, count);
    if (status != ESP_OK) {
        error_prefix(error, "%s: %s", problem->name, argument->name);
        return status;
    }
    shape->count = *last ? shape->count / (uint64_t)*last * (uint64_t)count : 0;
    shape->bytes = shape->count * base_type_size(argument->type);
    *last = count;
    return ESP_OK;
}
