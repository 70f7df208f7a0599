/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference of bench/bench_parallel: ScaLAPACK's own calls in a plain MPI program, on matrices that lie
 * there. Started by mpirun with ROUTINE N ROWS COLS BLOCK TIMES; rank 0 prints the seconds of each call.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int Csys2blacs_handle(MPI_Comm communicator);
void Cblacs_gridinit(int *context, const char *order, int rows, int cols);
void Cblacs_gridinfo(int context, int *rows, int *cols, int *row, int *col);
int numroc_(const int *n, const int *block, const int *rank, const int *source, const int *ranks);
void pdgemm_(const char *, const char *, const int *, const int *, const int *, const double *,
             const double *, const int *, const int *, const int *, const double *, const int *, const int *,
             const int *, const double *, double *, const int *, const int *, const int *);
void pdgesv_(const int *, const int *, double *, const int *, const int *, const int *, int *, double *,
             const int *, const int *, const int *, int *);

struct matrix {
    double *data;
    size_t elements;
    int descriptor[9];
};

static int context, rows, cols, row, col;

/* Elements as in bench_parallel: off the diagonal of any size below 1, the diagonal n. */
static struct matrix make(int n, int n_cols, int block)
{
    const int zero = 0;
    int local_rows = numroc_(&n, &block, &row, &zero, &rows);
    int local_cols = numroc_(&n_cols, &block, &col, &zero, &cols);
    struct matrix matrix = {.elements = (size_t)local_rows * (size_t)local_cols};
    int descriptor[9] = {1, context, n, n_cols, block, block, 0, 0, local_rows > 0 ? local_rows : 1};
    memcpy(matrix.descriptor, descriptor, sizeof descriptor);
    matrix.data = malloc((matrix.elements + 1) * sizeof *matrix.data);
    for (int j = 0; j < local_cols; j++)
        for (int i = 0; i < local_rows; i++) {
            int64_t gi = (int64_t)(i / block * rows + row) * block + i % block;
            int64_t gj = (int64_t)(j / block * cols + col) * block + j % block;
            matrix.data[i + (size_t)j * (size_t)local_rows] =
                gi == gj ? n : (double)((gi * 7919 + gj * 104729) % 1000) / 1000;
        }
    return matrix;
}

static double multiply(int n, const struct matrix *a, const struct matrix *b, struct matrix *c)
{
    const double one_d = 1, zero_d = 0;
    const int one = 1;
    double begun = MPI_Wtime();
    pdgemm_("N", "N", &n, &n, &n, &one_d, a->data, &one, &one, a->descriptor, b->data, &one, &one,
            b->descriptor, &zero_d, c->data, &one, &one, c->descriptor);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - begun;
}

/* What the routine overwrites is copied first, as whoever still wants it must. */
static double solve(int n, const struct matrix *a, const struct matrix *b, struct matrix *c, struct matrix *x,
                    int *pivots)
{
    const int one = 1;
    int info;
    double begun = MPI_Wtime();
    memcpy(c->data, a->data, a->elements * sizeof *a->data);
    memcpy(x->data, b->data, b->elements * sizeof *b->data);
    pdgesv_(&n, &one, c->data, &one, &one, c->descriptor, pivots, x->data, &one, &one, x->descriptor, &info);
    MPI_Barrier(MPI_COMM_WORLD);
    return info == 0 ? MPI_Wtime() - begun : -1;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 7) {
        fputs("usage: scalapack_mpi ROUTINE N ROWS COLS BLOCK TIMES\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int n = atoi(argv[2]), block = atoi(argv[5]), times = atoi(argv[6]);
    int solves = strcmp(argv[1], "pdgesv") == 0;
    context = Csys2blacs_handle(MPI_COMM_WORLD);
    Cblacs_gridinit(&context, "Row", atoi(argv[3]), atoi(argv[4]));
    Cblacs_gridinfo(context, &rows, &cols, &row, &col);
    struct matrix a = make(n, n, block), b = make(n, solves ? 1 : n, block), c = make(n, n, block),
                  x = make(n, 1, block);
    int *pivots = malloc((size_t)(n + block) * sizeof *pivots);
    for (int i = 0; i < times; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double seconds = solves ? solve(n, &a, &b, &c, &x, pivots) : multiply(n, &a, &b, &c);
        if (rank == 0)
            printf("%.9g\n", seconds);
    }
    MPI_Finalize();
    return 0;
}
