/* SPDX-License-Identifier: Apache-2.0
 *
 * Extents of arrays: what a matrix or an array of a file is for an argument, and where its elements lie.
 */
#include "client/arguments/signature.h"
#include "client/arguments/values_storage.h"

#include <stdio.h>
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

static bool complete(struct values *values)
{
    return esp_arguments_complete(values->problem, values->arguments, values->problem->n_arguments) == ESP_OK;
}

enum esp_status values_complete(struct values *values, struct esp_error *error)
{
    size_t n = values->problem->n_arguments;
    struct esp_argument as_given[ESP_MAX_ARGUMENTS];
    bool some = false;
    memcpy(as_given, values->arguments, n * sizeof *as_given);
    for (size_t i = 0; i < n; i++)
        some |= values->slots[i].is_nothing;
    if (complete(values))
        return ESP_OK;
    *error = *esp_last_error();
    if (!some)
        return error->status;
    /* Empty arrays of other extents than 0 x 0: without rows, or as the other arguments say. */
    for (unsigned n_known = 2; n_known-- > 0;) {
        open_extents(values, n_known);
        if (complete(values) && are_empty(values))
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
