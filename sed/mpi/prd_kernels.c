/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the sequential routines that parallel ones call, on all ranks at the same time, and fits the
 * polynomials of B.4.1.2 and B.4.1.3 (core/forecast/parallel_model.h). Pivots, panels and diagonal blocks
 * are measured as ScaLAPACK computes them on one rank, including the overhead of its layers. */
#include "sed/mpi/prd.h"

#include "services/fast/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of all matrices here: not a multiple of a large power of 2, for which columns would displace each other
 * in the cache. */
#define LEADING    520
#define TRIES      2
#define LEAST_S    20e-6 /* a shorter sample is repeated for this long */
#define MOST_CALLS 64
#define SAMPLES    12
#define PANEL      32

/* BLAS and ScaLAPACK with Fortran's interface. */
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
            const int *, const double *, const int *, const double *, double *, const int *, size_t, size_t);
void dtrsm_(const char *, const char *, const char *, const char *, const int *, const int *, const double *,
            const double *, const int *, double *, const int *, size_t, size_t, size_t, size_t);
void dger_(const int *, const int *, const double *, const double *, const int *, const double *, const int *,
           double *, const int *);
void daxpy_(const int *, const double *, const double *, const int *, double *, const int *);
void dcopy_(const int *, const double *, const int *, double *, const int *);
void dscal_(const int *, const double *, double *, const int *);
int idamax_(const int *, const double *, const int *);
void pdswap_(const int *, double *, const int *, const int *, const int *, const int *, double *, const int *,
             const int *, const int *, const int *);
void pdpotf2_(const char *, const int *, double *, const int *, const int *, const int *, int *, size_t);
void pdgetf2_(const int *, const int *, double *, const int *, const int *, const int *, int *, int *);

struct sample {
    int m, n, k;
};

struct bench {
    double *a, *b, *c; /* LEADING x LEADING each */
    int *pivots;
    const struct rank_grid *grid;
    int descriptor[9]; /* of c, on `grid` */
};

static const struct {
    struct sample samples[SAMPLES];
    int n;
} shapes[PARALLEL_KERNELS] = {
    [PARALLEL_GEMM] = {{{64, 64, 64},
                        {64, 64, 16},
                        {256, 256, 64},
                        {256, 256, 16},
                        {256, 64, 64},
                        {64, 256, 64},
                        {512, 512, 32},
                        {512, 512, 64},
                        {512, 128, 128},
                        {384, 384, 32},
                        {256, 256, 256},
                        {384, 384, 384}},
                       12},
    [PARALLEL_TRSM] =
        {{{16, 64}, {64, 64}, {128, 64}, {16, 512}, {64, 512}, {128, 512}, {32, 256}, {64, 256}}, 8},
    [PARALLEL_GER] = {{{64, 8}, {64, 64}, {256, 8}, {256, 64}, {512, 8}, {512, 64}}, 6},
    [PARALLEL_ADD] = {{{16, 64}, {16, 512}, {64, 64}, {64, 512}, {128, 256}}, 5},
    [PARALLEL_COPY] = {{{64}, {1024}, {16384}, {262144}}, 4},
    [PARALLEL_SWAP] = {{{16}, {64}, {256}, {512}}, 4},
    [PARALLEL_SCAL] = {{{16}, {128}, {1024}, {16384}}, 4},
    [PARALLEL_AMAX] = {{{16}, {128}, {1024}, {16384}}, 4},
    [PARALLEL_POTF2] = {{{8}, {16}, {32}, {64}, {128}}, 5},
    [PARALLEL_GETF2] = {{{64, 16}, {256, 16}, {512, 16}, {64, 64}, {256, 64}, {512, 64}, {512, 128}}, 7},
};

/* ---- one call ---- */

static void level_three(const struct bench *bench, enum parallel_kernel kernel, struct sample of)
{
    static const double one = 1;
    static const int leading = LEADING;
    if (kernel == PARALLEL_GEMM)
        dgemm_("N", "N", &of.m, &of.n, &of.k, &one, bench->a, &leading, bench->b, &leading, &one, bench->c,
               &leading, 1, 1);
    else
        dtrsm_("L", "L", "N", "U", &of.m, &of.n, &one, bench->a, &leading, bench->c, &leading, 1, 1, 1, 1);
}

static void level_two(const struct bench *bench, enum parallel_kernel kernel, struct sample of)
{
    static const double tiny = 1e-9;
    static const int one = 1, leading = LEADING;
    if (kernel == PARALLEL_GER)
        dger_(&of.m, &of.n, &tiny, bench->a, &one, bench->b, &one, bench->c, &leading);
    for (int j = 0; j < of.n && kernel == PARALLEL_ADD; j++)
        daxpy_(&of.m, &tiny, bench->a + j * LEADING, &one, bench->c + j * LEADING, &one);
}

static void level_one(const struct bench *bench, enum parallel_kernel kernel, struct sample of)
{
    static const double minus = -1;
    static const int one = 1, two = 2;
    if (kernel == PARALLEL_COPY)
        dcopy_(&of.m, bench->a, &one, bench->b, &one);
    else if (kernel == PARALLEL_SCAL)
        dscal_(&of.m, &minus, bench->c, &one);
    else if (kernel == PARALLEL_AMAX)
        idamax_(&of.m, bench->a, &one);
    else /* rows of a matrix, as in PDLASWP */
        pdswap_(&of.m, bench->c, &one, &one, bench->descriptor, &bench->descriptor[2], bench->c, &two, &one,
                bench->descriptor, &bench->descriptor[2]);
}

/* Fills a matrix that is factorised each time: its diagonal is large enough for all factorisations. */
static void fill(const struct bench *bench, int columns)
{
    for (int64_t i = 0; i < (int64_t)LEADING * columns; i++)
        bench->c[i] = i % (LEADING + 1) == 0 ? LEADING : (double)(i * 7919 % 1000) / 1000;
}

static void factor(const struct bench *bench, enum parallel_kernel kernel, struct sample of)
{
    static const int one = 1;
    int info;
    if (kernel == PARALLEL_POTF2)
        pdpotf2_("L", &of.m, bench->c, &one, &one, bench->descriptor, &info, 1);
    else
        pdgetf2_(&of.m, &of.n, bench->c, &one, &one, bench->descriptor, bench->pivots, &info);
}

static bool is_factor(enum parallel_kernel kernel)
{
    return kernel == PARALLEL_POTF2 || kernel == PARALLEL_GETF2;
}

static void call(const struct bench *bench, enum parallel_kernel kernel, struct sample of)
{
    if (is_factor(kernel))
        factor(bench, kernel, of);
    else if (kernel == PARALLEL_GEMM || kernel == PARALLEL_TRSM)
        level_three(bench, kernel, of);
    else if (kernel == PARALLEL_GER || kernel == PARALLEL_ADD)
        level_two(bench, kernel, of);
    else
        level_one(bench, kernel, of);
}

/* ---- timing ---- */

static double batch_s(const struct bench *bench, enum parallel_kernel kernel, struct sample of, int calls)
{
    if (is_factor(kernel))
        fill(bench, of.n > 0 ? of.n : of.m);
    double begun = MPI_Wtime();
    for (int i = 0; i < calls; i++)
        call(bench, kernel, of);
    return (MPI_Wtime() - begun) / calls;
}

/* The first call is a warm-up, and determines how many calls give a measurable time. */
static double sample_s(const struct bench *bench, enum parallel_kernel kernel, struct sample of)
{
    double first = batch_s(bench, kernel, of, 1), best = INFINITY;
    int calls = first * MOST_CALLS < LEAST_S ? MOST_CALLS : first < LEAST_S ? (int)(LEAST_S / first) : 1;
    for (int i = 0; i < TRIES; i++)
        best = fmin(best, batch_s(bench, kernel, of, is_factor(kernel) ? 1 : calls));
    return best;
}

/* All ranks measure the same kernel, and get the time of the slowest. */
static void measure_kernel(const struct bench *bench, enum parallel_kernel kernel, double *c)
{
    double A[SAMPLES * PARALLEL_TERMS], mine[SAMPLES], b[SAMPLES], weights[SAMPLES], terms[PARALLEL_TERMS];
    const int n = shapes[kernel].n;
    int count = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n; i++)
        mine[i] = fmax(sample_s(bench, kernel, shapes[kernel].samples[i]), 1e-9);
    MPI_Allreduce(mine, b, n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        const struct sample of = shapes[kernel].samples[i];
        weights[i] = 1 / b[i];
        count = parallel_terms(kernel, of.m, of.n, of.k, terms);
        for (int j = 0; j < count; j++)
            A[j * n + i] = terms[j];
    }
    if (!fit_least_squares(A, b, weights, n, count, false, c))
        memset(c, 0, PARALLEL_TERMS * sizeof *c);
}

/* ---- products as one number ---- */

/* Long sums determine the time of an operation, short ones that of reading and writing the result. */
static void tell_products(struct parallel_speed *speed)
{
    const double longer = parallel_polynomial(&speed->kernels, PARALLEL_GEMM, 256, 256, 256),
                 shorter = parallel_polynomial(&speed->kernels, PARALLEL_GEMM, 256, 256, 16);
    const double operation_s = (longer - shorter) / (2 * 256 * 256 * (256 - 16.0));
    if (!(operation_s > 0))
        return;
    speed->flops = 1 / operation_s;
    speed->update_s = fmax(0, shorter / (256 * 256) - 2 * 16 * operation_s);
}

/* ---- a panel on a column of ranks ---- */

static void describe(const struct rank_grid *grid, int rows, int block, int *descriptor)
{
    const int words[9] = {1, grid->context, rows, LEADING, block, block, 0, 0, LEADING};
    memcpy(descriptor, words, sizeof words);
}

/* Measures the additional time over one rank with as many rows, for each column and doubling of ranks. */
static double measure_column(struct bench *bench, const struct parallel_polynomials *kernels)
{
    const double alone = parallel_polynomial(kernels, PARALLEL_GETF2, PANEL, PANEL, 0);
    struct esp_error error;
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2 || !(alone > 0) || rank_grid_find(0, (uint32_t)size, 1, &bench->grid, &error) != ESP_OK)
        return 0;
    describe(bench->grid, PANEL * size, PANEL, bench->descriptor);
    const double mine = sample_s(bench, PARALLEL_GETF2, (struct sample){PANEL * size, PANEL, 0});
    double together;
    MPI_Allreduce(&mine, &together, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return fmax(0, together - alone) / PANEL / ceil(log2(size));
}

static void measure(struct bench *bench, struct parallel_speed *speed)
{
    struct esp_error error;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank_grid_find((uint32_t)rank, 1, 1, &bench->grid, &error) != ESP_OK)
        MPI_Abort(MPI_COMM_WORLD, 1); /* the others measure together */
    describe(bench->grid, LEADING, LEADING, bench->descriptor);
    for (int64_t i = 0; i < (int64_t)LEADING * LEADING; i++) {
        bench->a[i] = bench->b[i] = (double)(i & 1023) / 1e6; /* small, so that solutions do not grow */
        bench->c[i] = 1;
    }
    for (enum parallel_kernel kernel = 0; kernel < PARALLEL_KERNELS; kernel++)
        measure_kernel(bench, kernel, speed->kernels.of[kernel]);
    tell_products(speed);
    speed->column_s = measure_column(bench, &speed->kernels);
}

void rank_measure_kernels(struct parallel_speed *speed)
{
    const size_t elements = (size_t)LEADING * LEADING;
    double *matrices = malloc(3 * elements * sizeof *matrices);
    int *pivots = malloc((LEADING + PANEL) * sizeof *pivots);
    int all, mine = matrices && pivots;
    struct bench bench = {
        .a = matrices, .b = matrices + elements, .c = matrices + 2 * elements, .pivots = pivots};
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all)
        measure(&bench, speed);
    free(matrices);
    free(pivots);
}
