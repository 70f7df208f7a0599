/* SPDX-License-Identifier: Apache-2.0
 *
 * LAPACK's solvers in mixed precision that also estimate the reciprocal condition number, for double or
 * double complex: on top of solvers/conditioned.h, SHORTER(root) and SHORT_SCALAR are the routines and the
 * type of the lower precision, MIXED(root) LAPACK's solver.
 *
 * Where the refinement failed, the factors in double precision are left. Otherwise only those in single
 * precision are: they cannot tell a condition number of 1e16 from one of 1e8. Only for a matrix beyond 1e7
 * the factors are computed in double precision, in a copy.
 */
#if IS_COMPLEX
#define SHORT_MORE float
#else
#define SHORT_MORE int
#endif

void SHORTER(gecon)(const char *norm, const int *n, const SHORT_SCALAR *a, const int *lda, const float *anorm,
                    float *rcond, SHORT_SCALAR *work, SHORT_MORE *more, int *info, size_t norm_length);
void SHORTER(pocon)(const char *uplo, const int *n, const SHORT_SCALAR *a, const int *lda, const float *anorm,
                    float *rcond, SHORT_SCALAR *work, SHORT_MORE *more, int *info, size_t uplo_length);
void LAPACK(potrf)(const char *uplo, const int *n, SCALAR *a, const int *lda, int *info, size_t uplo_length);
#if IS_COMPLEX
void MIXED(gesv)(const int *n, const int *nrhs, SCALAR *a, const int *lda, int *ipiv, const SCALAR *b,
                 const int *ldb, SCALAR *x, const int *ldx, SCALAR *work, SHORT_SCALAR *swork, REAL *rwork,
                 int *iter, int *info);
void MIXED(posv)(const char *uplo, const int *n, const int *nrhs, SCALAR *a, const int *lda, const SCALAR *b,
                 const int *ldb, SCALAR *x, const int *ldx, SCALAR *work, SHORT_SCALAR *swork, REAL *rwork,
                 int *iter, int *info, size_t uplo_length);
#else
void MIXED(gesv)(const int *n, const int *nrhs, SCALAR *a, const int *lda, int *ipiv, const SCALAR *b,
                 const int *ldb, SCALAR *x, const int *ldx, SCALAR *work, SHORT_SCALAR *swork, int *iter,
                 int *info);
void MIXED(posv)(const char *uplo, const int *n, const int *nrhs, SCALAR *a, const int *lda, const SCALAR *b,
                 const int *ldb, SCALAR *x, const int *ldx, SCALAR *work, SHORT_SCALAR *swork, int *iter,
                 int *info, size_t uplo_length);
#endif

/* `uplo`: 'U' or 'L' of Cholesky's factor, 0 of LU's factors. */
static REAL rcond_of_factors(char uplo, int n, const SCALAR *factors, REAL norm)
{
    const int lda = leading(n);
    struct estimate estimate;
    REAL rcond = 1;
    int unused;
    if (estimate_begin(n, &estimate) && uplo)
        LAPACK(pocon)(&uplo, &n, factors, &lda, &norm, &rcond, estimate.work, estimate.more, &unused, 1);
    else if (estimate.work && estimate.more)
        LAPACK(gecon)("1", &n, factors, &lda, &norm, &rcond, estimate.work, estimate.more, &unused, 1);
    estimate_end(&estimate);
    return rcond;
}

/* rcond_of_factors() of the factors in single precision. */
static REAL rcond_of_short(char uplo, int n, const SHORT_SCALAR *factors, REAL norm)
{
    const int lda = leading(n);
    const float short_norm = (float)norm;
    SHORT_SCALAR *work = malloc((4 * (size_t)n + 1) * sizeof *work);
    SHORT_MORE *more = malloc((2 * (size_t)n + 1) * sizeof *more);
    float rcond = 1;
    int unused;
    if (work && more && uplo)
        SHORTER(pocon)(&uplo, &n, factors, &lda, &short_norm, &rcond, work, more, &unused, 1);
    else if (work && more)
        SHORTER(gecon)("1", &n, factors, &lda, &short_norm, &rcond, work, more, &unused, 1);
    free(work);
    free(more);
    return (REAL)rcond;
}

/* Of a matrix that is not factored. 1 without memory, 0 when it has no factors. */
static REAL rcond_of_matrix(char uplo, int n, const SCALAR *a, REAL norm)
{
    const int lda = leading(n);
    SCALAR *copy = malloc((size_t)n * (size_t)n * sizeof *copy);
    int *pivots = malloc((size_t)n * sizeof *pivots);
    REAL rcond = 1;
    int info = 0;
    if (copy && pivots) {
        memcpy(copy, a, (size_t)n * (size_t)n * sizeof *copy);
        if (uplo)
            LAPACK(potrf)(&uplo, &n, copy, &lda, &info, 1);
        else
            LAPACK(getrf)(&n, &n, copy, &lda, pivots, &info);
        rcond = info == 0 ? rcond_of_factors(uplo, n, copy, norm) : 0;
    }
    free(copy);
    free(pivots);
    return rcond;
}

/* The number of a system that was solved: iter < 0 says that `a` has its factors, else `swork` begins with
 * them. */
static REAL rcond_of_mixed(char uplo, int n, const SCALAR *a, const SHORT_SCALAR *swork, int iter, REAL norm)
{
    if (n == 0)
        return 1;
    if (iter < 0)
        return rcond_of_factors(uplo, n, a, norm);
    const REAL rcond = rcond_of_short(uplo, n, swork, norm);
    return rcond < 2 * (REAL)FLT_EPSILON ? rcond_of_matrix(uplo, n, a, norm) : rcond;
}

#if IS_COMPLEX
SOLVER void NAME(cgesv)(int n, int nrhs, SCALAR *a, int *ipiv, const SCALAR *b, SCALAR *x, SCALAR *work,
                        SHORT_SCALAR *swork, REAL *rwork, int *iter, int *info, REAL *rcond)
#else
SOLVER void NAME(sgesv)(int n, int nrhs, SCALAR *a, int *ipiv, const SCALAR *b, SCALAR *x, SCALAR *work,
                        SHORT_SCALAR *swork, int *iter, int *info, REAL *rcond)
#endif
{
    const int ld = leading(n);
    const REAL norm = norm_one(n, a);
#if IS_COMPLEX
    MIXED(gesv)(&n, &nrhs, a, &ld, ipiv, b, &ld, x, &ld, work, swork, rwork, iter, info);
#else
    MIXED(gesv)(&n, &nrhs, a, &ld, ipiv, b, &ld, x, &ld, work, swork, iter, info);
#endif
    *rcond = *info == 0 ? rcond_of_mixed(0, n, a, swork, *iter, norm) : 1;
}

#if IS_COMPLEX
SOLVER void NAME(cposv)(char uplo, int n, int nrhs, SCALAR *a, const SCALAR *b, SCALAR *x, SCALAR *work,
                        SHORT_SCALAR *swork, REAL *rwork, int *iter, int *info, REAL *rcond)
#else
SOLVER void NAME(sposv)(char uplo, int n, int nrhs, SCALAR *a, const SCALAR *b, SCALAR *x, SCALAR *work,
                        SHORT_SCALAR *swork, int *iter, int *info, REAL *rcond)
#endif
{
    const int ld = leading(n);
    const REAL norm = norm_one_of_triangle(uplo, n, a);
#if IS_COMPLEX
    MIXED(posv)(&uplo, &n, &nrhs, a, &ld, b, &ld, x, &ld, work, swork, rwork, iter, info, 1);
#else
    MIXED(posv)(&uplo, &n, &nrhs, a, &ld, b, &ld, x, &ld, work, swork, iter, info, 1);
#endif
    *rcond = *info == 0 ? rcond_of_mixed(uplo, n, a, swork, *iter, norm) : 1;
}
