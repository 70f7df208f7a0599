/* SPDX-License-Identifier: Apache-2.0
 *
 * LU, QR, least squares and products of matrices on ranks of different speed. Matrices come and leave as
 * ScaLAPACK lays them out; the routines compute on column blocks of any owner (solvers/columns.h),
 * right-looking, with one broadcast a step and a look-ahead of one block.
 *
 * Arguments are those of p?getrf, p?gesv, p?geqrf, p?gels and p?gemm in Fortran's convention, with a
 * communicator of all ranks of the grid first, and without sub-matrices: a descriptor stands for a whole
 * matrix whose first block is on rank 0. Blocks are square and equally large in all descriptors. All ranks
 * get the same info: as LAPACK's, or UNEQUAL_NO_MEMORY, and then the matrices may have been overwritten.
 */
#ifndef SOLVERS_UNEQUAL_H
#define SOLVERS_UNEQUAL_H

#include "solvers/columns.h"
#include "solvers/solvers.h"

#define UNEQUAL_NO_MEMORY (-1000)

#define UNEQUAL_ROUTINES(letter, SCALAR)                                                                     \
    SOLVER void esp_p##letter##getrf_unequal_(const int *comm, const int *m, const int *n, SCALAR *a,        \
                                              const int *desca, int *ipiv, int *info);                       \
    SOLVER void esp_p##letter##gesv_unequal_(const int *comm, const int *n, const int *nrhs, SCALAR *a,      \
                                             const int *desca, int *ipiv, SCALAR *b, const int *descb,       \
                                             int *info);                                                     \
    SOLVER void esp_p##letter##geqrf_unequal_(const int *comm, const int *m, const int *n, SCALAR *a,        \
                                              const int *desca, SCALAR *tau, int *info);                     \
    /* m >= n */                                                                                             \
    SOLVER void esp_p##letter##gels_unequal_(const int *comm, const int *m, const int *n, const int *nrhs,   \
                                             SCALAR *a, const int *desca, SCALAR *b, const int *descb,       \
                                             int *info);                                                     \
    SOLVER void esp_p##letter##gemm_unequal_(const int *comm, const int *m, const int *n, const int *k,      \
                                             const SCALAR *alpha, const SCALAR *a, const int *desca,         \
                                             const SCALAR *b, const int *descb, const SCALAR *beta,          \
                                             SCALAR *c, const int *descc, int *info);

UNEQUAL_ROUTINES(s, float)
UNEQUAL_ROUTINES(d, double)
UNEQUAL_ROUTINES(c, float _Complex)
UNEQUAL_ROUTINES(z, double _Complex)

/* The part of a matrix that a descriptor stands for. */
struct grid_part unequal_part(void *data, const int *desc, int rows, int cols);

/* Rows (or columns) of the matrix that this rank has. */
int unequal_share(const struct grid_part *part, bool rows);

/* Fills the vector that goes with the rows (or columns) of the matrix: element i of all[] is that of row i.
 */
void unequal_spread(const struct grid_part *part, bool with_rows, int n, int element, const void *all,
                    void *local);

/* Whether, and how, the semi-static strategy (section 4.5) redistributes. Phases of so many blocks; 0: never.
 */
void unequal_set_phase(int blocks);
int unequal_phase(int blocks);
/* For tests: what each phase takes for the speed of this rank, in seconds of an operation, in place of what
 * it measured; 0: what it measured. */
void unequal_set_speed(double cycle_time);
/* Seconds of an operation in a phase; 0: it took less than `least` seconds. */
double unequal_speed(double seconds, double least, double flop);
/* How often blocks went to other owners in this process. */
int unequal_redistributions(void);
void unequal_redistributed(void);

#endif
