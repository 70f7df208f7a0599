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
void LAPACK(gtsv)(const int *n, const int *nrhs, SCALAR *dl, SCALAR *d, SCALAR *du, SCALAR *b, const int *ldb,
                  int *info);
void LAPACK(gttrf)(const int *n, SCALAR *dl, SCALAR *d, SCALAR *du, SCALAR *du2, int *ipiv, int *info);
void LAPACK(gttrs)(const char *trans, const int *n, const int *nrhs, const SCALAR *dl, const SCALAR *d,
                   const SCALAR *du, const SCALAR *du2, const int *ipiv, SCALAR *b, const int *ldb, int *info,
                   size_t trans_length);
void LAPACK(ptsv)(const int *n, const int *nrhs, REAL *d, SCALAR *e, SCALAR *b, const int *ldb, int *info);
void LAPACK(ptcon)(const int *n, const REAL *d, const SCALAR *e, const REAL *anorm, REAL *rcond, REAL *work,
                   int *info);
void LAPACK(tptri)(const char *uplo, const char *diag, const int *n, SCALAR *ap, int *info,
                   size_t uplo_length, size_t diag_length);
void LAPACK(tpcon)(const char *norm, const char *uplo, const char *diag, const int *n, const SCALAR *ap,
                   REAL *rcond, SCALAR *work, MORE_TYPE *more, int *info, size_t norm_length,
                   size_t uplo_length, size_t diag_length);
void LAPACK(tptrs)(const char *uplo, const char *trans, const char *diag, const int *n, const int *nrhs,
                   const SCALAR *ap, SCALAR *b, const int *ldb, int *info, size_t uplo_length,
                   size_t trans_length, size_t diag_length);
void LAPACK(tbtrs)(const char *uplo, const char *trans, const char *diag, const int *n, const int *kd,
                   const int *nrhs, const SCALAR *ab, const int *ldab, SCALAR *b, const int *ldb, int *info,
                   size_t uplo_length, size_t trans_length, size_t diag_length);
void LAPACK(tbcon)(const char *norm, const char *uplo, const char *diag, const int *n, const int *kd,
                   const SCALAR *ab, const int *ldab, REAL *rcond, SCALAR *work, MORE_TYPE *more, int *info,
                   size_t norm_length, size_t uplo_length, size_t diag_length);
void LAPACK(gglse)(const int *m, const int *n, const int *p, SCALAR *a, const int *lda, SCALAR *b,
                   const int *ldb, SCALAR *c, SCALAR *d, SCALAR *x, SCALAR *work, const int *lwork,
                   int *info);
void LAPACK(ggglm)(const int *n, const int *m, const int *p, SCALAR *a, const int *lda, SCALAR *b,
                   const int *ldb, SCALAR *d, SCALAR *x, SCALAR *y, SCALAR *work, const int *lwork,
                   int *info);
void LAPACK(pbsv)(const char *uplo, const int *n, const int *kd, const int *nrhs, SCALAR *ab, const int *ldab,
                  SCALAR *b, const int *ldb, int *info, size_t uplo_length);
void LAPACK(pbcon)(const char *uplo, const int *n, const int *kd, const SCALAR *ab, const int *ldab,
                   const REAL *anorm, REAL *rcond, SCALAR *work, MORE_TYPE *more, int *info,
                   size_t uplo_length);
void LAPACK(ppsv)(const char *uplo, const int *n, const int *nrhs, SCALAR *ap, SCALAR *b, const int *ldb,
                  int *info, size_t uplo_length);
void LAPACK(ppcon)(const char *uplo, const int *n, const SCALAR *ap, const REAL *anorm, REAL *rcond,
                   SCALAR *work, MORE_TYPE *more, int *info, size_t uplo_length);
void LAPACK(spsv)(const char *uplo, const int *n, const int *nrhs, SCALAR *ap, int *ipiv, SCALAR *b,
                  const int *ldb, int *info, size_t uplo_length);
void LAPACK(gels)(const char *trans, const int *m, const int *n, const int *nrhs, SCALAR *a, const int *lda,
                  SCALAR *b, const int *ldb, SCALAR *work, const int *lwork, int *info, size_t trans_length);
#if IS_COMPLEX
void LAPACK(hpsv)(const char *uplo, const int *n, const int *nrhs, SCALAR *ap, int *ipiv, SCALAR *b,
                  const int *ldb, int *info, size_t uplo_length);
void LAPACK(spcon)(const char *uplo, const int *n, const SCALAR *ap, const int *ipiv, const REAL *anorm,
                   REAL *rcond, SCALAR *work, int *info, size_t uplo_length);
void LAPACK(hpcon)(const char *uplo, const int *n, const SCALAR *ap, const int *ipiv, const REAL *anorm,
                   REAL *rcond, SCALAR *work, int *info, size_t uplo_length);
void LAPACK(gelss)(const int *m, const int *n, const int *nrhs, SCALAR *a, const int *lda, SCALAR *b,
                   const int *ldb, REAL *s, const REAL *rcond, int *rank, SCALAR *work, const int *lwork,
                   REAL *rwork, int *info);
void LAPACK(gelsy)(const int *m, const int *n, const int *nrhs, SCALAR *a, const int *lda, SCALAR *b,
                   const int *ldb, int *jpvt, const REAL *rcond, int *rank, SCALAR *work, const int *lwork,
                   REAL *rwork, int *info);
void LAPACK(gtcon)(const char *norm, const int *n, const SCALAR *dl, const SCALAR *d, const SCALAR *du,
                   const SCALAR *du2, const int *ipiv, const REAL *anorm, REAL *rcond, SCALAR *work,
                   int *info, size_t norm_length);
void LAPACK(hesv)(const char *uplo, const int *n, const int *nrhs, SCALAR *a, const int *lda, int *ipiv,
                  SCALAR *b, const int *ldb, SCALAR *work, const int *lwork, int *info, size_t uplo_length);
void LAPACK(sycon)(const char *uplo, const int *n, const SCALAR *a, const int *lda, const int *ipiv,
                   const REAL *anorm, REAL *rcond, SCALAR *work, int *info, size_t uplo_length);
void LAPACK(hecon)(const char *uplo, const int *n, const SCALAR *a, const int *lda, const int *ipiv,
                   const REAL *anorm, REAL *rcond, SCALAR *work, int *info, size_t uplo_length);
void LAPACK(lacn2)(const int *n, SCALAR *v, SCALAR *x, REAL *est, int *kase, int *isave);
#else
void LAPACK(spcon)(const char *uplo, const int *n, const SCALAR *ap, const int *ipiv, const REAL *anorm,
                   REAL *rcond, SCALAR *work, int *iwork, int *info, size_t uplo_length);
void LAPACK(gelss)(const int *m, const int *n, const int *nrhs, SCALAR *a, const int *lda, SCALAR *b,
                   const int *ldb, REAL *s, const REAL *rcond, int *rank, SCALAR *work, const int *lwork,
                   int *info);
void LAPACK(gelsy)(const int *m, const int *n, const int *nrhs, SCALAR *a, const int *lda, SCALAR *b,
                   const int *ldb, int *jpvt, const REAL *rcond, int *rank, SCALAR *work, const int *lwork,
                   int *info);
void LAPACK(gtcon)(const char *norm, const int *n, const SCALAR *dl, const SCALAR *d, const SCALAR *du,
                   const SCALAR *du2, const int *ipiv, const REAL *anorm, REAL *rcond, SCALAR *work,
                   int *iwork, int *info, size_t norm_length);
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

/* ---- of triangles in packed and band storage ---- */

/* The 1-norm of a symmetric or Hermitian matrix of which the columns of one triangle are stored, one after
 * another. */
static REAL norm_one_of_packed(char uplo, int n, const SCALAR *ap)
{
    REAL *sums = calloc((size_t)n + 1, sizeof *sums);
    const bool upper = uplo == 'U' || uplo == 'u';
    for (int j = 0; sums && j < n; j++)
        for (int i = upper ? 0 : j; i < (upper ? j + 1 : n); i++) {
            const REAL size = (REAL)fabs(*ap++);
            sums[j] += size;
            sums[i] += i != j ? size : 0;
        }
    const REAL norm = largest_of(sums, n);
    free(sums);
    return norm;
}

SOLVER void NAME(ppsv)(char uplo, int n, int nrhs, SCALAR *ap, SCALAR *b, int *info, REAL *rcond)
{
    const int ldb = leading(n);
    const REAL norm = norm_one_of_packed(uplo, n, ap);
    struct estimate estimate;
    int unused;
    *rcond = 1;
    LAPACK(ppsv)(&uplo, &n, &nrhs, ap, b, &ldb, info, 1);
    if (estimate_begin(n, &estimate) && *info == 0 && n > 0)
        LAPACK(ppcon)(&uplo, &n, ap, &norm, rcond, estimate.work, estimate.more, &unused, 1);
    estimate_end(&estimate);
}

SOLVER void NAME(spsv)(char uplo, int n, int nrhs, SCALAR *ap, int *ipiv, SCALAR *b, int *info, REAL *rcond)
{
    const int ldb = leading(n);
    const REAL norm = norm_one_of_packed(uplo, n, ap);
    struct estimate estimate;
    int unused;
    *rcond = 1;
    LAPACK(spsv)(&uplo, &n, &nrhs, ap, ipiv, b, &ldb, info, 1);
    if (estimate_begin(n, &estimate) && *info == 0 && n > 0)
#if IS_COMPLEX
        LAPACK(spcon)(&uplo, &n, ap, ipiv, &norm, rcond, estimate.work, &unused, 1);
#else
        LAPACK(spcon)(&uplo, &n, ap, ipiv, &norm, rcond, estimate.work, estimate.more, &unused, 1);
#endif
    estimate_end(&estimate);
}

#if IS_COMPLEX
SOLVER void NAME(hpsv)(char uplo, int n, int nrhs, SCALAR *ap, int *ipiv, SCALAR *b, int *info, REAL *rcond)
{
    const int ldb = leading(n);
    const REAL norm = norm_one_of_packed(uplo, n, ap);
    struct estimate estimate;
    int unused;
    *rcond = 1;
    LAPACK(hpsv)(&uplo, &n, &nrhs, ap, ipiv, b, &ldb, info, 1);
    if (estimate_begin(n, &estimate) && *info == 0 && n > 0)
        LAPACK(hpcon)(&uplo, &n, ap, ipiv, &norm, rcond, estimate.work, &unused, 1);
    estimate_end(&estimate);
}
#endif

/* The 1-norm of a symmetric or Hermitian band matrix. The diagonal is the last row of the stored upper
 * triangle, or the first row of the stored lower one. */
static REAL norm_one_of_half_band(char uplo, int n, int kd, const SCALAR *ab)
{
    REAL *sums = calloc((size_t)n + 1, sizeof *sums);
    const size_t rows = (size_t)kd + 1;
    const bool upper = uplo == 'U' || uplo == 'u';
    for (int j = 0; sums && j < n; j++)
        for (int d = 0; d <= kd && (upper ? d <= j : d < n - j); d++) {
            const REAL size = (REAL)fabs(ab[(size_t)j * rows + (size_t)(upper ? kd - d : d)]);
            sums[j] += size;
            sums[upper ? j - d : j + d] += d != 0 ? size : 0;
        }
    const REAL norm = largest_of(sums, n);
    free(sums);
    return norm;
}

SOLVER void NAME(pbsv)(char uplo, int n, int kd, int nrhs, SCALAR *ab, SCALAR *b, int *info, REAL *rcond)
{
    const int ldab = kd + 1, ldb = leading(n);
    const REAL norm = norm_one_of_half_band(uplo, n, kd, ab);
    struct estimate estimate;
    int unused;
    *rcond = 1;
    LAPACK(pbsv)(&uplo, &n, &kd, &nrhs, ab, &ldab, b, &ldb, info, 1);
    if (estimate_begin(n, &estimate) && *info == 0 && n > 0)
        LAPACK(pbcon)
    (&uplo, &n, &kd, ab, &ldab, &norm, rcond, estimate.work, estimate.more, &unused, 1);
    estimate_end(&estimate);
}

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

SOLVER void NAME(tptri)(char uplo, char diag, int n, SCALAR *ap, int *info, REAL *rcond)
{
    struct estimate estimate;
    int unused;
    *rcond = 1;
    if (estimate_begin(n, &estimate) && n > 0)
        LAPACK(tpcon)
    ("1", &uplo, &diag, &n, ap, rcond, estimate.work, estimate.more, &unused, 1, 1, 1);
    estimate_end(&estimate);
    LAPACK(tptri)(&uplo, &diag, &n, ap, info, 1, 1);
}

SOLVER void NAME(tptrs)(char uplo, char trans, char diag, int n, int nrhs, const SCALAR *ap, SCALAR *b,
                        int *info, REAL *rcond)
{
    const int ldb = leading(n);
    struct estimate estimate;
    int unused;
    *rcond = 1;
    LAPACK(tptrs)(&uplo, &trans, &diag, &n, &nrhs, ap, b, &ldb, info, 1, 1, 1);
    if (estimate_begin(n, &estimate) && *info == 0 && n > 0)
        LAPACK(tpcon)
    ("1", &uplo, &diag, &n, ap, rcond, estimate.work, estimate.more, &unused, 1, 1, 1);
    estimate_end(&estimate);
}

SOLVER void NAME(tbtrs)(char uplo, char trans, char diag, int n, int kd, int nrhs, const SCALAR *ab,
                        SCALAR *b, int *info, REAL *rcond)
{
    const int ldab = kd + 1, ldb = leading(n);
    struct estimate estimate;
    int unused;
    *rcond = 1;
    LAPACK(tbtrs)(&uplo, &trans, &diag, &n, &kd, &nrhs, ab, &ldab, b, &ldb, info, 1, 1, 1);
    if (estimate_begin(n, &estimate) && *info == 0 && n > 0)
        LAPACK(tbcon)
    ("1", &uplo, &diag, &n, &kd, ab, &ldab, rcond, estimate.work, estimate.more, &unused, 1, 1, 1);
    estimate_end(&estimate);
}

/* ---- of tridiagonal matrices ---- */

static REAL norm_one_of_diagonals(int n, const SCALAR *below, const SCALAR *d, const SCALAR *above)
{
    REAL most = 0;
    for (int j = 0; j < n; j++) {
        REAL sum = (REAL)fabs(d[j]);
        sum += j > 0 ? (REAL)fabs(above[j - 1]) : 0;
        sum += j < n - 1 ? (REAL)fabs(below[j]) : 0;
        most = sum > most ? sum : most;
    }
    return most;
}

/* ?gtsv keeps no factors for an estimate, so it is called only where there is no memory for these. */
SOLVER void NAME(gtsv)(int n, int nrhs, SCALAR *dl, SCALAR *d, SCALAR *du, SCALAR *b, int *info, REAL *rcond)
{
    const int ldb = leading(n);
    const REAL norm = norm_one_of_diagonals(n, dl, d, du);
    SCALAR *du2 = malloc(((size_t)n + 1) * sizeof *du2);
    int *pivots = malloc(((size_t)n + 1) * sizeof *pivots);
    struct estimate estimate;
    int unused;
    *rcond = 1;
    if (!du2 || !pivots) {
        LAPACK(gtsv)(&n, &nrhs, dl, d, du, b, &ldb, info);
    } else {
        LAPACK(gttrf)(&n, dl, d, du, du2, pivots, info);
        if (*info == 0)
            LAPACK(gttrs)("N", &n, &nrhs, dl, d, du, du2, pivots, b, &ldb, info, 1);
    }
    if (estimate_begin(n, &estimate) && du2 && pivots && *info == 0 && n > 0)
#if IS_COMPLEX
        LAPACK(gtcon)("1", &n, dl, d, du, du2, pivots, &norm, rcond, estimate.work, &unused, 1);
#else
        LAPACK(gtcon)
    ("1", &n, dl, d, du, du2, pivots, &norm, rcond, estimate.work, estimate.more, &unused, 1);
#endif
    estimate_end(&estimate);
    free(du2);
    free(pivots);
}

SOLVER void NAME(ptsv)(int n, int nrhs, REAL *d, SCALAR *e, SCALAR *b, int *info, REAL *rcond)
{
    const int ldb = leading(n);
    REAL norm = 0;
    for (int j = 0; j < n; j++) {
        REAL sum = (REAL)fabs(d[j]);
        sum += j > 0 ? (REAL)fabs(e[j - 1]) : 0;
        sum += j < n - 1 ? (REAL)fabs(e[j]) : 0;
        norm = sum > norm ? sum : norm;
    }
    REAL *work = malloc(((size_t)n + 1) * sizeof *work);
    int unused;
    *rcond = 1;
    LAPACK(ptsv)(&n, &nrhs, d, e, b, &ldb, info);
    if (work && *info == 0 && n > 0)
        LAPACK(ptcon)(&n, d, e, &norm, rcond, work, &unused);
    free(work);
}

/* ---- of least squares ---- */

/* The smaller one of *rcond and that of a triangle, with which the solution was computed. */
static void lower_by(const char *uplo, int n, const SCALAR *r, int ldr, REAL *rcond)
{
    struct estimate estimate;
    REAL own = 1;
    int unused;
    if (estimate_begin(n, &estimate) && n > 0)
        LAPACK(trcon)
    ("1", uplo, "N", &n, r, &ldr, &own, estimate.work, estimate.more, &unused, 1, 1, 1);
    estimate_end(&estimate);
    *rcond = own < *rcond ? own : *rcond;
}

static void lower_by_triangle(int n, const SCALAR *r, int ldr, REAL *rcond)
{
    lower_by("U", n, r, ldr, rcond);
}

/* lwork is -1 when only the size of `work` is asked. A = Q (R; 0) or A = (L 0) Q is left. */
SOLVER void NAME(gels)(char trans, int m, int n, int nrhs, SCALAR *a, SCALAR *b, SCALAR *work, int lwork,
                       int *info, REAL *rcond)
{
    const int lda = leading(m), ldb = m > n ? lda : leading(n);
    *rcond = 1;
    LAPACK(gels)(&trans, &m, &n, &nrhs, a, &lda, b, &ldb, work, &lwork, info, 1);
    if (*info == 0 && lwork != -1 && nrhs > 0) /* without right-hand sides it factors nothing */
        lower_by(m < n ? "L" : "U", m < n ? m : n, a, lda, rcond);
}

/* What is below this part of the largest singular value counts as 0, unless the caller says otherwise. LAPACK
 * itself takes the precision alone, which the rounding errors of a matrix exceed. */
static REAL least_part(int m, int n, REAL rcond)
{
    return rcond < 0 ? (REAL)(m > n ? m : n) * (REAL)EPSILON : rcond;
}

/* The smallest singular value of those that count, relative to the largest. */
static REAL ratio_of(int rank, const REAL *s)
{
    return rank > 0 && s[0] > 0 ? s[rank - 1] / s[0] : 1;
}

/* lwork likewise. */
#if IS_COMPLEX
SOLVER void NAME(gelss)(int m, int n, int nrhs, SCALAR *a, SCALAR *b, REAL *s, REAL rcond, int *rank,
                        SCALAR *work, int lwork, REAL *rwork, int *info, REAL *ratio)
#else
SOLVER void NAME(gelss)(int m, int n, int nrhs, SCALAR *a, SCALAR *b, REAL *s, REAL rcond, int *rank,
                        SCALAR *work, int lwork, int *info, REAL *ratio)
#endif
{
    const int lda = leading(m), ldb = m > n ? lda : leading(n);
    const REAL least = least_part(m, n, rcond);
    *ratio = 1;
#if IS_COMPLEX
    LAPACK(gelss)(&m, &n, &nrhs, a, &lda, b, &ldb, s, &least, rank, work, &lwork, rwork, info);
#else
    LAPACK(gelss)(&m, &n, &nrhs, a, &lda, b, &ldb, s, &least, rank, work, &lwork, info);
#endif
    if (*info == 0 && lwork != -1)
        *ratio = ratio_of(*rank, s);
}

/* lwork likewise. */
#if IS_COMPLEX
SOLVER void NAME(gelsd)(int m, int n, int nrhs, SCALAR *a, SCALAR *b, REAL *s, REAL rcond, int *rank,
                        SCALAR *work, int lwork, REAL *rwork, int *iwork, int *info, REAL *ratio)
#else
SOLVER void NAME(gelsd)(int m, int n, int nrhs, SCALAR *a, SCALAR *b, REAL *s, REAL rcond, int *rank,
                        SCALAR *work, int lwork, int *iwork, int *info, REAL *ratio)
#endif
{
    const int lda = leading(m), ldb = m > n ? lda : leading(n);
    const REAL least = least_part(m, n, rcond);
    *ratio = 1;
#if IS_COMPLEX
    LAPACK(gelsd)(&m, &n, &nrhs, a, &lda, b, &ldb, s, &least, rank, work, &lwork, rwork, iwork, info);
#else
    LAPACK(gelsd)(&m, &n, &nrhs, a, &lda, b, &ldb, s, &least, rank, work, &lwork, iwork, info);
#endif
    if (*info == 0 && lwork != -1)
        *ratio = ratio_of(*rank, s);
}

/* lwork likewise. The triangle that the solution was computed with is left. */
#if IS_COMPLEX
SOLVER void NAME(gelsy)(int m, int n, int nrhs, SCALAR *a, SCALAR *b, int *jpvt, REAL rcond, int *rank,
                        SCALAR *work, int lwork, REAL *rwork, int *info, REAL *ratio)
#else
SOLVER void NAME(gelsy)(int m, int n, int nrhs, SCALAR *a, SCALAR *b, int *jpvt, REAL rcond, int *rank,
                        SCALAR *work, int lwork, int *info, REAL *ratio)
#endif
{
    const int lda = leading(m), ldb = m > n ? lda : leading(n);
    const REAL least = least_part(m, n, rcond);
    *ratio = 1;
#if IS_COMPLEX
    LAPACK(gelsy)(&m, &n, &nrhs, a, &lda, b, &ldb, jpvt, &least, rank, work, &lwork, rwork, info);
#else
    LAPACK(gelsy)(&m, &n, &nrhs, a, &lda, b, &ldb, jpvt, &least, rank, work, &lwork, info);
#endif
    if (*info == 0 && lwork != -1 && nrhs > 0)
        lower_by_triangle(*rank, a, lda, ratio);
}

/* lwork likewise. B = (0 R) Q and A = Z T Q are left: x follows from R and
 * from the first n - p columns of T. */
SOLVER void NAME(gglse)(int m, int n, int p, SCALAR *a, SCALAR *b, SCALAR *c, SCALAR *d, SCALAR *x,
                        SCALAR *work, int lwork, int *info, REAL *rcond)
{
    const int lda = leading(m), ldb = leading(p);
    *rcond = 1;
    LAPACK(gglse)(&m, &n, &p, a, &lda, b, &ldb, c, d, x, work, &lwork, info);
    if (*info != 0 || lwork == -1)
        return;
    lower_by_triangle(p, b + (size_t)(n - p) * (size_t)ldb, ldb, rcond);
    lower_by_triangle(n - p, a, lda, rcond);
}

/* lwork likewise. A = Q (R; 0) and B = Q T Z are left: y follows from the last n - m rows and columns of T, x
 * from R. */
SOLVER void NAME(ggglm)(int n, int m, int p, SCALAR *a, SCALAR *b, SCALAR *d, SCALAR *x, SCALAR *y,
                        SCALAR *work, int lwork, int *info, REAL *rcond)
{
    const int ld = leading(n);
    *rcond = 1;
    LAPACK(ggglm)(&n, &m, &p, a, &ld, b, &ld, d, x, y, work, &lwork, info);
    if (*info != 0 || lwork == -1)
        return;
    lower_by_triangle(n - m, b + (size_t)(m + p - n) * (size_t)ld + (size_t)m, ld, rcond);
    lower_by_triangle(m, a, ld, rcond);
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
