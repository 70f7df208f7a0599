/* SPDX-License-Identifier: Apache-2.0
 *
 * Implementations that the ranks of a parallel server compute together: which part of each argument a rank
 * gets. Matrices are block-cyclic over the process grid, with square blocks that begin at its first rank;
 * everything else is there whole on every rank unless it goes with the rows or columns of a matrix.
 *
 *   implementation scalapack
 *       parallel fortran p?getrf_(m, n, A, 1, 1, desc(A), ipiv, out info) in libscalapack-openmpi.so.2.2
 *       spread  ipiv rows of A
 */
#ifndef CORE_PROBLEM_PARALLEL_H
#define CORE_PROBLEM_PARALLEL_H

#include "core/redistribution/block_cyclic.h"
#include "core/problem/problem.h"

enum spread_kind {
    SPREAD_NONE,   /* the call does not pass it */
    SPREAD_WHOLE,  /* every rank has all of it; what comes back is the first rank's */
    SPREAD_BLOCKS, /* a matrix over the grid */
    SPREAD_ROWS,   /* a vector whose elements lie where the rows of matrix `along` do, on all columns of ranks
                    */
    SPREAD_COLUMNS /* the same of columns, on all rows of ranks */
};

struct spread {
    enum spread_kind kind;
    uint32_t along; /* SPREAD_ROWS, SPREAD_COLUMNS: the matrix */
    bool into;      /* its result is in memory of its own (PARAMETER_INTO) */
};

/* A process grid: `rows` x `cols` ranks, numbered row by row, and the size of the blocks. */
struct process_grid {
    uint32_t rows, cols, block;
};

/* Whether the implementation can take this call: what it `suits`. `scope` has n_arguments values. */
bool implementation_suits(const struct problem *problem, const struct implementation *implementation,
                          const struct number *scope);

/* The layout of argument `index` in a call with these scalars: what `spreads` says of it, which is
 * SPREAD_BLOCKS, _ROWS or _COLUMNS (a vector is a matrix of one column, or of one row). ESP_INVALID. */
enum esp_status spread_layout(const struct problem *problem, const struct implementation *implementation,
                              uint32_t index, const struct number *scope, struct process_grid grid,
                              struct block_cyclic_matrix *layout, struct esp_error *error);

/* Bytes that the parts of all ranks of the grid take together, where none of them is used as it lies: each
 * matrix once (twice when its result is in memory of its own), a vector once for each rank that has a copy.
 * UINT64_MAX: more than can be counted. */
uint64_t spread_bytes(const struct problem *problem, const struct implementation *implementation,
                      const struct number *scope, struct process_grid grid);

/* The same grid with blocks of at most half of the largest extent of the call's matrices: one that is a
 * single block is none of ScaLAPACK's best tested cases (pdsyevd gives wrong vectors then). */
struct process_grid spread_cut_grid(const struct problem *problem,
                                    const struct implementation *implementation, const struct number *scope,
                                    struct process_grid grid);

#endif
