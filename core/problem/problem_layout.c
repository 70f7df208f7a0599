/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the elements of a matrix are stored.
 */
#include "core/problem/expr_tree.h"
#include "core/problem/problem.h"

#include <inttypes.h>

static enum esp_status evaluate(const struct problem *problem, const struct argument *argument,
                                const struct expr *expr, const struct number *scope_values, int64_t *value,
                                struct esp_error *error)
{
    const struct scope scope = {scope_values, problem->n_arguments};
    *value = 0;
    enum esp_status status = expr ? expr_eval_size(expr, &scope, value, error) : ESP_OK;
    if (status != ESP_OK)
        error_prefix(error, "%s: %s", problem->name, argument->name);
    return status;
}

static enum esp_status packed_layout(const struct problem *problem, const struct argument *argument,
                                     const struct number *scope_values, struct layout *layout,
                                     struct esp_error *error)
{
    int64_t letter;
    if (layout->rows != layout->cols)
        return error_set(error, ESP_INVALID,
                         "%s: %s is packed: expected a square matrix, found %" PRId64 " x %" PRId64,
                         problem->name, argument->name, layout->rows, layout->cols);
    layout->upper = !(argument->properties & PROPERTY_LOWER);
    if (!argument->layout[0])
        return ESP_OK;
    enum esp_status status = evaluate(problem, argument, argument->layout[0], scope_values, &letter, error);
    layout->upper = letter == 'U' || letter == 'u';
    return status;
}

enum esp_status problem_layout(const struct problem *problem, uint32_t index,
                               const struct number *scope_values, const int64_t *dims, struct layout *layout,
                               struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[index];
    *layout = (struct layout){.storage = argument->storage,
                              .row_major = (argument->properties & PROPERTY_ROW_MAJOR) != 0,
                              .rows = dims[0],
                              .cols = dims[1]};
    if (argument->storage == STORAGE_PACKED)
        return packed_layout(problem, argument, scope_values, layout, error);
    if (argument->storage != STORAGE_BANDED)
        return ESP_OK;
    int64_t *const widths[] = {&layout->below, &layout->above, &layout->front};
    for (unsigned i = 0; i < 3; i++) {
        enum esp_status status =
            evaluate(problem, argument, argument->layout[i], scope_values, widths[i], error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

/* The name that the width is, in one branch at least of if(is(uplo, 'U'), 0, kd). */
static bool width_name(const struct expr *width, uint32_t *name)
{
    if (width->kind == EXPR_FUNCTION && width->code == FUNCTION_IF)
        return expr_is_name(width->operands[1], name) || expr_is_name(width->operands[2], name);
    return expr_is_name(width, name);
}

bool problem_band_width(const struct argument *argument, unsigned side, uint32_t *name, bool *both)
{
    uint32_t other;
    if (argument->storage != STORAGE_BANDED || side > 1 || !width_name(argument->layout[side], name))
        return false;
    *both = width_name(argument->layout[1 - side], &other) && other == *name;
    return true;
}

static bool band_rows(const struct layout *layout, uint64_t *rows)
{
    *rows = 1;
    return !__builtin_add_overflow(*rows, (uint64_t)layout->below, rows) &&
           !__builtin_add_overflow(*rows, (uint64_t)layout->above, rows) &&
           !__builtin_add_overflow(*rows, (uint64_t)layout->front, rows);
}

bool layout_count(const struct layout *layout, uint64_t *count)
{
    uint64_t rows = (uint64_t)layout->rows, cols = (uint64_t)layout->cols;
    switch (layout->storage) {
    case STORAGE_PACKED: /* one of n and n + 1 is even */
        return !__builtin_mul_overflow(cols % 2 ? cols : cols / 2, cols % 2 ? (cols + 1) / 2 : cols + 1,
                                       count);
    case STORAGE_BANDED:
        return band_rows(layout, &rows) && !__builtin_mul_overflow(rows, cols, count);
    default:
        return !__builtin_mul_overflow(rows, cols, count);
    }
}

int64_t layout_index(const struct layout *layout, int64_t row, int64_t col)
{
    int64_t i = layout->row_major ? col : row, j = layout->row_major ? row : col;
    bool upper = layout->row_major ? !layout->upper : layout->upper;
    int64_t above = layout->row_major ? layout->below : layout->above;
    int64_t below = layout->row_major ? layout->above : layout->below;
    switch (layout->storage) {
    case STORAGE_PACKED:
        if (upper)
            return i <= j ? i + j * (j + 1) / 2 : -1;
        return i >= j ? i - j + j * (2 * layout->cols - j + 1) / 2 : -1;
    case STORAGE_BANDED:
        if (i - j > below || j - i > above + layout->front)
            return -1;
        return layout->front + above + i - j + j * (layout->front + above + below + 1);
    case STORAGE_FULL:
        return i + j * (layout->row_major ? layout->cols : layout->rows);
    default:
        return -1;
    }
}
