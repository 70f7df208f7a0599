/* SPDX-License-Identifier: Apache-2.0
 *
 * LAPACK's solvers that also estimate the reciprocal condition number with the factors that they have made
 * anyway, for one type: NAME(root), CONDITION, LAPACK(root), SCALAR, REAL and IS_COMPLEX are defined by who
 * includes this. Without memory for the estimate rcond is 1: nobody knows then.
 */
#include "solvers/condition.h"

#if IS_COMPLEX
#define MORE_TYPE REAL
#else
#define MORE_TYPE int
#endif

void LAPACK(gesv)(const int *n, const int *nrhs, SCALAR *a, const int *lda, int *ipiv, SCALAR *b,
                  const int *ldb, int *info);
void LAPACK(posv)(const char *uplo, const int *n, const int *nrhs, SCALAR *a, const int *lda, SCALAR *b,
                  const int *ldb, int *info, size_t uplo_length);
void LAPACK(sysv)(const char *uplo, const int *n, const int *nrhs, SCALAR *a, const int *lda, int *ipiv,
                  SCALAR *b, const int *ldb, SCALAR *work, const int *lwork, int *info, size_t uplo_length);
void LAPACK(gbsv)(const int *n, const int *kl, const int *ku, const int *nrhs, SCALAR *ab, const int *ldab,
                  int *ipiv, SCALAR *b, const int *ldb, int *info);
void LAPACK(trtrs)(const char *uplo, const char *trans, const char *diag, const int *n, const int *nrhs,
                   const SCALAR *a, const int *lda, SCALAR *b, const int *ldb, int *info, size_t uplo_length,
                   size_t trans_length, size_t diag_length);
void LAPACK(trtri)(const char *uplo, const char *diag, const int *n, SCALAR *a, const int *lda, int *info,
                   size_t uplo_length, size_t diag_length);
void LAPACK(pocon)(const char *uplo, const int *n, const SCALAR *a, const int *lda, const REAL *anorm,
                   REAL *rcond, SCALAR *work, MORE_TYPE *more, int *info, size_t uplo_length);
void LAPACK(gbcon)(const char *norm, const int *n, const int *kl, const int *ku, const SCALAR *ab,
                   const int *ldab, const int *ipiv, const REAL *anorm, REAL *rcond, SCALAR *work,
                   MORE_TYPE *more, int *info, size_t norm_length);
void LAPACK(trcon)(const char *norm, const char *uplo, const char *diag, const int *n, const SCALAR *a,
                   const int *lda, REAL *rcond, SCALAR *work, MORE_TYPE *more, int *info, size_t norm_length,
                   size_t uplo_length, size_t diag_length);
#if IS_COMPLEX
void LAPACK(hesv)(const char *uplo, const int *n, const int *nrhs, SCALAR *a, const int *lda, int *ipiv,
                  SCALAR *b, const int *ldb, SCALAR *work, const int *lwork, int *info, size_t uplo_length);
void LAPACK(sycon)(const char *uplo, const int *n, const SCALAR *a, const int *lda, const int *ipiv,
                   const REAL *anorm, REAL *rcond, SCALAR *work, int *info, size_t uplo_length);
void LAPACK(hecon)(const char *uplo, const int *n, const SCALAR *a, const int *lda, const int *ipiv,
                   const REAL *anorm, REAL *rcond, SCALAR *work, int *info, size_t uplo_length);
void LAPACK(lacn2)(const int *n, SCALAR *v, SCALAR *x, REAL *est, int *kase, int *isave);
#else
void LAPACK(sycon)(const char *uplo, const int *n, const SCALAR *a, const int *lda, const int *ipiv,
                   const REAL *anorm, REAL *rcond, SCALAR *work, int *iwork, int *info, size_t uplo_length);
void LAPACK(lacn2)(const int *n, SCALAR *v, SCALAR *x, int *isgn, REAL *est, int *kase, int *isave);
#endif

/* Work space of the estimators. */
struct estimate {
    SCALAR *work;
    MORE_TYPE *more;
};

static bool estimate_begin(int n, struct estimate *estimate)
{
    estimate->work = malloc((4 * (size_t)n + 1) * sizeof *estimate->work);
    estimate->more = malloc((2 * (size_t)n + 1) * sizeof *estimate->more);
    return estimate->work && estimate->more;
}

static void estimate_end(struct estimate *estimate)
{
    free(estimate->work);
    free(estimate->more);
}

static REAL largest_of(const REAL *sums, int n)
{
    REAL most = 0;
    for (int i = 0; sums && i < n; i++)
        most = sums[i] > most ? sums[i] : most;
    return most;
}

/* The 1-norm of a symmetric or Hermitian matrix of which one triangle is stored. */
static REAL norm_one_of_triangle(char uplo, int n, const SCALAR *a)
{
    REAL *sums = calloc((size_t)n + 1, sizeof *sums);
    const bool upper = uplo == 'U' || uplo == 'u';
    for (int j = 0; sums && j < n; j++)
        for (int i = upper ? 0 : j; i < (upper ? j + 1 : n); i++) {
            const REAL size = (REAL)fabs(a[(size_t)j * (size_t)n + (size_t)i]);
            sums[j] += size;
            sums[i] += i != j ? size : 0;
        }
    const REAL norm = largest_of(sums, n);
    free(sums);
    return norm;
}

SOLVER void NAME(gesv)(int n, int nrhs, SCALAR *a, int *ipiv, SCALAR *b, int *info, REAL *rcond)
{
    const int lda = leading(n);
    const REAL norm = norm_one(n, a);
    struct estimate estimate;
    int unused;
    *rcond = 1;
    LAPACK(gesv)(&n, &nrhs, a, &lda, ipiv, b, &lda, info);
    if (estimate_begin(n, &estimate) && *info == 0 && n > 0)
        LAPACK(gecon)("1", &n, a, &lda, &norm, rcond, estimate.work, estimate.more, &unused, 1);
    estimate_end(&estimate);
}

SOLVER void NAME(posv)(char uplo, int n, int nrhs, SCALAR *a, SCALAR *b, int *info, REAL *rcond)
{
    const int lda = leading(n);
    const REAL norm = norm_one_of_triangle(uplo, n, a);
    struct estimate estimate;
    int unused;
    *rcond = 1;
    LAPACK(posv)(&uplo, &n, &nrhs, a, &lda, b, &lda, info, 1);
    if (estimate_begin(n, &estimate) && *info == 0 && n > 0)
        LAPACK(pocon)(&uplo, &n, a, &lda, &norm, rcond, estimate.work, estimate.more, &unused, 1);
    estimate_end(&estimate);
}

/* lwork is -1 when only the size of `work` is asked. */
SOLVER void NAME(sysv)(char uplo, int n, int nrhs, SCALAR *a, int *ipiv, SCALAR *b, SCALAR *work, int lwork,
                       int *info, REAL *rcond)
{
    const int lda = leading(n);
    const REAL norm = lwork == -1 ? 0 : norm_one_of_triangle(uplo, n, a);
    struct estimate estimate;
    int unused;
    *rcond = 1;
    LAPACK(sysv)(&uplo, &n, &nrhs, a, &lda, ipiv, b, &lda, work, &lwork, info, 1);
    if (estimate_begin(n, &estimate) && *info == 0 && lwork != -1 && n > 0)
#if IS_COMPLEX
        LAPACK(sycon)(&uplo, &n, a, &lda, ipiv, &norm, rcond, estimate.work, &unused, 1);
#else
        LAPACK(sycon)(&uplo, &n, a, &lda, ipiv, &norm, rcond, estimate.work, estimate.more, &unused, 1);
#endif
    estimate_end(&estimate);
}

#if IS_COMPLEX
SOLVER void NAME(hesv)(char uplo, int n, int nrhs, SCALAR *a, int *ipiv, SCALAR *b, SCALAR *work, int lwork,
                       int *info, REAL *rcond)
{
    const int lda = leading(n);
    const REAL norm = lwork == -1 ? 0 : norm_one_of_triangle(uplo, n, a);
    struct estimate estimate;
    int unused;
    *rcond = 1;
    LAPACK(hesv)(&uplo, &n, &nrhs, a, &lda, ipiv, b, &lda, work, &lwork, info, 1);
    if (estimate_begin(n, &estimate) && *info == 0 && lwork != -1 && n > 0)
        LAPACK(hecon)(&uplo, &n, a, &lda, ipiv, &norm, rcond, estimate.work, &unused, 1);
    estimate_end(&estimate);
}
#endif

/* The band lies behind kl rows that the factors fill. */
static REAL norm_one_of_band(int n, int kl, int ku, const SCALAR *ab)
{
    const size_t rows = 2 * (size_t)kl + (size_t)ku + 1;
    REAL most = 0;
    for (int j = 0; j < n; j++) {
        REAL sum = 0;
        for (int i = j > ku ? j - ku : 0; i < n && i <= j + kl; i++)
            sum += (REAL)fabs(ab[(size_t)j * rows + (size_t)(kl + ku + i - j)]);
        most = sum > most ? sum : most;
    }
    return most;
}

SOLVER void NAME(gbsv)(int n, int kl, int ku, int nrhs, SCALAR *ab, int *ipiv, SCALAR *b, int *info,
                       REAL *rcond)
{
    const int ldab = 2 * kl + ku + 1, ldb = leading(n);
    const REAL norm = norm_one_of_band(n, kl, ku, ab);
    struct estimate estimate;
    int unused;
    *rcond = 1;
    LAPACK(gbsv)(&n, &kl, &ku, &nrhs, ab, &ldab, ipiv, b, &ldb, info);
    if (estimate_begin(n, &estimate) && *info == 0 && n > 0)
        LAPACK(gbcon)
    ("1", &n, &kl, &ku, ab, &ldab, ipiv, &norm, rcond, estimate.work, estimate.more, &unused, 1);
    estimate_end(&estimate);
}

SOLVER void NAME(trtrs)(char uplo, char trans, char diag, int n, int nrhs, const SCALAR *a, SCALAR *b,
                        int *info, REAL *rcond)
{
    const int lda = leading(n);
    struct estimate estimate;
    int unused;
    *rcond = 1;
    LAPACK(trtrs)(&uplo, &trans, &diag, &n, &nrhs, a, &lda, b, &lda, info, 1, 1, 1);
    if (estimate_begin(n, &estimate) && *info == 0 && n > 0)
        LAPACK(trcon)
    ("1", &uplo, &diag, &n, a, &lda, rcond, estimate.work, estimate.more, &unused, 1, 1, 1);
    estimate_end(&estimate);
}

SOLVER void NAME(trtri)(char uplo, char diag, int n, SCALAR *a, int *info, REAL *rcond)
{
    const int lda = leading(n);
    struct estimate estimate;
    int unused;
    *rcond = 1;
    if (estimate_begin(n, &estimate) && n > 0)
        LAPACK(trcon)
    ("1", &uplo, &diag, &n, a, &lda, rcond, estimate.work, estimate.more, &unused, 1, 1, 1);
    estimate_end(&estimate);
    LAPACK(trtri)(&uplo, &diag, &n, a, &lda, info, 1, 1);
}

/* ---- of sparse matrices ---- */

static REAL norm_one_compressed(int n, const int *pointers, const int *rows, const SCALAR *values,
                                char triangle)
{
    REAL *sums = calloc((size_t)n + 1, sizeof *sums);
    for (int j = 0; sums && j < n; j++)
        for (int k = pointers[j]; k < pointers[j + 1]; k++) {
            const int i = rows[k];
            if ((triangle == 'U' && i > j) || (triangle == 'L' && i < j))
                continue;
            sums[j] += (REAL)fabs(values[k]);
            sums[i] += triangle && i != j ? (REAL)fabs(values[k]) : 0;
        }
    const REAL norm = largest_of(sums, n);
    free(sums);
    return norm;
}

double CONDITION(int n, const int *pointers, const int *rows, const void *values, char triangle,
                 inverse_apply *apply, void *arg)
{
    SCALAR *v = calloc((size_t)n + 1, sizeof *v), *x = calloc((size_t)n + 1, sizeof *x);
    int *signs = calloc((size_t)n + 1, sizeof *signs), kase = 0, state[3] = {0};
    REAL inverse = 0;
    bool goes = v && x && signs && n > 0;
    while (goes) {
#if IS_COMPLEX
        LAPACK(lacn2)(&n, v, x, &inverse, &kase, state);
#else
        LAPACK(lacn2)(&n, v, x, signs, &inverse, &kase, state);
#endif
        if (kase == 0)
            break;
        goes = apply(arg, kase == 2, x);
    }
    free(v);
    free(x);
    free(signs);
    const REAL norm = norm_one_compressed(n, pointers, rows, values, triangle);
    return !goes || norm == 0 ? 1 : isfinite(inverse) ? 1 / (double)norm / (double)inverse : 0;
}
