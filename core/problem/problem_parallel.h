/* SPDX-License-Identifier: Apache-2.0
 *
 * Implementations that the ranks of a parallel server compute together: which part of each argument a rank
 * gets. Matrices are block-cyclic over the process grid, with square blocks, starting at its first rank.
 * Every other argument is copied to every rank, unless it is spread along the rows or columns of a matrix.
 *
 *   implementation scalapack
 *       parallel fortran p?getrf_(m, n, A, 1, 1, desc(A), ipiv, out info) in libscalapack-openmpi.so.2.2
 *       spread  ipiv rows of A */
#ifndef CORE_PROBLEM_PARALLEL_H
#define CORE_PROBLEM_PARALLEL_H

#include "core/redistribution/block_cyclic.h"
#include "core/problem/problem.h"

enum spread_kind {
    SPREAD_NONE,   /* the call does not pass it */
    SPREAD_WHOLE,  /* every rank has all of it; the first rank's copy is the result */
    SPREAD_BLOCKS, /* a matrix, distributed over the grid */
    SPREAD_ROWS,   /* a vector distributed like the rows of matrix `along`, copied to all columns of ranks */
    SPREAD_COLUMNS /* a vector distributed like the columns of matrix `along`, copied to all rows of ranks */
};

struct spread {
    enum spread_kind kind;
    uint32_t along; /* SPREAD_ROWS, SPREAD_COLUMNS: the matrix */
    bool into;      /* its result is in separate memory (PARAMETER_INTO) */
};

/* A process grid: `rows` x `cols` ranks, numbered row by row, and the block size. */
struct process_grid {
    uint32_t rows, cols, block;
};

/* Whether the implementation can compute this call (its clause `suits`). `scope` has n_arguments values. */
bool implementation_suits(const struct problem *problem, const struct implementation *implementation,
                          const struct number *scope);

/* Computes the layout of argument `index` in a call with these scalars; its entry in `spreads` is
 * SPREAD_BLOCKS, _ROWS or _COLUMNS (a vector is a matrix of one column, or of one row). ESP_INVALID. */
enum esp_status spread_layout(const struct problem *problem, const struct implementation *implementation,
                              uint32_t index, const struct number *scope, struct process_grid grid,
                              struct block_cyclic_matrix *layout, struct esp_error *error);

/* Computes the bytes of all ranks' parts together, if none of them can be used in place: each matrix once
 * (twice if its result is in separate memory), a vector once for each rank with a copy. UINT64_MAX:
 * overflow. */
uint64_t spread_bytes(const struct problem *problem, const struct implementation *implementation,
                      const struct number *scope, struct process_grid grid);

/* Limits the grid's block size to half of the largest extent of the call's matrices, because ScaLAPACK is
 * little tested with a single block (pdsyevd then returns wrong vectors). */
struct process_grid spread_cut_grid(const struct problem *problem,
                                    const struct implementation *implementation, const struct number *scope,
                                    struct process_grid grid);

#endif
