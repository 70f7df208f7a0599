/* SPDX-License-Identifier: Apache-2.0
 *
 * A parallel routine of one's own that needs its matrix otherwise than it lies: each column is divided by its
 * length, for which a rank must have all of it. Build it beside columns.esp:
 *
 *     mpicc -shared -fPIC -O2 columns.c -o libcolumns.so -lscalapack-openmpi -lm
 */
#include <espalier_server.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>

/* The BLACS bring no header. */
void Cblacs_gridinfo(int context, int *rows, int *cols, int *row, int *col);

int columns_normalise(MPI_Comm ranks, const int *desc, double *part);

static void divide_by_length(double *column, int m)
{
    double square = 0;
    for (int i = 0; i < m; i++)
        square += column[i] * column[i];
    for (int i = 0; i < m && square > 0; i++)
        column[i] /= sqrt(square);
}

/* desc: ScaLAPACK's descriptor: 1, context, m, n, row and column blocks, 0, 0, leading dimension. */
int columns_normalise(MPI_Comm ranks, const int *desc, double *part)
{
    const int m = desc[2], n = desc[3];
    int rank, rows, cols, row, col, mine = 0;
    MPI_Comm_rank(ranks, &rank);
    Cblacs_gridinfo(desc[1], &rows, &cols, &row, &col);
    const struct esp_layout lies = {
        .rows = rows, .cols = cols, .row_block = desc[4], .col_block = desc[5], .leading = desc[8]};
    const struct esp_layout whole = {
        .rows = 1, .cols = rows * cols, .row_block = m > 0 ? m : 1, .col_block = 1};
    for (int j = rank; j < n; j += rows * cols)
        mine++;
    double *columns = malloc(((size_t)m * (size_t)mine + 1) * sizeof *columns);
    if (!columns)
        MPI_Abort(ranks, 1); /* the others would wait for this rank */
    const int handle = MPI_Comm_c2f(ranks);
    int error = esp_redistribute(handle, m, n, sizeof *part, &lies, part, &whole, columns);
    for (int j = 0; j < mine && error == 0; j++)
        divide_by_length(columns + (size_t)j * (size_t)m, m);
    if (error == 0)
        error = esp_redistribute(handle, m, n, sizeof *part, &whole, columns, &lies, part);
    free(columns);
    return error;
}
