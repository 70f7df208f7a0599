/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "flow/outputs.h"

static bool is_complex(enum base_type type)
{
    return type == TYPE_COMPLEX || type == TYPE_DOUBLE_COMPLEX;
}

bool output_is_integer(const struct execution_output *output)
{
    enum base_type type = output->array.type;
    return type != TYPE_FLOAT && type != TYPE_DOUBLE && !is_complex(type);
}

static enum esp_status put(const struct execution_output *output, uint64_t from, struct matrix *matrix,
                           size_t to, struct esp_error *error)
{
    const void *memory = output->memory;
    switch (output->array.type) {
    case TYPE_FLOAT:
        matrix->values[to] = ((const float *)memory)[from];
        return ESP_OK;
    case TYPE_DOUBLE:
        matrix->values[to] = ((const double *)memory)[from];
        return ESP_OK;
    case TYPE_COMPLEX:
        matrix->values[2 * to] = ((const float *)memory)[2 * from];
        matrix->values[2 * to + 1] = ((const float *)memory)[2 * from + 1];
        return ESP_OK;
    case TYPE_DOUBLE_COMPLEX:
        matrix->values[2 * to] = ((const double *)memory)[2 * from];
        matrix->values[2 * to + 1] = ((const double *)memory)[2 * from + 1];
        return ESP_OK;
    default: {
        size_t size = base_type_size(output->array.type);
        struct number number = number_load(output->array.type, (const char *)memory + from * size);
        return matrix_set_integer(matrix, to, number.integer, error);
    }
    }
}

enum esp_status output_matrix(const struct execution_output *output, struct matrix *matrix,
                              struct esp_error *error)
{
    const struct flow_array *array = &output->array;
    const struct shape *shape = &array->shape;
    bool is_full = array->storage == STORAGE_FULL && shape->n_dims > 1;
    int64_t rows = is_full ? shape->dims[0] : (int64_t)shape->count;
    int64_t cols = is_full && rows ? (int64_t)shape->count / rows : is_full ? shape->dims[1] : 1;
    enum esp_status status = matrix_init(matrix, rows, cols, is_complex(array->type), UINT64_MAX, error);
    for (uint64_t i = 0; i < shape->count && status == ESP_OK; i++) {
        size_t to = (size_t)i;
        if (is_full && array->row_major)
            to = (size_t)(i % (uint64_t)cols * (uint64_t)rows + i / (uint64_t)cols);
        status = put(output, i, matrix, to, error);
    }
    if (status != ESP_OK)
        matrix_clear(matrix);
    return status;
}
