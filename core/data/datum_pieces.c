/* SPDX-License-Identifier: Apache-2.0 */
#include "core/data/datum_pieces.h"

#include <inttypes.h>

bool datum_shape_layout(const struct datum_shape *shape, struct block_cyclic_matrix *layout)
{
    if (shape->storage != STORAGE_PIECES)
        return false;
    *layout = (struct block_cyclic_matrix){
        .rows = {.n = shape->dims[0], .block = shape->layout[1], .ranks = (int64_t)(shape->layout[0] >> 32)},
        .cols = {.n = shape->n_dims > 1 ? shape->dims[1] : 1,
                 .block = shape->layout[2],
                 .ranks = (int64_t)((uint64_t)shape->layout[0] & UINT32_MAX)}};
    return true;
}

enum esp_status datum_pieces_check(const struct datum_shape *shape, struct esp_error *error)
{
    struct block_cyclic_matrix layout;
    if (shape->n_dims < 1 || shape->n_dims > 2 || shape->row_major || base_type_is_variable(shape->type))
        return error_set(
            error, ESP_INVALID,
            "expected a vector, or a matrix by columns, for a datum in pieces, found one of %" PRIu32
            " dimensions%s",
            shape->n_dims, shape->row_major ? " by rows" : "");
    datum_shape_layout(shape, &layout);
    enum esp_status status = block_cyclic_matrix_check(&layout, "a datum in pieces", error);
    if (status == ESP_OK && block_cyclic_matrix_ranks(&layout) > DATUM_MOST_PIECES)
        status = error_set(error, ESP_INVALID, "expected a datum of at most %d pieces, found %" PRId64,
                           DATUM_MOST_PIECES, block_cyclic_matrix_ranks(&layout));
    return status;
}

enum esp_status datum_shape_spread(struct datum_shape *shape, const struct block_cyclic_matrix *layout,
                                   struct esp_error *error)
{
    struct datum_shape spread = *shape;
    if (shape->storage != STORAGE_FULL)
        return error_set(error, ESP_INVALID,
                         "expected a matrix stored in full to be laid out in pieces, found "
                         "a %s one",
                         storage_name(shape->storage));
    if (layout->rows.source != 0 || layout->cols.source != 0 || layout->by_columns)
        return error_set(error, ESP_INVALID,
                         "expected pieces of ranks that are numbered row by row from the first block");
    if (layout->rows.ranks < 1 || layout->rows.ranks > DATUM_MOST_PIECES || layout->cols.ranks < 1 ||
        layout->cols.ranks > DATUM_MOST_PIECES)
        return error_set(error, ESP_INVALID,
                         "expected a grid of 1 x 1 to %d ranks for a datum in pieces, found %" PRId64
                         " x %" PRId64,
                         DATUM_MOST_PIECES, layout->rows.ranks, layout->cols.ranks);
    spread.storage = STORAGE_PIECES;
    spread.layout[0] = layout->rows.ranks << 32 | layout->cols.ranks;
    spread.layout[1] = layout->rows.block;
    spread.layout[2] = layout->cols.block;
    enum esp_status status = datum_pieces_check(&spread, error);
    if (status == ESP_OK &&
        (layout->rows.n != shape->dims[0] || layout->cols.n != (shape->n_dims > 1 ? shape->dims[1] : 1)))
        status = error_set(error, ESP_INVALID, "expected pieces of a matrix of the same extents");
    if (status == ESP_OK)
        *shape = spread;
    return status;
}

struct datum_shape datum_shape_joined(const struct datum_shape *shape)
{
    struct datum_shape joined = *shape;
    if (shape->storage == STORAGE_PIECES) {
        joined.storage = STORAGE_FULL;
        joined.layout[0] = joined.layout[1] = joined.layout[2] = 0;
    }
    return joined;
}
