/* SPDX-License-Identifier: Apache-2.0
 *
 * A rank of t0724: factorisations and products over column blocks of any owner, against LAPACK. Speeds are
 * drawn.
 */
#include "solvers/unequal.h"
#include "tests/mpi/unequal.h"

#include <stdio.h>
#include <stdlib.h>

int Csys2blacs_handle(MPI_Comm communicator);
void Cblacs_gridinit(int *context, const char *order, int rows, int cols);
void Cblacs_gridinfo(int context, int *rows, int *cols, int *row, int *col);

static int me, ranks;

int wrong(const char *what, int m, int n, const struct trial_grid *grid)
{
    fprintf(stderr, "rank %d: %s of %d x %d on %d x %d ranks, blocks of %d is wrong\n", me, what, m, n,
            grid->p, grid->q, grid->block);
    return 1;
}

static struct trial_grid make_grid(int p, int q)
{
    struct trial_grid grid = {.comm = MPI_Comm_c2f(MPI_COMM_WORLD)};
    grid.context = Csys2blacs_handle(MPI_COMM_WORLD);
    Cblacs_gridinit(&grid.context, "Row", p, q);
    Cblacs_gridinfo(grid.context, &grid.p, &grid.q, &grid.row, &grid.col);
    return grid;
}

/* Each rank as fast as it is drawn, or all alike. */
static void draw_speeds(struct random *random)
{
    const bool equal = random_below(random, 4) == 0;
    for (int i = 0; i < ranks; i++) {
        const double drawn = 1 + (double)random_below(random, 9);
        if (i == me)
            columns_set_cycle_time(equal ? 1 : drawn);
    }
}

static int try_all(struct random *random, struct trial_grid *grid)
{
    int errors = 0;
    for (int i = 0; i < 12; i++) {
        grid->block = 1 + (int)random_below(random, 17);
        unequal_set_phase((int)random_below(random, 3));
        draw_speeds(random);
        errors += trials_d(random, grid);
        if (i % 3 == 0)
            errors += trials_s(random, grid) + trials_c(random, grid) + trials_z(random, grid);
    }
    return errors;
}

/* An LU whose owners follow speeds that are not so: its phases find out. */
static int try_phases(struct random *random)
{
    struct trial_grid grid = make_grid(1, ranks);
    grid.block = 16;
    unequal_set_phase(6);
    columns_set_cycle_time(me == 0 ? 3 : 1);
    unequal_set_speed(1e-6); /* all are alike */
    const int errors = trial_phases_d(random, &grid);
    unequal_set_speed(0);
    if (ranks > 1 && unequal_redistributions() == 0)
        return errors + wrong("the share of a rank", 0, 0, &grid);
    return errors;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct random random;
    random_seed(&random, 34);
    int errors = 0, all = 0;
    for (int p = 1; p <= ranks; p++)
        if (ranks % p == 0) {
            struct trial_grid grid = make_grid(p, ranks / p);
            errors += try_all(&random, &grid);
        }
    errors += try_phases(&random);
    double cycle_times[64];
    columns_set_cycle_time(0);
    columns_cycle_times(MPI_COMM_WORLD, cycle_times); /* measured */
    errors += cycle_times[me] > 0 ? 0 : 1;
    MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0)
        printf("wrong results: %d\n", all);
    MPI_Finalize();
    return all != 0;
}
