/* SPDX-License-Identifier: Apache-2.0 */
#include "core/data/datum.h"

#include <string.h>

enum esp_status datum_shape_of_argument(const struct problem *problem, uint32_t index,
                                        const struct number *scope, const struct shape *shape,
                                        struct datum_shape *datum, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[index];
    struct layout layout;
    *datum = (struct datum_shape){.type = argument->type,
                                  .n_dims = shape->n_dims,
                                  .row_major = (argument->properties & PROPERTY_ROW_MAJOR) != 0,
                                  .bytes = shape->whole_bytes > 0 ? shape->whole_bytes : shape->bytes};
    memcpy(datum->dims, shape->dims, shape->n_dims * sizeof *datum->dims);
    if (argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR) {
        datum->n_dims = 1;
        datum->dims[0] = (int64_t)shape->count;
    }
    if (argument->storage != STORAGE_PACKED && argument->storage != STORAGE_BANDED)
        return ESP_OK;
    enum esp_status status = problem_layout(problem, index, scope, shape->dims, &layout, error);
    if (status != ESP_OK)
        return status;
    datum->storage = argument->storage;
    if (argument->storage == STORAGE_PACKED) {
        datum->layout[0] = layout.upper ? 'U' : 'L';
    } else {
        datum->layout[0] = layout.below;
        datum->layout[1] = layout.above;
        datum->layout[2] = layout.front;
    }
    return ESP_OK;
}
