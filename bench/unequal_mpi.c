/* SPDX-License-Identifier: Apache-2.0
 *
 * The ranks of bench/bench_unequal: factorisations that share by speed, and ScaLAPACK's on equal shares.
 * Started by mpirun with ROUTINE (lu or qr) N BLOCK TIMES QUOTAS; QUOTAS are microseconds of each 5 ms for
 * each rank, with commas between them, or - for no limits. Rank 0 prints what all ranks compute together in
 * products of their own (GFlop/s), and then seconds of ours and of ScaLAPACK's, a pair for each time.
 */
#include "solvers/unequal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PERIOD_US 5000
#define GROUPS    "/sys/fs/cgroup/cpu"

int Csys2blacs_handle(MPI_Comm communicator);
void Cblacs_gridinit(int *context, const char *order, int rows, int cols);
void pdgetrf_(const int *, const int *, double *, const int *, const int *, const int *, int *, int *);
void pdgeqrf_(const int *, const int *, double *, const int *, const int *, const int *, double *, double *,
              const int *, int *);
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
            const int *, const double *, const int *, const double *, double *, const int *, size_t, size_t);

static int rank, ranks, context;

/* ---- quotas ---- */

static char group[200];

static void put(const char *folder, const char *file, long value)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *to = fopen(path, "we");
    if (!to || fprintf(to, "%ld", value) < 0 || fclose(to) != 0) {
        fprintf(stderr, "unequal_mpi: cannot write %ld to %s\n", value, path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void limit_to(long quota_us)
{
    snprintf(group, sizeof group, GROUPS "/espalier-bench-%ld", (long)getpid());
    if (mkdir(group, 0755) != 0) {
        fprintf(stderr, "unequal_mpi: cannot make the control group %s\n", group);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    put(group, "cpu.cfs_period_us", PERIOD_US);
    put(group, "cpu.cfs_quota_us", quota_us);
    put(group, "cgroup.procs", (long)getpid());
}

static void limit(const char *quotas)
{
    for (int i = 0; i < rank && quotas; i++)
        quotas = strchr(quotas, ',') ? strchr(quotas, ',') + 1 : NULL;
    if (quotas && strcmp(quotas, "-") != 0)
        limit_to(strtol(quotas, NULL, 10));
}

static void unlimit(void)
{
    if (!group[0])
        return;
    put(GROUPS, "cgroup.procs", (long)getpid());
    rmdir(group);
}

/* ---- rates ---- */

#define RATE_S 1.0

/* Of products as an update makes them. */
static double own_flops(int block)
{
    const int m = 2000, n = 256;
    const double one = 1, minus = -1;
    double *a = calloc((size_t)m * (size_t)(block + n) + (size_t)block * (size_t)n, sizeof *a);
    double *b = a + (size_t)m * (size_t)block, *c = b + (size_t)block * (size_t)n, seconds = 0;
    int times = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (const double begun = MPI_Wtime(); seconds < RATE_S; times++) {
        dgemm_("N", "N", &m, &n, &block, &minus, a, &m, b, &block, &one, c, &m, 1, 1);
        seconds = MPI_Wtime() - begun;
    }
    free(a);
    return 2.0 * m * n * block * times / seconds;
}

/* ---- factorisations ---- */

struct matrix {
    int n, cols, desc[9];
    double *data;
};

static struct matrix make(int n, int block)
{
    struct matrix a = {
        n, columns_share(n, block, ranks, rank), {1, context, n, n, block, block, 0, 0, n}, NULL};
    a.data = malloc((size_t)n * (size_t)a.cols * sizeof *a.data + 1);
    return a;
}

static void fill(const struct matrix *a)
{
    unsigned long state = 88172645463325252UL + (unsigned long)rank;
    for (size_t i = 0; i < (size_t)a->n * (size_t)a->cols; i++) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        a->data[i] = (double)(state >> 11) / 9007199254740992.0 - 0.5;
    }
}

static void ours(bool qr, const struct matrix *a, int *pivots, double *tau)
{
    const int comm = MPI_Comm_c2f(MPI_COMM_WORLD);
    int info;
    if (qr)
        esp_pdgeqrf_unequal_(&comm, &a->n, &a->n, a->data, a->desc, tau, &info);
    else
        esp_pdgetrf_unequal_(&comm, &a->n, &a->n, a->data, a->desc, pivots, &info);
}

static void scalapacks(bool qr, const struct matrix *a, int *pivots, double *tau, double *work, int room)
{
    const int one = 1;
    int info;
    if (qr)
        pdgeqrf_(&a->n, &a->n, a->data, &one, &one, a->desc, tau, work, &room, &info);
    else
        pdgetrf_(&a->n, &a->n, a->data, &one, &one, a->desc, pivots, &info);
}

static void compare(bool qr, int n, int block, int times)
{
    const struct matrix a = make(n, block);
    const int room = 2 * block * (n + n + block);
    int *pivots = calloc((size_t)(n + block), sizeof *pivots);
    double *tau = calloc((size_t)(n + block), sizeof *tau), *work = calloc((size_t)room, sizeof *work);
    for (int i = 0; i < 2 * times; i++) {
        fill(&a);
        MPI_Barrier(MPI_COMM_WORLD);
        const double begun = MPI_Wtime();
        if (i % 2 == 0)
            ours(qr, &a, pivots, tau);
        else
            scalapacks(qr, &a, pivots, tau, work, room);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            printf(i % 2 == 0 ? "%.6g " : "%.6g\n", MPI_Wtime() - begun);
    }
    free(a.data);
    free(pivots);
    free(tau);
    free(work);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 6) {
        fputs("usage: unequal_mpi ROUTINE N BLOCK TIMES QUOTAS\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const int block = atoi(argv[3]);
    context = Csys2blacs_handle(MPI_COMM_WORLD);
    Cblacs_gridinit(&context, "Row", 1, ranks);
    limit(argv[5]);
    double mine = own_flops(block), all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.6g\n", all / 1e9);
    compare(strcmp(argv[1], "qr") == 0, atoi(argv[2]), block, atoi(argv[4]));
    unlimit();
    MPI_Finalize();
    return 0;
}
