/* SPDX-License-Identifier: Apache-2.0
 *
 * The coefficients of the models of parallel routines, measured while all ranks are at work, as they will be.
 */
#include "sed/mpi/prd.h"

#include <stdlib.h>

#define ORDER      256
#define SHORT      16
#define PRODUCTS   5
#define ROUNDS     50
#define LONG_BYTES (1 << 20)
#define LONG_TIMES 4

void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
            const int *, const double *, const int *, const double *, double *, const int *, size_t, size_t);

/* Seconds of C (n x n) += A (n x k) B (k x n): the best of some, the first of which warms up. */
static double product_s(int n, int k, const double *a, const double *b, double *c)
{
    const double one = 1;
    double best = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i <= PRODUCTS; i++) {
        double begun = MPI_Wtime();
        dgemm_("N", "N", &n, &n, &k, &one, a, &n, b, &k, &one, c, &n, 1, 1);
        double seconds = MPI_Wtime() - begun;
        best = i == 1 || (i > 1 && seconds < best) ? seconds : best;
    }
    return best;
}

/* Long sums tell what an operation takes, short ones what it takes to read and write the result. */
static void measure_products(struct rank_speed *speed)
{
    const double elements = (double)ORDER * ORDER;
    double *matrices = calloc(3 * ORDER * ORDER, sizeof *matrices);
    int all, mine = matrices != NULL;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all) {
        double *a = matrices, *b = a + ORDER * ORDER, *c = b + ORDER * ORDER;
        double longer = product_s(ORDER, ORDER, a, b, c), shorter = product_s(ORDER, SHORT, a, b, c);
        double multiply_s = (longer - shorter) / (elements * (ORDER - SHORT));
        speed->flops = multiply_s > 0 ? 2 / multiply_s : 2 * elements * ORDER / longer;
        double update_s = shorter / elements - SHORT * 2 / speed->flops;
        speed->update_s = update_s > 0 ? update_s : 0;
    }
    free(matrices);
}

/* Everybody sends to the next rank, and receives from the one before. Seconds of one such message. */
static double message_s(char *out, char *in, int bytes, int times)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    for (int i = 0; i < times; i++)
        MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % size, 0, in, bytes, MPI_CHAR,
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return (MPI_Wtime() - begun) / times;
}

void rank_measure(struct rank_speed *speed)
{
    *speed = (struct rank_speed){0};
    measure_products(speed);
    char *out = calloc(2, LONG_BYTES), *in = out ? out + LONG_BYTES : NULL;
    int all, mine = out != NULL;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all) {
        message_s(out, in, LONG_BYTES, 1);
        speed->latency_s = message_s(out, in, 8, ROUNDS);
        double long_s = message_s(out, in, LONG_BYTES, LONG_TIMES) - speed->latency_s;
        speed->byte_s = long_s > 0 ? long_s / LONG_BYTES : 0;
    }
    free(out);
}
