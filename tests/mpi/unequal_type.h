/* SPDX-License-Identifier: Apache-2.0
 *
 * The trials for one type: P(root), LAPACK(root), TRIALS, SCALAR, REAL, IS_COMPLEX are defined by the file
 * that includes this one.
 */
#include "solvers/unequal.h"
#include "tests/mpi/unequal.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void LAPACK(getrf)(const int *, const int *, SCALAR *, const int *, int *, int *);
void LAPACK(gesv)(const int *, const int *, SCALAR *, const int *, int *, SCALAR *, const int *, int *);
void LAPACK(geqrf)(const int *, const int *, SCALAR *, const int *, SCALAR *, SCALAR *, const int *, int *);
void LAPACK(gels)(const char *, const int *, const int *, const int *, SCALAR *, const int *, SCALAR *,
                  const int *, SCALAR *, const int *, int *, size_t);
void LAPACK(gemm)(const char *, const char *, const int *, const int *, const int *, const SCALAR *,
                  const SCALAR *, const int *, const SCALAR *, const int *, const SCALAR *, SCALAR *,
                  const int *, size_t, size_t);

#define EPSILON (sizeof(REAL) == sizeof(float) ? FLT_EPSILON : DBL_EPSILON)
enum { MOST = 70, ROOM = 1 << 16 };

static double modulus(double complex z)
{
    return cabs(z);
}

/* ---- whole matrices, and this rank's parts of them ---- */

static SCALAR draw_number(struct random *random)
{
    const double re = random_real(random) - 0.5, im = random_real(random) - 0.5;
#if IS_COMPLEX
    return (SCALAR)(re + im * I);
#else
    return (SCALAR)(re + 0 * im);
#endif
}

static SCALAR *draw_matrix(struct random *random, int m, int n)
{
    SCALAR *a = malloc(((size_t)m * (size_t)n + 1) * sizeof *a);
    for (int i = 0; i < m * n; i++)
        a[i] = draw_number(random);
    return a;
}

static SCALAR *copy_of(const SCALAR *a, int m, int n)
{
    SCALAR *copy = malloc(((size_t)m * (size_t)n + 1) * sizeof *copy);
    memcpy(copy, a, (size_t)m * (size_t)n * sizeof *copy);
    return copy;
}

struct held {
    int desc[9], m, n, rows, cols;
    SCALAR *data;
};

static int index_of(int own, int block, int ranks, int which)
{
    return (own / block * ranks + which) * block + own % block;
}

/* This rank's part of the matrix, with a gap behind each column. */
static struct held hold(const struct trial_grid *grid, const SCALAR *a, int m, int n)
{
    const int b = grid->block;
    struct held held = {.m = m, .n = n};
    held.rows = columns_share(m, b, grid->p, grid->row);
    held.cols = columns_share(n, b, grid->q, grid->col);
    const int desc[9] = {1, grid->context, m, n, b, b, 0, 0, held.rows + 3};
    memcpy(held.desc, desc, sizeof desc);
    held.data = calloc((size_t)desc[8] * (size_t)held.cols + 1, sizeof *held.data);
    for (int j = 0; j < held.cols; j++)
        for (int i = 0; i < held.rows; i++)
            held.data[j * desc[8] + i] = a[(size_t)index_of(j, b, grid->q, grid->col) * (size_t)m +
                                           (size_t)index_of(i, b, grid->p, grid->row)];
    return held;
}

/* Whether the rank has what is expected, to rounding. Frees what it holds. */
static bool is_close(const struct trial_grid *grid, struct held *held, const SCALAR *expected,
                     double tolerance)
{
    double error = 0, size = 1;
    for (int i = 0; i < held->m * held->n; i++)
        size = fmax(size, modulus(expected[i]));
    for (int j = 0; j < held->cols; j++)
        for (int i = 0; i < held->rows; i++) {
            const SCALAR wanted =
                expected[(size_t)index_of(j, grid->block, grid->q, grid->col) * (size_t)held->m +
                         (size_t)index_of(i, grid->block, grid->p, grid->row)];
            const double off = modulus(held->data[j * held->desc[8] + i] - wanted);
            error = off > error || isnan(off) ? off : error;
        }
    free(held->data);
    return error <= tolerance * size;
}

static bool vector_is(const struct trial_grid *grid, bool with_rows, const void *part, const void *whole,
                      int n, size_t bytes)
{
    const int ranks = with_rows ? grid->p : grid->q, which = with_rows ? grid->row : grid->col;
    for (int i = 0; i < columns_share(n, grid->block, ranks, which); i++)
        if (memcmp((const char *)part + (size_t)i * bytes,
                   (const char *)whole + (size_t)index_of(i, grid->block, ranks, which) * bytes, bytes) != 0)
            return false;
    return true;
}

static int size_below(struct random *random, int most)
{
    return (int)random_below(random, 4) == 0 ? (int)random_below(random, 5)
                                             : (int)random_below(random, (uint64_t)most + 1);
}

/* ---- LU ---- */

static int compare_lu(const struct trial_grid *grid, const SCALAR *a, int m, int n, const char *what)
{
    SCALAR *expected = copy_of(a, m, n);
    int *pivots = calloc((size_t)m + 1, sizeof *pivots), *found = calloc((size_t)m + 1, sizeof *found);
    struct held held = hold(grid, a, m, n);
    int info = -7, wanted = 0, lda = m > 1 ? m : 1, errors = 0;
    LAPACK(getrf)(&m, &n, expected, &lda, pivots, &wanted);
    P(getrf_unequal_)(&grid->comm, &m, &n, held.data, held.desc, found, &info);
    if (!is_close(grid, &held, expected, 2000 * EPSILON) ||
        !vector_is(grid, true, found, pivots, m < n ? m : n, sizeof(int)) || info != wanted)
        errors = wrong(what, m, n, grid);
    free(expected);
    free(pivots);
    free(found);
    return errors;
}

static int try_lu(struct random *random, const struct trial_grid *grid)
{
    const int m = size_below(random, MOST), n = size_below(random, MOST);
    SCALAR *a = draw_matrix(random, m, n);
    const int errors = compare_lu(grid, a, m, n, "LU");
    free(a);
    return errors;
}

/* Columns of zeroes from one on: no rounding, so LAPACK's first zero pivot is ours. */
static int try_singular_lu(struct random *random, const struct trial_grid *grid)
{
    const int n = 1 + size_below(random, MOST), from = (int)random_below(random, (uint64_t)n);
    SCALAR *a = draw_matrix(random, n, n);
    for (int i = 0; i < n; i++)
        a[(size_t)from * (size_t)n + (size_t)i] = 0;
    const int errors = compare_lu(grid, a, n, n, "singular LU");
    free(a);
    return errors;
}

static int try_solve(struct random *random, const struct trial_grid *grid, bool singular)
{
    const int n = size_below(random, MOST) + singular, nrhs = 1 + size_below(random, 20);
    SCALAR *a = draw_matrix(random, n, n), *b = draw_matrix(random, n, nrhs);
    for (int i = 0; i < n; i++)
        a[i * n + i] = singular ? 0 : a[i * n + i] + 4;
    for (int i = 0; singular && i < n; i++)
        a[i * n + n / 2] = a[n / 2 * n + i] = 0;
    struct held held_a = hold(grid, a, n, n), held_b = hold(grid, b, n, nrhs);
    int *pivots = calloc((size_t)n + 1, sizeof *pivots), *found = calloc((size_t)n + 1, sizeof *found);
    int info = -7, wanted = 0, lda = n > 1 ? n : 1, errors = 0;
    LAPACK(gesv)(&n, &nrhs, a, &lda, pivots, b, &lda, &wanted);
    P(gesv_unequal_)
    (&grid->comm, &n, &nrhs, held_a.data, held_a.desc, found, held_b.data, held_b.desc, &info);
    /* of a singular matrix B is not looked at: whether it was permuted is LAPACK's own affair */
    bool good = is_close(grid, &held_a, a, 2000 * EPSILON);
    good = (is_close(grid, &held_b, b, 2000 * EPSILON) || singular) && good;
    if (!good || info != wanted || (singular && wanted == 0))
        errors = wrong(singular ? "solve with a singular matrix" : "solve", n, nrhs, grid);
    free(a);
    free(b);
    free(pivots);
    free(found);
    return errors;
}

/* One number that is none: the routine ends, and says so by what it gives back. */
static int try_nan(struct random *random, const struct trial_grid *grid)
{
    const int n = 1 + size_below(random, MOST), nrhs = 2;
    SCALAR *a = draw_matrix(random, n, n), *b = draw_matrix(random, n, nrhs);
    a[random_below(random, (uint64_t)(n * n))] = NAN;
    struct held held_a = hold(grid, a, n, n), held_b = hold(grid, b, n, nrhs);
    int *found = calloc((size_t)n + 1, sizeof *found), info = -7;
    P(gesv_unequal_)
    (&grid->comm, &n, &nrhs, held_a.data, held_a.desc, found, held_b.data, held_b.desc, &info);
    int numbers = 1;
    for (int j = 0; j < held_b.cols; j++)
        for (int i = 0; i < held_b.rows; i++)
            numbers = numbers && !isnan(modulus(held_b.data[j * held_b.desc[8] + i]));
    const bool all_numbers = columns_all(MPI_Comm_f2c(grid->comm), numbers);
    free(held_a.data);
    free(held_b.data);
    free(found);
    free(a);
    free(b);
    return info == 0 && all_numbers ? wrong("solve with a NaN", n, nrhs, grid) : 0;
}

/* ---- QR ---- */

static int try_qr(struct random *random, const struct trial_grid *grid)
{
    const int m = size_below(random, MOST), n = size_below(random, MOST), least = m < n ? m : n, room = ROOM;
    SCALAR *a = draw_matrix(random, m, n), *work = malloc(ROOM * sizeof *work);
    SCALAR *tau = calloc((size_t)n + 1, sizeof *tau), *found = calloc((size_t)n + 1, sizeof *found);
    struct held held = hold(grid, a, m, n);
    int info = -7, wanted = 0, lda = m > 1 ? m : 1, errors = 0;
    LAPACK(geqrf)(&m, &n, a, &lda, tau, work, &room, &wanted);
    P(geqrf_unequal_)(&grid->comm, &m, &n, held.data, held.desc, found, &info);
    double off = 0;
    for (int i = 0; i < columns_share(least, grid->block, grid->q, grid->col); i++)
        off = fmax(off, modulus(found[i] - tau[index_of(i, grid->block, grid->q, grid->col)]));
    if (!is_close(grid, &held, a, 2000 * EPSILON) || off > 2000 * EPSILON || info != wanted)
        errors = wrong("QR", m, n, grid);
    free(a);
    free(work);
    free(tau);
    free(found);
    return errors;
}

enum rank_of { FULL, ZERO_COLUMN, ALL_ZERO };

static int try_least_squares(struct random *random, const struct trial_grid *grid, enum rank_of rank)
{
    const int n = size_below(random, MOST / 2) + (rank != FULL), m = n + size_below(random, MOST / 2),
              nrhs = size_below(random, 9), room = ROOM;
    SCALAR *a = draw_matrix(random, m, n), *b = draw_matrix(random, m, nrhs),
           *work = malloc(ROOM * sizeof *work);
    for (int i = 0; i < n; i++)
        a[i * m + i] += 4;
    for (int i = 0; i < m * n && rank != FULL; i++)
        a[i] = rank == ALL_ZERO || i / m == n / 2 ? 0 : a[i];
    struct held held_a = hold(grid, a, m, n), held_b = hold(grid, b, m, nrhs);
    int info = -7, wanted = 0, lda = m > 1 ? m : 1, errors = 0;
    LAPACK(gels)("N", &m, &n, &nrhs, a, &lda, b, &lda, work, &room, &wanted, 1);
    P(gels_unequal_)(&grid->comm, &m, &n, &nrhs, held_a.data, held_a.desc, held_b.data, held_b.desc, &info);
    free(held_a.data);
    if (!(is_close(grid, &held_b, b, 5000 * EPSILON) || rank == ZERO_COLUMN) || info != wanted)
        errors = wrong(rank == FULL ? "least squares" : "least squares without full rank", m, n, grid);
    free(a);
    free(b);
    free(work);
    return errors;
}

/* ---- products ---- */

static int try_product(struct random *random, const struct trial_grid *grid)
{
    const int m = size_below(random, MOST), n = size_below(random, MOST), k = size_below(random, MOST);
    SCALAR *a = draw_matrix(random, m, k), *b = draw_matrix(random, k, n), *c = draw_matrix(random, m, n);
    const SCALAR alpha = draw_number(random),
                 beta = random_below(random, 2) ? draw_number(random) : (SCALAR)0;
    for (int i = 0; i < m * n && beta == 0; i++)
        c[i] = NAN; /* is not read */
    struct held held_a = hold(grid, a, m, k), held_b = hold(grid, b, k, n), held_c = hold(grid, c, m, n);
    int info = -7, lda = m > 1 ? m : 1, ldb = k > 1 ? k : 1, errors = 0;
    LAPACK(gemm)("N", "N", &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &lda, 1, 1);
    P(gemm_unequal_)
    (&grid->comm, &m, &n, &k, &alpha, held_a.data, held_a.desc, held_b.data, held_b.desc, &beta, held_c.data,
     held_c.desc, &info);
    if (!is_close(grid, &held_c, c, 2000 * EPSILON) || info != 0)
        errors = wrong("product", m, n, grid);
    free(held_a.data);
    free(held_b.data);
    free(a);
    free(b);
    free(c);
    return errors;
}

int ALL_TRIALS(struct random *random, const struct trial_grid *grid)
{
    int errors = try_lu(random, grid) + try_singular_lu(random, grid);
    errors += try_solve(random, grid, false) + try_solve(random, grid, true) + try_nan(random, grid);
    errors += try_qr(random, grid) + try_least_squares(random, grid, FULL);
    errors += try_least_squares(random, grid, ZERO_COLUMN) + try_least_squares(random, grid, ALL_ZERO);
    return errors + try_product(random, grid);
}
