/* SPDX-License-Identifier: Apache-2.0
 *
 * Block-cyclic layouts, CYCLIC(block) over `ranks` ranks, as ScaLAPACK lays vectors and matrices out: block b
 * of consecutive elements lies with rank (source + b) mod ranks, and every rank keeps its blocks one after
 * the other. Indices and ranks start at 0. Pure arithmetic on 64-bit numbers that cannot overflow for a
 * layout that block_cyclic_check() accepts, also when it comes from a peer or a file; any thread.
 *
 * Source: "Scheduling Block-Cyclic Array Redistribution", equations E.1 and E.2.
 */
#ifndef CORE_BLOCK_CYCLIC_H
#define CORE_BLOCK_CYCLIC_H

#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ranks of one dimension, and of a grid. */
#define BLOCK_CYCLIC_MOST_RANKS (1 << 20)
/* Elements of one block of each rank: wherever an element lies below this, the next round does not overflow.
 */
#define BLOCK_CYCLIC_MOST_ROUND (INT64_C(1) << 62)

/* One dimension. */
struct block_cyclic {
    int64_t n;      /* elements, >= 0 */
    int64_t block;  /* elements of a block, >= 1; blocks need not divide n; block * ranks <= 2^62 */
    int64_t ranks;  /* >= 1 */
    int64_t source; /* who has the first block, 0 <= source < ranks */
};

/* Elements that lie with the rank (ScaLAPACK's numroc); their sum over all ranks is n. */
int64_t block_cyclic_count(const struct block_cyclic *layout, int64_t rank);
/* Elements that lie with the ranks before that one (n: with all, for rank = ranks). O(1). */
int64_t block_cyclic_before(const struct block_cyclic *layout, int64_t rank);
/* Who has element i, 0 <= i < n. */
int64_t block_cyclic_owner(const struct block_cyclic *layout, int64_t i);
/* Where element i lies with its owner, 0 <= i < n. */
int64_t block_cyclic_local(const struct block_cyclic *layout, int64_t i);
/* Which element lies at `local` with the rank, 0 <= local < its count. */
int64_t block_cyclic_global(const struct block_cyclic *layout, int64_t rank, int64_t local);
/* Where a rank stands counted from the source, and who stands there. */
int64_t block_cyclic_position(const struct block_cyclic *layout, int64_t rank);
int64_t block_cyclic_rank_at(const struct block_cyclic *layout, int64_t position);

/* A matrix over a grid of rows.ranks x cols.ranks ranks, numbered row by row (the BLACS' order 'R') or column
 * by column. Local parts are stored by columns. */
struct block_cyclic_matrix {
    struct block_cyclic rows, cols;
    bool by_columns;
};

/* A vector as a matrix of one column over a grid of one column. */
struct block_cyclic_matrix block_cyclic_vector(struct block_cyclic layout);

/* Both dimensions, ranks of the grid at most BLOCK_CYCLIC_MOST_RANKS, and elements countable in 64 bits. */
enum esp_status block_cyclic_matrix_check(const struct block_cyclic_matrix *matrix, const char *what,
                                          struct esp_error *error);
int64_t block_cyclic_matrix_ranks(const struct block_cyclic_matrix *matrix);
/* The number of the rank at a place of the grid, and back. */
int64_t block_cyclic_matrix_rank(const struct block_cyclic_matrix *matrix, int64_t row, int64_t col);
void block_cyclic_matrix_place(const struct block_cyclic_matrix *matrix, int64_t rank, int64_t *row,
                               int64_t *col);
/* Rows and columns of the part that lies with the rank. */
void block_cyclic_matrix_shape(const struct block_cyclic_matrix *matrix, int64_t rank, int64_t *rows,
                               int64_t *cols);
/* Copies the part of the rank at (row, col) of the grid out of the whole matrix, which is stored by columns
 * without gaps, or back into it. The part's columns are `leading` elements apart, at least its rows. */
void block_cyclic_gather(const struct block_cyclic_matrix *matrix, int64_t row, int64_t col,
                         const void *whole, void *part, int64_t leading, size_t element_bytes);
void block_cyclic_scatter(const struct block_cyclic_matrix *matrix, int64_t row, int64_t col,
                          const void *part, int64_t leading, void *whole, size_t element_bytes);

/* Who has element (i, j), and where it lies there (column by column, without gaps). */
int64_t block_cyclic_matrix_owner(const struct block_cyclic_matrix *matrix, int64_t i, int64_t j);
int64_t block_cyclic_matrix_local(const struct block_cyclic_matrix *matrix, int64_t i, int64_t j);

#endif
