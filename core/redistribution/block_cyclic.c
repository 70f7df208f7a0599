/* SPDX-License-Identifier: Apache-2.0 */
#include "core/redistribution/block_cyclic.h"
#include "config.h"

#include <inttypes.h>
#include <string.h>

/* Checks one dimension. ESP_INVALID names it (`what`: "rows of A") and the wrong number. */
static enum esp_status block_cyclic_check(const struct block_cyclic *layout, const char *what,
                                          struct esp_error *error)
{
    if (layout->n < 0)
        return error_set(error, ESP_INVALID, "%s: expected 0 or more elements, found %" PRId64, what,
                         layout->n);
    if (layout->block < 1)
        return error_set(error, ESP_INVALID, "%s: expected a block size of 1 or more, found %" PRId64, what,
                         layout->block);
    if (layout->ranks < 1 || layout->ranks > BLOCK_CYCLIC_MOST_RANKS)
        return error_set(error, ESP_INVALID, "%s: expected 1 to %d ranks, found %" PRId64, what,
                         BLOCK_CYCLIC_MOST_RANKS, layout->ranks);
    if (layout->block > BLOCK_CYCLIC_MOST_ROUND / layout->ranks)
        return error_set(error, ESP_INVALID,
                         "%s: expected a block size of at most %" PRId64 " on %" PRId64
                         " ranks (one of %" PRId64 " holds all), found %" PRId64,
                         what, BLOCK_CYCLIC_MOST_ROUND / layout->ranks, layout->ranks,
                         layout->n > 0 ? layout->n : 1, layout->block);
    if (layout->source < 0 || layout->source >= layout->ranks)
        return error_set(error, ESP_INVALID,
                         "%s: expected the first block with a rank from 0 to %" PRId64 ", found %" PRId64,
                         what, layout->ranks - 1, layout->source);
    return ESP_OK;
}

int64_t block_cyclic_position(const struct block_cyclic *layout, int64_t rank)
{
    return rank >= layout->source ? rank - layout->source : rank + (layout->ranks - layout->source);
}

int64_t block_cyclic_rank_at(const struct block_cyclic *layout, int64_t position)
{
    return (position + layout->source) % layout->ranks;
}

int64_t block_cyclic_count(const struct block_cyclic *layout, int64_t rank)
{
    int64_t whole = layout->n / layout->block, position = block_cyclic_position(layout, rank);
    int64_t rounds = whole / layout->ranks, over = whole % layout->ranks;
    int64_t count = rounds * layout->block;
    if (position < over)
        count += layout->block;
    else if (position == over)
        count += layout->n % layout->block;
    return count;
}

/* Counts the elements of the first `positions` positions: ranks in the order in which they have the
 * blocks. */
static int64_t count_of_positions(const struct block_cyclic *layout, int64_t positions)
{
    const int64_t whole = layout->n / layout->block, rounds = whole / layout->ranks;
    const int64_t last_round = layout->n - rounds * layout->ranks * layout->block;
    const int64_t in_last = positions * layout->block < last_round ? positions * layout->block : last_round;
    return rounds * positions * layout->block + in_last;
}

int64_t block_cyclic_before(const struct block_cyclic *layout, int64_t rank)
{
    if (rank == layout->ranks)
        return layout->n;
    /* Rank 0 has position `first`; the next ranks have the next positions, up to the rank at position 0. */
    const int64_t first = block_cyclic_position(layout, 0), end = first + rank;
    if (end <= layout->ranks)
        return count_of_positions(layout, end) - count_of_positions(layout, first);
    return layout->n - count_of_positions(layout, first) + count_of_positions(layout, end - layout->ranks);
}

int64_t block_cyclic_owner(const struct block_cyclic *layout, int64_t i)
{
    return block_cyclic_rank_at(layout, i / layout->block % layout->ranks);
}

int64_t block_cyclic_local(const struct block_cyclic *layout, int64_t i)
{
    return i / layout->block / layout->ranks * layout->block + i % layout->block;
}

int64_t block_cyclic_global(const struct block_cyclic *layout, int64_t rank, int64_t local)
{
    int64_t block = local / layout->block * layout->ranks + block_cyclic_position(layout, rank);
    return block * layout->block + local % layout->block;
}

struct block_cyclic_matrix block_cyclic_vector(struct block_cyclic layout)
{
    return (struct block_cyclic_matrix){.rows = layout, .cols = {.n = 1, .block = 1, .ranks = 1}};
}

enum esp_status block_cyclic_matrix_check(const struct block_cyclic_matrix *matrix, const char *what,
                                          struct esp_error *error)
{
    int64_t elements;
    enum esp_status status = block_cyclic_check(&matrix->rows, "rows", error);
    if (status == ESP_OK)
        status = block_cyclic_check(&matrix->cols, "columns", error);
    if (status != ESP_OK)
        return error_prefix(error, "%s", what);
    if (matrix->rows.ranks * matrix->cols.ranks > BLOCK_CYCLIC_MOST_RANKS)
        return error_set(error, ESP_INVALID,
                         "%s: expected a grid of at most %d ranks, found %" PRId64 " x %" PRId64, what,
                         BLOCK_CYCLIC_MOST_RANKS, matrix->rows.ranks, matrix->cols.ranks);
    if (__builtin_mul_overflow(matrix->rows.n, matrix->cols.n, &elements))
        return error_set(error, ESP_LIMIT,
                         "%s: expected fewer than 2^63 elements, found %" PRId64 " x %" PRId64, what,
                         matrix->rows.n, matrix->cols.n);
    return ESP_OK;
}

int64_t block_cyclic_matrix_ranks(const struct block_cyclic_matrix *matrix)
{
    return matrix->rows.ranks * matrix->cols.ranks;
}

int64_t block_cyclic_matrix_rank(const struct block_cyclic_matrix *matrix, int64_t row, int64_t col)
{
    return matrix->by_columns ? col * matrix->rows.ranks + row : row * matrix->cols.ranks + col;
}

void block_cyclic_matrix_place(const struct block_cyclic_matrix *matrix, int64_t rank, int64_t *row,
                               int64_t *col)
{
    *row = matrix->by_columns ? rank % matrix->rows.ranks : rank / matrix->cols.ranks;
    *col = matrix->by_columns ? rank / matrix->rows.ranks : rank % matrix->cols.ranks;
}

void block_cyclic_matrix_shape(const struct block_cyclic_matrix *matrix, int64_t rank, int64_t *rows,
                               int64_t *cols)
{
    int64_t row, col;
    block_cyclic_matrix_place(matrix, rank, &row, &col);
    *rows = block_cyclic_count(&matrix->rows, row);
    *cols = block_cyclic_count(&matrix->cols, col);
}

int64_t block_cyclic_matrix_owner(const struct block_cyclic_matrix *matrix, int64_t i, int64_t j)
{
    return block_cyclic_matrix_rank(matrix, block_cyclic_owner(&matrix->rows, i),
                                    block_cyclic_owner(&matrix->cols, j));
}

int64_t block_cyclic_matrix_local(const struct block_cyclic_matrix *matrix, int64_t i, int64_t j)
{
    int64_t height = block_cyclic_count(&matrix->rows, block_cyclic_owner(&matrix->rows, i));
    return block_cyclic_local(&matrix->cols, j) * height + block_cyclic_local(&matrix->rows, i);
}

/* Copies one column: its blocks are adjacent in the part, and `ranks` blocks apart in the whole. Counts by
 * the part's side, because the position after its last block in the whole may overflow. */
static void copy_column(const struct block_cyclic *rows, int64_t rank, char *whole, char *part, bool gather,
                        size_t bytes)
{
    int64_t count = block_cyclic_count(rows, rank);
    for (int64_t l = 0, n; l < count; l += n) {
        int64_t i = block_cyclic_global(rows, rank, l);
        n = count - l < rows->block ? count - l : rows->block;
        memcpy(gather ? part : whole + (size_t)i * bytes, gather ? whole + (size_t)i * bytes : part,
               (size_t)n * bytes);
        part += (size_t)n * bytes;
    }
}

static void copy(const struct block_cyclic_matrix *matrix, int64_t row, int64_t col, char *whole, char *part,
                 int64_t leading, bool gather, size_t bytes)
{
    int64_t n = block_cyclic_count(&matrix->cols, col);
    for (int64_t j = 0; j < n; j++)
        copy_column(&matrix->rows, row,
                    whole + (size_t)(block_cyclic_global(&matrix->cols, col, j) * matrix->rows.n) * bytes,
                    part + (size_t)(j * leading) * bytes, gather, bytes);
}

void block_cyclic_gather(const struct block_cyclic_matrix *matrix, int64_t row, int64_t col,
                         const void *whole, void *part, int64_t leading, size_t element_bytes)
{
    copy(matrix, row, col, (char *)(uintptr_t)whole, part, leading, true, element_bytes);
}

void block_cyclic_scatter(const struct block_cyclic_matrix *matrix, int64_t row, int64_t col,
                          const void *part, int64_t leading, void *whole, size_t element_bytes)
{
    copy(matrix, row, col, whole, (char *)(uintptr_t)part, leading, false, element_bytes);
}
