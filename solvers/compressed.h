/* SPDX-License-Identifier: Apache-2.0
 *
 * Products and transposes of matrices by compressed columns, and systems with triangular ones, for one type:
 * NAME(root) and SCALAR are defined by who includes this. Numbers start at 0; in what is given, rows need not
 * ascend; in what comes back they do.
 */
#include "solvers/condition.h"
#include "solvers/sparse_structure.h"

/* C := A B for a dense B, k x n. */
SOLVER int NAME(cscmm)(int m, int n, int k, const int *Ap, const int *Ai, const SCALAR *A, const SCALAR *B,
                       SCALAR *C)
{
    if (!columns_are_good(m, k, Ap, Ai))
        return SOLVER_INVALID;
    memset(C, 0, (size_t)m * (size_t)n * sizeof *C);
    for (int j = 0; j < n; j++) {
        SCALAR *column = C + (size_t)j * (size_t)m;
        for (int l = 0; l < k; l++) {
            SCALAR factor = B[(size_t)j * (size_t)k + (size_t)l];
            for (int p = Ap[l]; p < Ap[l + 1]; p++)
                column[Ai[p]] += A[p] * factor;
        }
    }
    return SOLVER_OK;
}

/* C := A B for a dense A, m x k. */
SOLVER int NAME(mmcsc)(int m, int n, int k, const SCALAR *A, const int *Bp, const int *Bi, const SCALAR *B,
                       SCALAR *C)
{
    if (!columns_are_good(k, n, Bp, Bi))
        return SOLVER_INVALID;
    memset(C, 0, (size_t)m * (size_t)n * sizeof *C);
    for (int j = 0; j < n; j++)
        for (int p = Bp[j]; p < Bp[j + 1]; p++) {
            const SCALAR *from = A + (size_t)Bi[p] * (size_t)m;
            SCALAR *to = C + (size_t)j * (size_t)m;
            for (int i = 0; i < m; i++)
                to[i] += from[i] * B[p];
        }
    return SOLVER_OK;
}

static int compare(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* C := A B, all sparse (Gustavson, ACM TOMS 4, 1978), with room for nzc elements, as many as
 * NAME(cscproduct_size) counts. */
SOLVER int NAME(cscproduct)(int m, int n, int k, const int *Ap, const int *Ai, const SCALAR *A, const int *Bp,
                            const int *Bi, const SCALAR *B, int nzc, int *Cp, int *Ci, SCALAR *C)
{
    if (!columns_are_good(m, k, Ap, Ai) || !columns_are_good(k, n, Bp, Bi))
        return SOLVER_INVALID;
    SCALAR *sum = calloc((size_t)m + 1, sizeof *sum);
    int *seen_in = calloc((size_t)m + 1, sizeof *seen_in),
        status = sum && seen_in ? SOLVER_OK : SOLVER_NO_MEMORY;
    Cp[0] = 0;
    for (int j = 0; j < n && status == SOLVER_OK; j++) {
        int used = Cp[j];
        for (int q = Bp[j]; q < Bp[j + 1]; q++)
            for (int p = Ap[Bi[q]]; p < Ap[Bi[q] + 1]; p++) {
                if (seen_in[Ai[p]] <= j && used == nzc) {
                    status = SOLVER_INVALID;
                } else if (seen_in[Ai[p]] <= j) {
                    seen_in[Ai[p]] = j + 1;
                    sum[Ai[p]] = 0;
                    Ci[used++] = Ai[p];
                }
                sum[Ai[p]] += A[p] * B[q];
            }
        qsort(Ci + Cp[j], (size_t)(used - Cp[j]), sizeof *Ci, compare);
        for (int p = Cp[j]; p < used; p++)
            C[p] = sum[Ci[p]];
        Cp[j + 1] = used;
    }
    free(sum);
    free(seen_in);
    return status == SOLVER_OK && Cp[n] != nzc ? SOLVER_INVALID : status;
}

/* B := A^T, of the same elements. */
SOLVER int NAME(csctranspose)(int m, int n, const int *Ap, const int *Ai, const SCALAR *A, int *Bp, int *Bi,
                              SCALAR *B)
{
    if (!columns_are_good(m, n, Ap, Ai))
        return SOLVER_INVALID;
    memset(Bp, 0, ((size_t)m + 1) * sizeof *Bp);
    for (int p = 0; p < Ap[n]; p++)
        Bp[Ai[p] + 1]++;
    for (int i = 0; i < m; i++)
        Bp[i + 1] += Bp[i];
    for (int j = 0; j < n; j++)
        for (int p = Ap[j]; p < Ap[j + 1]; p++) {
            int to = Bp[Ai[p]]++;
            Bi[to] = j;
            B[to] = A[p];
        }
    memmove(Bp + 1, Bp, (size_t)m * sizeof *Bp);
    Bp[0] = 0;
    return SOLVER_OK;
}

/* The element on the diagonal of column j, whose rows ascend; NULL: it is not stored. */
static const SCALAR *diagonal_of(int j, const int *Ap, const int *Ai, const SCALAR *A)
{
    for (int p = Ap[j]; p < Ap[j + 1] && Ai[p] <= j; p++)
        if (Ai[p] == j)
            return &A[p];
    return NULL;
}

/* A X = B for a triangular A of order n, column by column of A: uplo is U or L, and what is stored in the
 * other triangle is not read. */
/* X := inverse(A) X, of one column; the diagonal has no zeros. */
static void triangular_solve(bool upper, int n, const int *Ap, const int *Ai, const SCALAR *A, SCALAR *x)
{
    for (int step = 0; step < n; step++) {
        const int j = upper ? n - 1 - step : step;
        x[j] /= *diagonal_of(j, Ap, Ai, A);
        for (int p = Ap[j]; p < Ap[j + 1]; p++)
            if (upper ? Ai[p] < j : Ai[p] > j)
                x[Ai[p]] -= A[p] * x[j];
    }
}

/* The same with the conjugate transpose of A. */
static void transposed_solve(bool upper, int n, const int *Ap, const int *Ai, const SCALAR *A, SCALAR *x)
{
    for (int step = 0; step < n; step++) {
        const int j = upper ? step : n - 1 - step;
        for (int p = Ap[j]; p < Ap[j + 1]; p++)
            if (upper ? Ai[p] < j : Ai[p] > j)
                x[j] -= (SCALAR)conj(A[p]) * x[Ai[p]];
        x[j] /= (SCALAR)conj(*diagonal_of(j, Ap, Ai, A));
    }
}

/* What an estimate of the condition solves with. */
struct triangular {
    bool upper;
    int n;
    const int *pointers, *rows;
    const SCALAR *values;
};

static bool apply_triangular(void *arg, bool transposed, void *x)
{
    const struct triangular *by = arg;
    (transposed ? transposed_solve : triangular_solve)(by->upper, by->n, by->pointers, by->rows, by->values,
                                                       x);
    return true;
}

SOLVER int NAME(csctrs)(char uplo, int n, int nrhs, const int *Ap, const int *Ai, const SCALAR *A,
                        const SCALAR *B, SCALAR *X, double *rcond)
{
    const bool upper = uplo == 'U' || uplo == 'u';
    *rcond = 1;
    if (!structure_is_good(n, Ap, Ai))
        return SOLVER_INVALID;
    for (int j = 0; j < n; j++) {
        const SCALAR *diagonal = diagonal_of(j, Ap, Ai, A);
        if (!diagonal || *diagonal == 0)
            return SOLVER_SINGULAR;
    }
    memcpy(X, B, (size_t)n * (size_t)nrhs * sizeof *X);
    for (int k = 0; k < nrhs; k++)
        triangular_solve(upper, n, Ap, Ai, A, X + (size_t)k * (size_t)n);
    struct triangular triangular = {upper, n, Ap, Ai, A};
    if (n > 0 && nrhs > 0)
        *rcond = CONDITION(n, Ap, Ai, A, 0, apply_triangular, &triangular);
    return SOLVER_OK;
}
