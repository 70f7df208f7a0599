/* SPDX-License-Identifier: Apache-2.0
 *
 * A matrix in pieces: the parts of all ranks of a block-cyclic layout, one after the other in one piece of
 * memory, rank 0's first, each stored by columns without gaps. Its size is that of the matrix. Ranks of
 * one host copy their parts from there, in any layout.
 *
 * Layouts must pass block_cyclic_matrix_check(). Pure; any thread. */
#ifndef CORE_PIECES_H
#define CORE_PIECES_H

#include "core/redistribution/block_cyclic.h"

/* Returns the layout of a matrix in one piece. */
struct block_cyclic_matrix pieces_whole(int64_t rows, int64_t cols);
/* Returns a layout with blocks of row_block x col_block over rows x cols ranks, numbered row by row,
 * starting at the first. */
struct block_cyclic_matrix pieces_grid(int64_t n_rows, int64_t n_cols, int64_t rows, int64_t cols,
                                       int64_t row_block, int64_t col_block);
/* Whether every element lies at the same position. */
bool pieces_are_alike(const struct block_cyclic_matrix *a, const struct block_cyclic_matrix *b);
/* Return the number of elements before the rank's part (for a rank after the last one: of all), and in it.
 * O(1). */
uint64_t pieces_before(const struct block_cyclic_matrix *matrix, int64_t rank);
uint64_t pieces_count(const struct block_cyclic_matrix *matrix, int64_t rank);

/* Fills the part of the rank at (row, col) of layout `to`, whose columns are `leading` elements apart, from
 * the same matrix in pieces of layout `from`. */
void pieces_take(const struct block_cyclic_matrix *from, const void *pieces,
                 const struct block_cyclic_matrix *to, int64_t row, int64_t col, void *part, int64_t leading,
                 size_t element_bytes);
/* pieces_join() copies the pieces into the whole matrix, by columns; pieces_split() does the reverse. */
void pieces_join(const struct block_cyclic_matrix *from, const void *pieces, void *whole,
                 size_t element_bytes);
void pieces_cut(const struct block_cyclic_matrix *to, const void *whole, void *pieces, size_t element_bytes);

/* A range of rows or columns: `count` of them, each skip-th from `start` on. */
struct pieces_range {
    int64_t start, skip, count;
};
/* Copies those elements, column after column without gaps. */
void pieces_gather(const struct block_cyclic_matrix *from, const void *pieces, struct pieces_range rows,
                   struct pieces_range cols, void *elements, size_t element_bytes);

#endif
