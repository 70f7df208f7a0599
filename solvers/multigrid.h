/* SPDX-License-Identifier: Apache-2.0
 *
 * Multigrid on ranks of MPI for -div(a grad u) = f on the unit square, u = 0 on its boundary.
 *
 * n x n points inside, h = 1 / (n + 1). Five-point differences; the coefficient a belongs to the (n + 1) x (n
 * + 1) cells between the points, and a face takes the mean of its two cells. V-cycles with red-black
 * Gauss-Seidel, full weighting and bilinear interpolation. Meshes are partitioned by lines, so that the
 * partition of the coarsest mesh gives those of all finer ones (multigrid-prediction, section III). Halo
 * lines travel while points that do not need them are computed.
 *
 * A mesh is coarsened as long as n + 1 is even and each rank has a line: n + 1 should be a power of 2 times a
 * small number.
 */
#ifndef SOLVERS_MULTIGRID_H
#define SOLVERS_MULTIGRID_H

#include "solvers/solvers.h"

#include <mpi.h>

/* Lines (columns of the n x n matrix) of the ranks: rank i has those from i * lines on, numbered from 0, and
 * the cells of as many columns; `ranks` of the communicator have some. */
struct multigrid_partition {
    int ranks, lines, levels;
};
struct multigrid_partition multigrid_partition(int n, int ranks);

struct multigrid_result {
    int cycles;
    double residual; /* norm of what is left over norm of f */
    double factor;   /* geometric mean of the residuals' factors of a cycle */
};

/* Ranks of the partition call this together, with a communicator of them alone. `f`, `cells` and `u` are
 * their parts, by columns without gaps; u is 0 before. Ends when the residual is below `tol`, or no longer
 * falls. SOLVER_OK, SOLVER_NO_CONVERGENCE after `most` cycles, or SOLVER_NO_MEMORY, on all ranks the same.
 * SOLVER_INVALID: a coefficient is not positive. */
int multigrid_solve(MPI_Comm comm, int n, const double *f, const double *cells, double tol, int most,
                    double *u, struct multigrid_result *result);

/* The problem `multigrid`: matrices by descriptors of ScaLAPACK, any grid. */
SOLVER int esp_multigrid(MPI_Comm comm, int n, const double *f, const int *descf, const double *cells,
                         const int *descc, double tol, int most, double *u, const int *descu, int *cycles,
                         double *residual, double *factor);

#endif
