/* SPDX-License-Identifier: Apache-2.0
 *
 * The problem `multigrid`: from any grid of ranks to lines and back.
 */
#include "solvers/columns.h"
#include "solvers/multigrid.h"

#include "espalier_server.h"

#include <stdlib.h>

void Cblacs_gridinfo(int context, int *rows, int *cols, int *row, int *col);

/* A descriptor of ScaLAPACK. */
enum { CONTEXT = 1, BLOCK = 4, LEADING = 8 };

static struct esp_layout layout_of(const int *desc)
{
    struct esp_layout layout = {.row_block = desc[BLOCK], .col_block = desc[BLOCK], .leading = desc[LEADING]};
    int row, col;
    Cblacs_gridinfo(desc[CONTEXT], &layout.rows, &layout.cols, &row, &col);
    return layout;
}

static struct esp_layout lines_of(struct multigrid_partition partition, int n)
{
    return (struct esp_layout){
        .rows = 1, .cols = partition.ranks, .row_block = n, .col_block = partition.lines};
}

/* This rank's parts. */
struct parts {
    double *f, *cells, *u;
};

static bool make_parts(struct parts *parts, struct multigrid_partition partition, int n)
{
    const size_t lines = (size_t)partition.lines, points = (size_t)n;
    parts->f = malloc((2 * lines * points + lines * (points + 1)) * sizeof(double));
    parts->u = parts->f + lines * points;
    parts->cells = parts->u + lines * points;
    return parts->f != NULL;
}

/* Ranks that have lines. The results are the first rank's, which always has some. */
static int solve(MPI_Comm comm, struct multigrid_partition partition, int n, const struct parts *parts,
                 double tol, int most, struct multigrid_result *result)
{
    int rank, status = SOLVER_OK;
    MPI_Comm some;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_split(comm, rank < partition.ranks ? 0 : MPI_UNDEFINED, rank, &some);
    if (some != MPI_COMM_NULL) {
        status = multigrid_solve(some, n, parts->f, parts->cells, tol, most, parts->u, result);
        MPI_Comm_free(&some);
    }
    MPI_Request request;
    MPI_Ibcast(&status, 1, MPI_INT, 0, comm, &request);
    columns_wait(1, &request); /* ranks without lines sleep meanwhile */
    return status;
}

static bool lay(MPI_Comm comm, int n, const struct esp_layout *from, const void *before,
                const struct esp_layout *to, void *after)
{
    return esp_redistribute(MPI_Comm_c2f(comm), n, n, sizeof(double), from, before, to, after) == 0;
}

int esp_multigrid(MPI_Comm comm, int n, const double *f, const int *descf, const double *cells,
                  const int *descc, double tol, int most, double *u, const int *descu, int *cycles,
                  double *residual, double *factor)
{
    int ranks;
    *cycles = 0;
    *residual = *factor = 0;
    if (n == 0)
        return SOLVER_OK;
    MPI_Comm_size(comm, &ranks);
    const struct multigrid_partition partition = multigrid_partition(n, ranks);
    const struct esp_layout lines = lines_of(partition, n), columns = lines_of(partition, n + 1),
                            f_lies = layout_of(descf), cells_lie = layout_of(descc),
                            u_lies = layout_of(descu);
    struct multigrid_result result = {0};
    struct parts parts;
    int status = columns_all(comm, make_parts(&parts, partition, n)) ? SOLVER_OK : SOLVER_NO_MEMORY;
    if (status == SOLVER_OK && !(lay(comm, n, &f_lies, f, &lines, parts.f) &&
                                 lay(comm, n + 1, &cells_lie, cells, &columns, parts.cells)))
        status = SOLVER_FAILED;
    if (status == SOLVER_OK)
        status = solve(comm, partition, n, &parts, tol, most, &result);
    if ((status == SOLVER_OK || status == SOLVER_NO_CONVERGENCE) &&
        !lay(comm, n, &lines, parts.u, &u_lies, u))
        status = SOLVER_FAILED;
    free(parts.f);
    *cycles = result.cycles;
    *residual = result.residual;
    *factor = result.factor;
    return status;
}
