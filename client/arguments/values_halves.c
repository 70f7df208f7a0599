/* SPDX-License-Identifier: Apache-2.0
 *
 * Symmetric and Hermitian matrices of which a problem reads one triangle: the other one has to agree.
 */
#include "config.h"

#include "client/arguments/signature.h"
#include "client/arguments/values_storage.h"
#include "core/problem/problem_solves.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

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

/* Squares of elements, so that the one that is read across the columns stays near. */
#define SQUARE 64

static void look_at_full(struct halves *halves, enum esp_type type, const void *memory, int64_t n)
{
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
            if (i == j)
                continue;
            matrix_element(matrix, row, col, &read[0], &read[1]);
            matrix_element(matrix, col, row, &other[0], &other[1]);
            matrix_element(matrix, i, i, &first[0], &first[1]);
            matrix_element(matrix, j, j, &second[0], &second[1]);
            look_at_pair(halves, row, col, read, other, fmax(size_of(first), size_of(second)));
        }
}

static enum esp_status judge(const struct halves *halves, const char *problem, struct esp_error *error)
{
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
