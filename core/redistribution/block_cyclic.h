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
/* Most elements of one block of each rank: below this, computing the next round does not overflow. */
#define BLOCK_CYCLIC_MOST_ROUND (INT64_C(1) << 62)

/* One dimension. */
struct block_cyclic {
    int64_t n;      /* elements, >= 0 */
    int64_t block;  /* elements of a block, >= 1; blocks need not divide n; block * ranks <= 2^62 */
    int64_t ranks;  /* >= 1 */
    int64_t source; /* the rank with the first block, 0 <= source < ranks */
};

/* Returns the number of elements of the rank (ScaLAPACK's numroc); their sum over all ranks is n. */
int64_t block_cyclic_count(const struct block_cyclic *layout, int64_t rank);
/* Returns the number of elements of all ranks below that one (for rank = ranks: n). O(1). */
int64_t block_cyclic_before(const struct block_cyclic *layout, int64_t rank);
/* Returns the rank that has element i, 0 <= i < n. */
int64_t block_cyclic_owner(const struct block_cyclic *layout, int64_t i);
/* Returns the local index of element i on its rank, 0 <= i < n. */
int64_t block_cyclic_local(const struct block_cyclic *layout, int64_t i);
/* Returns the global index of element `local` of the rank, 0 <= local < its count. */
int64_t block_cyclic_global(const struct block_cyclic *layout, int64_t rank, int64_t local);
/* block_cyclic_position() returns the rank's position counted from the source, block_cyclic_rank() the
 * rank at a position. */
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
/* Convert a place in the grid to the rank's number, and back. */
int64_t block_cyclic_matrix_rank(const struct block_cyclic_matrix *matrix, int64_t row, int64_t col);
void block_cyclic_matrix_place(const struct block_cyclic_matrix *matrix, int64_t rank, int64_t *row,
                               int64_t *col);
/* Computes rows and columns of the rank's part. */
void block_cyclic_matrix_shape(const struct block_cyclic_matrix *matrix, int64_t rank, int64_t *rows,
                               int64_t *cols);
/* Copy the part of the rank at (row, col) of the grid out of the whole matrix, which is stored by columns
 * without gaps, or back into it. The part's columns are `leading` elements apart, at least its rows. */
void block_cyclic_gather(const struct block_cyclic_matrix *matrix, int64_t row, int64_t col,
                         const void *whole, void *part, int64_t leading, size_t element_bytes);
void block_cyclic_scatter(const struct block_cyclic_matrix *matrix, int64_t row, int64_t col,
                          const void *part, int64_t leading, void *whole, size_t element_bytes);

/* Return the rank that has element (i, j), and its local index there (column by column, without gaps). */
int64_t block_cyclic_matrix_owner(const struct block_cyclic_matrix *matrix, int64_t i, int64_t j);
int64_t block_cyclic_matrix_local(const struct block_cyclic_matrix *matrix, int64_t i, int64_t j);

#endif
