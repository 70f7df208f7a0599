/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices that descriptions want packed or banded, from whole or sparse ones.
 */
#include "config.h"

#include "client/arguments/signature.h"
#include "client/arguments/values_storage.h"

#include <stdlib.h>

static const struct problem *described(const struct values *values)
{
    return values->described->problems[0];
}

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
