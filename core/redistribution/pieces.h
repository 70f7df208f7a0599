/* SPDX-License-Identifier: Apache-2.0
 *
 * A matrix in pieces: the parts of all ranks of a block-cyclic layout, one behind the other in one piece of
 * memory, rank 0's first, each stored by columns without gaps. As many bytes as the matrix itself. Ranks of
 * one host take their parts of it from there, whatever layout they need.
 *
 * Layouts are those that block_cyclic_matrix_check() accepts. Pure; any thread.
 */
#ifndef CORE_PIECES_H
#define CORE_PIECES_H

#include "core/redistribution/block_cyclic.h"

/* The layout of a matrix that is one piece. */
struct block_cyclic_matrix pieces_whole(int64_t rows, int64_t cols);
/* Square blocks over rows x cols ranks, numbered row by row, beginning at the first. */
struct block_cyclic_matrix pieces_grid(int64_t n_rows, int64_t n_cols, int64_t rows, int64_t cols,
                                       int64_t row_block, int64_t col_block);
/* Whether every element lies at the same place. */
bool pieces_are_alike(const struct block_cyclic_matrix *a, const struct block_cyclic_matrix *b);
/* Elements in front of the rank's part (a rank behind the last one: all), and of it. O(1). */
uint64_t pieces_before(const struct block_cyclic_matrix *matrix, int64_t rank);
uint64_t pieces_count(const struct block_cyclic_matrix *matrix, int64_t rank);

/* Fills the part of the rank at (row, col) of layout `to`, whose columns are `leading` elements apart, from
 * the same matrix in pieces of layout `from`. */
void pieces_take(const struct block_cyclic_matrix *from, const void *pieces,
                 const struct block_cyclic_matrix *to, int64_t row, int64_t col, void *part, int64_t leading,
                 size_t element_bytes);
/* The whole matrix, by columns, out of its pieces, and back. */
void pieces_join(const struct block_cyclic_matrix *from, const void *pieces, void *whole,
                 size_t element_bytes);
void pieces_cut(const struct block_cyclic_matrix *to, const void *whole, void *pieces, size_t element_bytes);

/* Of rows or columns: `count` of them, each skip-th from `start` on. */
struct pieces_range {
    int64_t start, skip, count;
};
/* Those elements, column behind column without gaps. */
void pieces_gather(const struct block_cyclic_matrix *from, const void *pieces, struct pieces_range rows,
                   struct pieces_range cols, void *elements, size_t element_bytes);

#endif
