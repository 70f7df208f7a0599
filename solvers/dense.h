/* SPDX-License-Identifier: Apache-2.0
 *
 * What LAPACK has no routine for, made of its routines, for one type: NAME(root), LAPACK(root), SCALAR,
 * REAL and IS_COMPLEX are defined by who includes this.
 */
#include <float.h>

#define EPSILON            (sizeof(REAL) == sizeof(float) ? FLT_EPSILON : DBL_EPSILON)
#define HERMITIAN_ROUNDING 64 /* as in core/matrix/matrix_norms.c */

void LAPACK(getrf)(const int *m, const int *n, SCALAR *a, const int *lda, int *ipiv, int *info);
#if IS_COMPLEX
void LAPACK(gelsd)(const int *m, const int *n, const int *nrhs, SCALAR *a, const int *lda, SCALAR *b,
                   const int *ldb, REAL *s, const REAL *rcond, int *rank, SCALAR *work, const int *lwork,
                   REAL *rwork, int *iwork, int *info);
#else
void LAPACK(gelsd)(const int *m, const int *n, const int *nrhs, SCALAR *a, const int *lda, SCALAR *b,
                   const int *ldb, REAL *s, const REAL *rcond, int *rank, SCALAR *work, const int *lwork,
                   int *iwork, int *info);
#endif

/* `a` is room for the factors. */
SOLVER int NAME(gedet)(int n, const SCALAR *matrix, SCALAR *a, SCALAR *det, REAL *logabs)
{
    int info = 0, lda = n > 1 ? n : 1;
    int *pivots = malloc(((size_t)n + 1) * sizeof *pivots);
    *det = 1;
    *logabs = 0;
    if (!pivots)
        return SOLVER_NO_MEMORY;
    if (n > 0)
        memcpy(a, matrix, (size_t)n * (size_t)n * sizeof *a);
    LAPACK(getrf)(&n, &n, a, &lda, pivots, &info);
    for (int i = 0; i < n; i++) {
        SCALAR pivot = a[(size_t)i * (size_t)n + (size_t)i];
        *det *= pivots[i] == i + 1 ? pivot : -pivot;
        *logabs += log(fabs(pivot));
    }
    free(pivots);
    return info < 0 ? SOLVER_FAILED : SOLVER_OK;
}

/* The least squares solution of least norm for the columns of the identity. A is overwritten. */
static int least_squares(int m, int n, int nrhs, SCALAR *a, SCALAR *b, int ldb, REAL *s, REAL tolerance,
                         int *rank)
{
    int info = 0, lda = m > 1 ? m : 1, lwork = -1, sizes = 0;
    SCALAR size = 0;
#if IS_COMPLEX
    REAL real_size = 0;
    LAPACK(gelsd)
    (&m, &n, &nrhs, a, &lda, b, &ldb, s, &tolerance, rank, &size, &lwork, &real_size, &sizes, &info);
    REAL *reals = malloc(((size_t)real_size + 1) * sizeof *reals);
#else
    LAPACK(gelsd)(&m, &n, &nrhs, a, &lda, b, &ldb, s, &tolerance, rank, &size, &lwork, &sizes, &info);
#endif
    lwork = (int)creal(size) + 1;
    SCALAR *work = malloc((size_t)lwork * sizeof *work);
    int *integers = malloc(((size_t)sizes + 1) * sizeof *integers);
    bool room = work && integers;
#if IS_COMPLEX
    room = room && reals;
    if (room)
        LAPACK(gelsd)
    (&m, &n, &nrhs, a, &lda, b, &ldb, s, &tolerance, rank, work, &lwork, reals, integers, &info);
    free(reals);
#else
    if (room)
        LAPACK(gelsd)(&m, &n, &nrhs, a, &lda, b, &ldb, s, &tolerance, rank, work, &lwork, integers, &info);
#endif
    free(work);
    free(integers);
    return !room ? SOLVER_NO_MEMORY : info > 0 ? SOLVER_NO_CONVERGENCE : info < 0 ? SOLVER_FAILED : SOLVER_OK;
}

SOLVER int NAME(gepinv)(int m, int n, const SCALAR *matrix, REAL tolerance, SCALAR *a, SCALAR *x, int *rank)
{
    int least = m < n ? m : n, ldb = m > n ? m : n;
    *rank = 0;
    if (least == 0)
        return SOLVER_OK;
    SCALAR *b = calloc((size_t)ldb * (size_t)m, sizeof *b);
    REAL *s = malloc((size_t)least * sizeof *s);
    int status = SOLVER_NO_MEMORY;
    if (b && s) {
        memcpy(a, matrix, (size_t)m * (size_t)n * sizeof *a);
        for (int i = 0; i < m; i++)
            b[(size_t)i * (size_t)ldb + (size_t)i] = 1;
        status = least_squares(m, n, m, a, b, ldb, s, tolerance, rank);
        for (int j = 0; j < m && status == SOLVER_OK; j++)
            memcpy(x + (size_t)j * (size_t)n, b + (size_t)j * (size_t)ldb, (size_t)n * sizeof *x);
    }
    free(b);
    free(s);
    return status;
}

/* Of the matrix of which these are the singular values. */
SOLVER void NAME(gecond)(int n, const REAL *s, REAL *cond)
{
    *cond = n == 0 ? 0 : s[n - 1] > 0 ? s[0] / s[n - 1] : (REAL)INFINITY;
}

SOLVER void NAME(extents)(int m, int n, const SCALAR *a, int *rows, int *columns)
{
    (void)a;
    *rows = m;
    *columns = n;
}

/* Whether A = A^H up to rounding, as matrix_is_symmetric() of core/matrix/matrix.h tells of what callers
 * have. */
static bool is_hermitian(int n, const SCALAR *a)
{
    const size_t order = (size_t)n;
    for (size_t j = 0; j < order; j++)
        for (size_t i = 0; i <= j; i++) {
            SCALAR above = a[j * order + i], below = a[i * order + j];
            if (above == (SCALAR)conj(below))
                continue;
            double largest = fmax(fabs(below), fmax(fabs(a[i * order + i]), fabs(a[j * order + j])));
            if (!(fabs(above - (SCALAR)conj(below)) <= HERMITIAN_ROUNDING * EPSILON * largest) ||
                !isfinite(largest))
                return false;
        }
    return true;
}

SOLVER void NAME(gestructure)(int m, int n, const SCALAR *a, int *below, int *above, int *hermitian,
                              int *positive, int *unit)
{
    *below = *above = 0;
    *hermitian = m == n && is_hermitian(n, a);
    *positive = *unit = m == n;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            SCALAR element = a[(size_t)j * (size_t)m + (size_t)i];
            if (element == 0)
                continue;
            *below = i - j > *below ? i - j : *below;
            *above = j - i > *above ? j - i : *above;
        }
    for (int j = 0; j < n && j < m; j++) {
        SCALAR element = a[(size_t)j * (size_t)m + (size_t)j];
        *positive = *positive && creal(element) > 0 &&
                    fabs(cimag(element)) <= HERMITIAN_ROUNDING * EPSILON * creal(element);
        *unit = *unit && element == 1;
    }
}
