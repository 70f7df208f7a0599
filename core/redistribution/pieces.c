/* SPDX-License-Identifier: Apache-2.0 */
#include "core/redistribution/pieces.h"

#include <string.h>

struct block_cyclic_matrix pieces_whole(int64_t rows, int64_t cols)
{
    return pieces_grid(rows, cols, 1, 1, rows > 0 ? rows : 1, cols > 0 ? cols : 1);
}

struct block_cyclic_matrix pieces_grid(int64_t n_rows, int64_t n_cols, int64_t rows, int64_t cols,
                                       int64_t row_block, int64_t col_block)
{
    return (struct block_cyclic_matrix){.rows = {n_rows, row_block, rows, 0},
                                        .cols = {n_cols, col_block, cols, 0}};
}

/* With one rank, the block size does not matter. */
static bool lines_are_alike(const struct block_cyclic *a, const struct block_cyclic *b)
{
    return a->n == b->n && a->ranks == b->ranks &&
           (a->ranks == 1 || (a->block == b->block && a->source == b->source));
}

bool pieces_are_alike(const struct block_cyclic_matrix *a, const struct block_cyclic_matrix *b)
{
    bool is_line = a->rows.ranks == 1 || a->cols.ranks == 1;
    return lines_are_alike(&a->rows, &b->rows) && lines_are_alike(&a->cols, &b->cols) &&
           (is_line || a->by_columns == b->by_columns);
}

uint64_t pieces_count(const struct block_cyclic_matrix *matrix, int64_t rank)
{
    int64_t rows, cols;
    block_cyclic_matrix_shape(matrix, rank, &rows, &cols);
    return (uint64_t)rows * (uint64_t)cols;
}

uint64_t pieces_before(const struct block_cyclic_matrix *matrix, int64_t rank)
{
    const struct block_cyclic *outer = matrix->by_columns ? &matrix->cols : &matrix->rows;
    const struct block_cyclic *inner = matrix->by_columns ? &matrix->rows : &matrix->cols;
    const int64_t line = rank / inner->ranks;
    uint64_t before = (uint64_t)block_cyclic_before(outer, line) * (uint64_t)inner->n;
    if (line < outer->ranks)
        before += (uint64_t)block_cyclic_count(outer, line) *
                  (uint64_t)block_cyclic_before(inner, rank % inner->ranks);
    return before;
}

/* Cache of the beginning and column length of some parts, because neighbouring elements lie in few parts. */
#define PARTS_SEEN 8

struct part_seen {
    int64_t row, col; /* of the grid; -1: none yet */
    uint64_t begin;
    int64_t leading;
};

struct source {
    const struct block_cyclic_matrix *layout;
    const char *pieces;
    size_t bytes;
    struct part_seen seen[PARTS_SEEN];
};

static struct source source_of(const struct block_cyclic_matrix *layout, const void *pieces, size_t bytes)
{
    struct source source = {.layout = layout, .pieces = pieces, .bytes = bytes};
    for (int i = 0; i < PARTS_SEEN; i++)
        source.seen[i].row = -1;
    return source;
}

static const char *element_at(struct source *from, int64_t i, int64_t j)
{
    const struct block_cyclic_matrix *layout = from->layout;
    int64_t row = block_cyclic_owner(&layout->rows, i), col = block_cyclic_owner(&layout->cols, j);
    struct part_seen *part = &from->seen[row % PARTS_SEEN];
    if (part->row != row || part->col != col)
        *part = (struct part_seen){.row = row,
                                   .col = col,
                                   .begin = pieces_before(layout, block_cyclic_matrix_rank(layout, row, col)),
                                   .leading = block_cyclic_count(&layout->rows, row)};
    uint64_t at = part->begin + (uint64_t)(block_cyclic_local(&layout->cols, j) * part->leading +
                                           block_cyclic_local(&layout->rows, i));
    return from->pieces + at * from->bytes;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns the number of elements from i on that are adjacent on one rank. */
static int64_t run_of(const struct block_cyclic *line, int64_t i)
{
    return least(line->ranks == 1 ? line->n - i : line->block - i % line->block, line->n - i);
}

/* Copies all of the part's rows of one column, run by run. */
static void take_column(struct source *from, const struct block_cyclic *rows, int64_t row, int64_t j,
                        char *part)
{
    int64_t n = block_cyclic_count(rows, row), run;
    for (int64_t l = 0; l < n; l += run) {
        int64_t i = block_cyclic_global(rows, row, l);
        run = least(least(run_of(&from->layout->rows, i), run_of(rows, i)), n - l);
        memcpy(part + (size_t)l * from->bytes, element_at(from, i, j), (size_t)run * from->bytes);
    }
}

void pieces_take(const struct block_cyclic_matrix *from, const void *pieces,
                 const struct block_cyclic_matrix *to, int64_t row, int64_t col, void *part, int64_t leading,
                 size_t element_bytes)
{
    int64_t n = block_cyclic_count(&to->cols, col);
    struct source source = source_of(from, pieces, element_bytes);
    if (pieces_are_alike(from, to) && leading == block_cyclic_count(&to->rows, row)) {
        int64_t rank = block_cyclic_matrix_rank(to, row, col);
        memcpy(part, (const char *)pieces + pieces_before(to, rank) * element_bytes,
               pieces_count(to, rank) * element_bytes);
        return;
    }
    for (int64_t j = 0; j < n; j++)
        take_column(&source, &to->rows, row, block_cyclic_global(&to->cols, col, j),
                    (char *)part + (size_t)(j * leading) * element_bytes);
}

/* Copies adjacent elements together, others one by one. Returns the end of the copied elements. */
static char *gather_column(struct source *from, struct pieces_range rows, int64_t j, char *to)
{
    int64_t run = 1;
    for (int64_t l = 0; l < rows.count; l += run) {
        const int64_t i = rows.start + l * rows.skip;
        if (rows.skip == 1)
            run = least(run_of(&from->layout->rows, i), rows.count - l);
        memcpy(to, element_at(from, i, j), (size_t)run * from->bytes);
        to += (size_t)run * from->bytes;
    }
    return to;
}

void pieces_gather(const struct block_cyclic_matrix *from, const void *pieces, struct pieces_range rows,
                   struct pieces_range cols, void *elements, size_t element_bytes)
{
    struct source source = source_of(from, pieces, element_bytes);
    char *to = elements;
    for (int64_t k = 0; k < cols.count; k++)
        to = gather_column(&source, rows, cols.start + k * cols.skip, to);
}

void pieces_join(const struct block_cyclic_matrix *from, const void *pieces, void *whole,
                 size_t element_bytes)
{
    for (int64_t rank = 0; rank < block_cyclic_matrix_ranks(from); rank++) {
        int64_t row, col;
        block_cyclic_matrix_place(from, rank, &row, &col);
        block_cyclic_scatter(from, row, col, pieces, block_cyclic_count(&from->rows, row), whole,
                             element_bytes);
        pieces = (const char *)pieces + pieces_count(from, rank) * element_bytes;
    }
}

void pieces_cut(const struct block_cyclic_matrix *to, const void *whole, void *pieces, size_t element_bytes)
{
    for (int64_t rank = 0; rank < block_cyclic_matrix_ranks(to); rank++) {
        int64_t row, col;
        block_cyclic_matrix_place(to, rank, &row, &col);
        block_cyclic_gather(to, row, col, whole, pieces, block_cyclic_count(&to->rows, row), element_bytes);
        pieces = (char *)pieces + pieces_count(to, rank) * element_bytes;
    }
}
