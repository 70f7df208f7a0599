/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/put_view.h"

#include "core/values/values.h"
#include "core/values/values_storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char put_view_kind(enum esp_type type)
{
    static const char kinds[ESP_TYPE_DOUBLE_COMPLEX + 1] = {
        [ESP_TYPE_SHORT] = 'i',   [ESP_TYPE_INT] = 'i',           [ESP_TYPE_LONG] = 'i',
        [ESP_TYPE_INT64] = 'i',   [ESP_TYPE_FLOAT] = 'f',         [ESP_TYPE_DOUBLE] = 'f',
        [ESP_TYPE_COMPLEX] = 'c', [ESP_TYPE_DOUBLE_COMPLEX] = 'c'};
    return (size_t)type < sizeof kinds ? kinds[type] : 0;
}

const void *put_view_elements(const struct put_view *view)
{
    const struct matrix *matrix = view->matrix;
    if (matrix)
        return view->type == (matrix->is_complex ? ESP_TYPE_DOUBLE_COMPLEX : ESP_TYPE_DOUBLE) && !matrix->wide
                   ? matrix->values
                   : NULL;
    char kind = put_view_kind(view->type);
    return kind ? matrix_view_elements(view->view, kind, (unsigned)esp_type_size(view->type)) : NULL;
}

static enum esp_status refuse(const struct put_view *view, const struct matrix *part, uint64_t i,
                              uint64_t number, struct esp_error *error)
{
    char value[64];
    if (part->is_complex)
        snprintf(value, sizeof value, "%g%+gi", part->values[2 * i], part->values[2 * i + 1]);
    else
        snprintf(value, sizeof value, "%g", part->values[i]);
    return error_set(error, ESP_INVALID, "element (%lld, %lld), %s, does not fit type %s",
                     (long long)(number % (uint64_t)view->rows + 1),
                     (long long)(number / (uint64_t)view->rows + 1), value, esp_type_name(view->type));
}

static enum esp_status store(const struct put_view *view, const struct matrix *part, uint64_t first, void *to,
                             struct esp_error *error)
{
    for (size_t i = 0; i < (size_t)part->rows; i++)
        if (!value_store_element(view->type, to, i, part, i))
            return refuse(view, part, i, first + i, error);
    return ESP_OK;
}

/* As a matrix of one column, in the same memory. */
static struct matrix part_of(const struct matrix *matrix, uint64_t first, uint64_t n)
{
    return (struct matrix){.rows = (int64_t)n,
                           .cols = 1,
                           .is_complex = matrix->is_complex,
                           .values = matrix->values + (matrix->is_complex ? 2 : 1) * first,
                           .wide = matrix->wide ? matrix->wide + first : NULL};
}

/* Elements [first, first + n). */
static enum esp_status convert(const struct put_view *view, uint64_t first, uint64_t n, void *to,
                               struct esp_error *error)
{
    struct matrix part;
    char kind = put_view_kind(view->type);
    if (view->matrix) {
        part = part_of(view->matrix, first, n);
        return store(view, &part, first, to, error);
    }
    bool is_wide = view->type == ESP_TYPE_LONG || view->type == ESP_TYPE_INT64;
    if (kind && matrix_view_copy(view->view, kind, (unsigned)esp_type_size(view->type), first, n, to))
        return ESP_OK;
    enum esp_status status = matrix_view_load(view->view, first, n, &part, error);
    if (status != ESP_OK)
        return status;
    if (view->integers && !is_wide)
        status = matrix_check_doubles(&part, error);
    if (status == ESP_OK)
        status = store(view, &part, first, to, error);
    matrix_clear(&part);
    return status;
}

/* Parts may begin and end within an element. */
static enum esp_status fill(void *arg, uint64_t offset, uint64_t bytes, void *to, struct esp_error *error)
{
    const struct put_view *view = arg;
    uint64_t size = esp_type_size(view->type), first = offset / size,
             end = (offset + bytes + size - 1) / size;
    if (offset % size == 0 && bytes % size == 0)
        return convert(view, first, end - first, to, error);
    char *whole = malloc((end - first) * size);
    if (!whole)
        return error_no_memory(error, "a piece of a datum");
    enum esp_status status = convert(view, first, end - first, whole, error);
    if (status == ESP_OK)
        memcpy(to, whole + (offset - first * size), bytes);
    free(whole);
    return status;
}

struct esp_data_source put_view_source(struct put_view *view)
{
    return (struct esp_data_source){fill, view};
}
