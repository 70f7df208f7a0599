/* SPDX-License-Identifier: Apache-2.0
 *
 * Redistributions between ranks of one job, against ScaLAPACK's pdgemr2d with the same ranks and data, in
 * turns. Started by bench_pdgemr2d with mpirun; rank 0 prints "CASE OURS REFERENCE" lines, milliseconds.
 *
 * usage: redistribute_mpi ROUNDS
 */
#include "config.h"

#include "sed/mpi/redistribute.h"

#include <stdio.h>
#include <stdlib.h>

void Cblacs_get(int context, int what, int *value);
void Cblacs_gridmap(int *context, int *ranks, int ld, int rows, int cols);
void Cblacs_gridexit(int context);
void Cpdgemr2d(int m, int n, double *a, int ia, int ja, int *desc_a, double *b, int ib, int jb, int *desc_b,
               int context);

/* Grids and square blocks before and after, and megabytes. */
static const struct {
    int p[2], q[2], r, s, mb;
} cases[] = {
    {{2, 2}, {4, 1}, 64, 64, 8},   {{2, 2}, {1, 4}, 32, 48, 32},  {{2, 2}, {2, 2}, 64, 32, 32},
    {{2, 2}, {2, 2}, 37, 53, 64},  {{4, 1}, {1, 4}, 64, 64, 64},  {{2, 2}, {3, 2}, 64, 64, 64},
    {{2, 3}, {3, 2}, 64, 48, 32},  {{2, 3}, {2, 2}, 16, 64, 16},  {{3, 2}, {2, 3}, 50, 50, 128},
    {{1, 6}, {6, 1}, 64, 64, 32},  {{2, 4}, {4, 2}, 64, 64, 64},  {{2, 4}, {4, 2}, 30, 42, 32},
    {{2, 2}, {2, 4}, 64, 64, 128}, {{2, 4}, {2, 2}, 48, 64, 64},  {{8, 1}, {2, 4}, 64, 32, 16},
    {{3, 3}, {3, 3}, 64, 40, 32},  {{3, 3}, {2, 4}, 32, 32, 64},  {{2, 5}, {5, 2}, 64, 64, 64},
    {{3, 4}, {4, 3}, 64, 64, 64},  {{3, 4}, {2, 6}, 24, 36, 32},  {{12, 1}, {4, 2}, 64, 48, 32},
    {{4, 4}, {4, 4}, 33, 55, 64},  {{4, 4}, {2, 8}, 64, 64, 128}, {{4, 4}, {2, 3}, 64, 64, 32},
};

enum { CASES = sizeof cases / sizeof *cases };

static int me;
static struct shared_slots *slots;

static int open_grid(int base, const int *shape)
{
    int ranks[16], context;
    for (int i = 0; i < shape[0]; i++)
        for (int j = 0; j < shape[1]; j++)
            ranks[j * shape[0] + i] = i * shape[1] + j;
    context = base;
    Cblacs_gridmap(&context, ranks, shape[0], shape[0], shape[1]);
    return context;
}

static double value(int64_t i, int64_t j)
{
    return (double)i * 65536 + (double)j;
}

/* Fills a part with what belongs there, or tells whether it is so. */
static int visit(const struct block_cyclic_matrix *matrix, double *part, int checks)
{
    int64_t row, col, rows, cols;
    block_cyclic_matrix_place(matrix, me, &row, &col);
    block_cyclic_matrix_shape(matrix, me, &rows, &cols);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) {
            double expected =
                value(block_cyclic_global(&matrix->rows, row, i), block_cyclic_global(&matrix->cols, col, j));
            if (checks && part[j * rows + i] < expected)
                return 0;
            if (checks && part[j * rows + i] > expected)
                return 0;
            part[j * rows + i] = checks ? 0 : expected;
        }
    return 1;
}

static double *part_of(const struct block_cyclic_matrix *matrix, int context, int *desc)
{
    int64_t rows = 0, cols = 0;
    int mine = me < block_cyclic_matrix_ranks(matrix);
    if (mine)
        block_cyclic_matrix_shape(matrix, me, &rows, &cols);
    int made[9] = {1,
                   mine ? context : -1,
                   (int)matrix->rows.n,
                   (int)matrix->cols.n,
                   (int)matrix->rows.block,
                   (int)matrix->cols.block,
                   0,
                   0,
                   rows > 0 ? (int)rows : 1};
    for (int i = 0; i < 9; i++)
        desc[i] = made[i];
    double *part = calloc((size_t)(rows * cols) + 1, sizeof *part);
    if (mine && part)
        visit(matrix, part, 0);
    return part;
}

static double ours(const struct redistribution *what, const double *a, double *b)
{
    static const struct redistribution_costs costs = {2e-5, 8 / 3e9};
    struct redistribution_plan *plan;
    struct esp_error error = {0};
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    enum esp_status status = redistribution_plan_create(what, REDISTRIBUTION_BEST, &costs, &plan, &error);
    if (status == ESP_OK)
        status = mpi_redistribute(what, plan, MPI_COMM_WORLD, slots,
                                  &(struct mpi_parts){.from = a, .to = b, .bytes = sizeof *a}, &error);
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - begin;
    if (status != ESP_OK) {
        fprintf(stderr, "redistribute_mpi: %s\n", error.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    redistribution_plan_destroy(plan);
    return seconds;
}

static double reference(const struct redistribution *what, double *a, int *desc_a, double *b, int *desc_b,
                        int all)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    Cpdgemr2d((int)what->from.rows.n, (int)what->from.cols.n, a, 1, 1, desc_a, b, 1, 1, desc_b, all);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - begin;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void check(const struct block_cyclic_matrix *to, double *b, const char *who, int which)
{
    if (me < block_cyclic_matrix_ranks(to) && !visit(to, b, 1)) {
        fprintf(stderr, "redistribute_mpi: %s brought rank %d a wrong part in case %d\n", who, me, which);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void measure(int which, int rounds, int base, int all)
{
    static int64_t ids[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    int64_t n = 1;
    while (n * n * 8 < (int64_t)cases[which].mb * 1000000)
        n++;
    struct redistribution what = {
        {{n, cases[which].r, cases[which].p[0], 0}, {n, cases[which].r, cases[which].p[1], 0}, false},
        {{n, cases[which].s, cases[which].q[0], 0}, {n, cases[which].s, cases[which].q[1], 0}, false},
        ids,
        ids};
    int before = open_grid(base, cases[which].p), after = open_grid(base, cases[which].q), desc_a[9],
        desc_b[9];
    double *a = part_of(&what.from, before, desc_a), *b = part_of(&what.to, after, desc_b), times[2][64];
    for (int round = -1; round < rounds; round++) {
        double x = ours(&what, a, b);
        if (round < 0)
            check(&what.to, b, "ours", which);
        double y = reference(&what, a, desc_a, b, desc_b, all);
        if (round < 0)
            check(&what.to, b, "pdgemr2d", which);
        if (round >= 0) {
            times[0][round] = x;
            times[1][round] = y;
        }
    }
    qsort(times[0], (size_t)rounds, sizeof(double), compare);
    qsort(times[1], (size_t)rounds, sizeof(double), compare);
    if (me == 0)
        printf("%dx%d(%d)-%dx%d(%d),%dMB %.3f %.3f\n", cases[which].p[0], cases[which].p[1], cases[which].r,
               cases[which].q[0], cases[which].q[1], cases[which].s, cases[which].mb,
               times[0][rounds / 2] * 1e3, times[1][rounds / 2] * 1e3);
    fflush(stdout);
    free(a);
    free(b);
    if (desc_a[1] >= 0)
        Cblacs_gridexit(before);
    if (desc_b[1] >= 0)
        Cblacs_gridexit(after);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5, ranks, base, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    slots = shared_slots_create(MPI_COMM_WORLD);
    Cblacs_get(-1, 0, &base);
    all = open_grid(base, (int[]){1, ranks});
    for (int which = 0; which < CASES; which++) {
        int before = cases[which].p[0] * cases[which].p[1], after = cases[which].q[0] * cases[which].q[1];
        if ((before > after ? before : after) == ranks)
            measure(which, rounds < 1 || rounds > 64 ? 5 : rounds, base, all);
    }
    shared_slots_destroy(slots);
    MPI_Finalize();
    return 0;
}
