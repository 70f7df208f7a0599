/* SPDX-License-Identifier: Apache-2.0
 *
 * A rank of t0725: multigrid on manufactured solutions. Errors fall as h^2, residuals by more than 1 / 0.15 a
 * cycle, and the solution is that of the first rank alone whatever the number of ranks.
 */
#include "solvers/multigrid.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define PI 3.14159265358979323846

static int me, ranks, errors;

static void expect(bool holds, const char *what, int n, double found)
{
    if (holds)
        return;
    fprintf(stderr, "rank %d of %d: n = %d: %s: found %g\n", me, ranks, n, what, found);
    errors++;
}

/* u = sin(pi x) sin(2 pi y), and -div(a grad u) with a = 1 or a = 1 + x y / 2 + sin(3 x) / 4. */
static double exact(double x, double y)
{
    return sin(PI * x) * sin(2 * PI * y);
}

static double coefficient(bool varies, double x, double y)
{
    return varies ? 1 + x * y / 2 + sin(3 * x) / 4 : 1;
}

static double right_side(bool varies, double x, double y)
{
    const double ux = PI * cos(PI * x) * sin(2 * PI * y), uy = 2 * PI * sin(PI * x) * cos(2 * PI * y);
    const double ax = varies ? y / 2 + 0.75 * cos(3 * x) : 0, ay = varies ? x / 2 : 0;
    return coefficient(varies, x, y) * 5 * PI * PI * exact(x, y) - ax * ux - ay * uy;
}

struct solved {
    struct multigrid_result result;
    double error; /* the largest of all points */
    int status;
};

static struct solved solve(MPI_Comm comm, int n, bool varies, bool rough)
{
    struct solved solved = {.error = 0};
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const struct multigrid_partition partition = multigrid_partition(n, size);
    const int first = rank * partition.lines;
    double *f = calloc((size_t)partition.lines * (size_t)n + 1, sizeof *f),
           *u = calloc((size_t)partition.lines * (size_t)n + 1, sizeof *u),
           *cells = calloc((size_t)partition.lines * ((size_t)n + 1) + 1, sizeof *cells), mine = 0;
    const double h = 1.0 / (n + 1);
    for (int j = 0; j < partition.lines && first + j < n; j++)
        for (int i = 0; i < n; i++)
            f[j * n + i] = rough ? (double)((i * 7919 + (first + j) * 104729) % 1000) / 500 - 1
                                 : right_side(varies, (i + 1) * h, (first + j + 1) * h);
    for (int j = 0; j < partition.lines && first + j <= n; j++)
        for (int i = 0; i <= n; i++)
            cells[j * (n + 1) + i] = coefficient(varies, (i + 0.5) * h, (first + j + 0.5) * h);
    solved.status = multigrid_solve(comm, n, f, cells, 1e-10, 40, u, &solved.result);
    for (int j = 0; j < partition.lines && first + j < n; j++)
        for (int i = 0; i < n; i++)
            mine = fmax(mine, fabs(u[j * n + i] - (rough ? 0 : exact((i + 1) * h, (first + j + 1) * h))));
    MPI_Allreduce(&mine, &solved.error, 1, MPI_DOUBLE, MPI_MAX, comm);
    free(f);
    free(u);
    free(cells);
    return solved;
}

/* All ranks that have something to do, as a communicator of their own. */
static MPI_Comm ranks_for(int n)
{
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, me < multigrid_partition(n, ranks).ranks ? 0 : MPI_UNDEFINED, me, &comm);
    return comm;
}

static void converges(int n, bool varies, double *before)
{
    MPI_Comm comm = ranks_for(n);
    if (comm == MPI_COMM_NULL)
        return;
    const struct solved together = solve(comm, n, varies, false),
                        alone = solve(MPI_COMM_SELF, n, varies, false), rough = solve(comm, n, varies, true),
                        rough_alone = solve(MPI_COMM_SELF, n, varies, true);
    expect(together.status == SOLVER_OK, "no convergence, status", n, together.status);
    expect(together.result.residual <= 1e-10, "residual", n, together.result.residual);
    expect(together.result.factor < 0.15, "convergence factor of a smooth problem", n,
           together.result.factor);
    expect(rough.result.factor < 0.15, "convergence factor of a rough problem", n, rough.result.factor);
    expect(fabs(together.error / alone.error - 1) < 1e-3, "error over that of one rank", n,
           together.error / alone.error);
    expect(fabs(rough.error / rough_alone.error - 1) < 1e-6, "solution over that of one rank", n,
           rough.error / rough_alone.error);
    expect(!(*before > 0) || (*before / together.error > 3.7 && *before / together.error < 4.3),
           "error of 2 h over that of h", n, *before / together.error);
    *before = together.error;
    MPI_Comm_free(&comm);
}

/* Sizes that cannot be coarsened far, and fewer lines than ranks, are right, too. */
static void odd_sizes(void)
{
    static const int sizes[] = {1, 2, 3, 4, 5, 6, 9, 11, 23, 29, 39};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        MPI_Comm comm = ranks_for(sizes[i]);
        if (comm == MPI_COMM_NULL)
            continue;
        const struct solved together = solve(comm, sizes[i], true, true),
                            alone = solve(MPI_COMM_SELF, sizes[i], true, true);
        expect(together.status == SOLVER_OK, "no convergence, status", sizes[i], together.status);
        expect(fabs(together.error / alone.error - 1) < 1e-6, "solution over that of one rank", sizes[i],
               together.error / alone.error);
        MPI_Comm_free(&comm);
    }
}

static void bad_input(void)
{
    struct multigrid_result result = {0};
    double f[9] = {0}, cells[16], u[9];
    for (int i = 0; i < 16; i++)
        cells[i] = 1;
    int status = multigrid_solve(MPI_COMM_SELF, 3, f, cells, 1e-10, 9, u, &result);
    expect(status == SOLVER_OK && result.cycles == 0, "cycles for f = 0", 3, result.cycles);
    f[4] = NAN;
    status = multigrid_solve(MPI_COMM_SELF, 3, f, cells, 1e-10, 9, u, &result);
    expect(status == SOLVER_NO_CONVERGENCE, "an f that is no number converged", 3, result.residual);
    f[4] = 1;
    status = multigrid_solve(MPI_COMM_SELF, 3, f, cells, -1, 3, u, &result);
    expect(status == SOLVER_NO_CONVERGENCE && result.cycles == 3, "cycles of at most 3", 3, result.cycles);
    cells[5] = 0;
    status = multigrid_solve(MPI_COMM_SELF, 3, f, cells, 1e-10, 9, u, &result);
    expect(status == SOLVER_INVALID, "a coefficient of 0 was taken", 3, status);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int varies = 0; varies < 2; varies++) {
        double before = 0;
        for (int n = 31; n <= 255; n = 2 * n + 1)
            converges(n, varies, &before);
    }
    odd_sizes();
    bad_input();
    int all = 0;
    MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0)
        printf("wrong results: %d\n", all);
    MPI_Finalize();
    return all != 0;
}
