/* SPDX-License-Identifier: Apache-2.0
 *
 * What takes several of LAPACK's routines, one behind the other, for one type: NAME(root), LAPACK(root),
 * UNITARY(root) (or.., un..), SCALAR, REAL and IS_COMPLEX are defined by who includes this. Their arrays
 * never leave the process.
 */
void LAPACK(getri)(const int *n, SCALAR *a, const int *lda, const int *ipiv, SCALAR *work, const int *lwork,
                   int *info);
void LAPACK(geqrf)(const int *m, const int *n, SCALAR *a, const int *lda, SCALAR *tau, SCALAR *work,
                   const int *lwork, int *info);
void UNITARY(gqr)(const int *m, const int *n, const int *k, SCALAR *a, const int *lda, const SCALAR *tau,
                  SCALAR *work, const int *lwork, int *info);
void LAPACK(gehrd)(const int *n, const int *ilo, const int *ihi, SCALAR *a, const int *lda, SCALAR *tau,
                   SCALAR *work, const int *lwork, int *info);
void UNITARY(ghr)(const int *n, const int *ilo, const int *ihi, SCALAR *a, const int *lda, const SCALAR *tau,
                  SCALAR *work, const int *lwork, int *info);
#if IS_COMPLEX
void LAPACK(gecon)(const char *norm, const int *n, const SCALAR *a, const int *lda, const REAL *anorm,
                   REAL *rcond, SCALAR *work, REAL *rwork, int *info, size_t norm_length);
void LAPACK(gesvd)(const char *jobu, const char *jobvt, const int *m, const int *n, SCALAR *a, const int *lda,
                   REAL *s, SCALAR *u, const int *ldu, SCALAR *vt, const int *ldvt, SCALAR *work,
                   const int *lwork, REAL *rwork, int *info, size_t jobu_length, size_t jobvt_length);
#else
void LAPACK(gecon)(const char *norm, const int *n, const SCALAR *a, const int *lda, const REAL *anorm,
                   REAL *rcond, SCALAR *work, int *iwork, int *info, size_t norm_length);
void LAPACK(gesvd)(const char *jobu, const char *jobvt, const int *m, const int *n, SCALAR *a, const int *lda,
                   REAL *s, SCALAR *u, const int *ldu, SCALAR *vt, const int *ldvt, SCALAR *work,
                   const int *lwork, int *info, size_t jobu_length, size_t jobvt_length);
#endif

static int leading(int rows)
{
    return rows > 1 ? rows : 1;
}

static void copy_matrix(SCALAR *to, const SCALAR *from, int m, int n)
{
    if (m > 0 && n > 0)
        memcpy(to, from, (size_t)m * (size_t)n * sizeof *to);
}

/* LAPACK tells how much work space it wants in the first element of it. NULL: there is none. */
static SCALAR *work_space(SCALAR told, int *lwork)
{
    *lwork = (int)creal(told) + 1;
    return malloc((size_t)*lwork * sizeof(SCALAR));
}

/* What LAPACK's info says: > 0 has a meaning of its own in each routine. */
static int status_of(int info, int positive)
{
    return info == 0 ? SOLVER_OK : info < 0 ? SOLVER_FAILED : positive;
}

/* SOLVER_OVERFLOW when there is an element that is no number. */
static int check_finite(size_t count, const SCALAR *x)
{
    for (size_t k = 0; k < count; k++)
        if (!isfinite(creal(x[k])) || !isfinite(cimag(x[k])))
            return SOLVER_OVERFLOW;
    return SOLVER_OK;
}

static REAL norm_one(int n, const SCALAR *a)
{
    REAL most = 0;
    for (int j = 0; j < n; j++) {
        REAL sum = 0;
        for (int i = 0; i < n; i++)
            sum += fabs(a[(size_t)j * (size_t)n + (size_t)i]);
        most = sum > most ? sum : most;
    }
    return most;
}

SOLVER int NAME(geinv)(int n, const SCALAR *matrix, SCALAR *x, int *info, REAL *rcond)
{
    int lda = leading(n), lwork = -1;
    int *pivots = calloc((size_t)n + 1, sizeof *pivots); /* the question for sizes passes them */
    SCALAR told = 0, *work = NULL;
#if IS_COMPLEX
    REAL *more = malloc((2 * (size_t)n + 1) * sizeof *more);
#else
    int *more = malloc(((size_t)n + 1) * sizeof *more);
#endif
    const REAL norm = norm_one(n, matrix);
    copy_matrix(x, matrix, n, n);
    *info = 0;
    *rcond = 1;
    if (pivots)
        LAPACK(getri)(&n, x, &lda, pivots, &told, &lwork, info);
    if (pivots && (work = work_space(told, &lwork)))
        LAPACK(getrf)(&n, &n, x, &lda, pivots, info);
    SCALAR *estimating = malloc((4 * (size_t)n + 1) * sizeof *estimating);
    if (work && *info == 0 && estimating && more && n > 0) {
        int unused;
        LAPACK(gecon)("1", &n, x, &lda, &norm, rcond, estimating, more, &unused, 1);
    }
    free(estimating);
    free(more);
    if (work && *info == 0)
        LAPACK(getri)(&n, x, &lda, pivots, work, &lwork, info);
    int status = work ? status_of(*info, SOLVER_SINGULAR) : SOLVER_NO_MEMORY;
    free(work);
    free(pivots);
    return status == SOLVER_OK ? check_finite((size_t)n * (size_t)n, x) : status;
}

/* The first k = min(m, n) columns of F become Q, by the reflectors in them. */
static void make_q(int m, int k, const SCALAR *f, SCALAR *q, const SCALAR *tau, SCALAR *work,
                   const int *lwork, int *info)
{
    int lda = leading(m);
    copy_matrix(q, f, m, k);
    UNITARY(gqr)(&m, &k, &k, q, &lda, tau, work, lwork, info);
}

SOLVER int NAME(gethinqr)(int m, int n, const SCALAR *matrix, SCALAR *f, SCALAR *q, SCALAR *r)
{
    int k = m < n ? m : n, lda = leading(m), info = 0, asked = -1, lwork;
    SCALAR told = 0, told_q = 0, *work = NULL;
    SCALAR *tau = malloc(((size_t)k + 1) * sizeof *tau);
    if (tau) {
        LAPACK(geqrf)(&m, &n, f, &lda, tau, &told, &asked, &info);
        UNITARY(gqr)(&m, &k, &k, q, &lda, tau, &told_q, &asked, &info);
        work = work_space(creal(told) > creal(told_q) ? told : told_q, &lwork);
    }
    if (work) {
        copy_matrix(f, matrix, m, n);
        LAPACK(geqrf)(&m, &n, f, &lda, tau, work, &lwork, &info);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < k; i++)
                r[(size_t)j * (size_t)k + (size_t)i] = i <= j ? f[(size_t)j * (size_t)m + (size_t)i] : 0;
        if (info == 0)
            make_q(m, k, f, q, tau, work, &lwork, &info);
    }
    int status = work ? status_of(info, SOLVER_FAILED) : SOLVER_NO_MEMORY;
    free(work);
    free(tau);
    return status;
}

SOLVER int NAME(gehess)(int n, const SCALAR *matrix, SCALAR *h, SCALAR *q)
{
    int first = 1, lda = leading(n), info = 0, asked = -1, lwork;
    SCALAR told = 0, told_q = 0, *work = NULL;
    SCALAR *tau = malloc(((size_t)n + 1) * sizeof *tau);
    if (tau) {
        LAPACK(gehrd)(&n, &first, &n, h, &lda, tau, &told, &asked, &info);
        UNITARY(ghr)(&n, &first, &n, q, &lda, tau, &told_q, &asked, &info);
        work = work_space(creal(told) > creal(told_q) ? told : told_q, &lwork);
    }
    if (work) {
        copy_matrix(h, matrix, n, n);
        LAPACK(gehrd)(&n, &first, &n, h, &lda, tau, work, &lwork, &info);
        copy_matrix(q, h, n, n);
        if (info == 0)
            UNITARY(ghr)(&n, &first, &n, q, &lda, tau, work, &lwork, &info);
        for (int j = 0; j < n; j++)
            for (int i = j + 2; i < n; i++)
                h[(size_t)j * (size_t)n + (size_t)i] = 0; /* where the reflectors were */
    }
    int status = work ? status_of(info, SOLVER_FAILED) : SOLVER_NO_MEMORY;
    free(work);
    free(tau);
    return status;
}

SOLVER int NAME(gercond)(int n, const SCALAR *matrix, SCALAR *f, REAL *rcond)
{
    int lda = leading(n), info = 0;
    REAL norm = norm_one(n, matrix);
    int *pivots = malloc(((size_t)n + 1) * sizeof *pivots);
    SCALAR *work = malloc((4 * (size_t)n + 1) * sizeof *work);
#if IS_COMPLEX
    REAL *more = malloc((2 * (size_t)n + 1) * sizeof *more);
#else
    int *more = malloc(((size_t)n + 1) * sizeof *more);
#endif
    bool room = pivots && work && more;
    *rcond = 0;
    copy_matrix(f, matrix, n, n);
    if (room)
        LAPACK(getrf)(&n, &n, f, &lda, pivots, &info);
    bool is_singular = info > 0;
    if (room && info == 0)
        LAPACK(gecon)("1", &n, f, &lda, &norm, rcond, work, more, &info, 1);
    free(pivots);
    free(work);
    free(more);
    return !room ? SOLVER_NO_MEMORY : is_singular ? SOLVER_OK : status_of(info, SOLVER_FAILED);
}

/* The singular values of F, which is overwritten, and all left ('U') or all right ('V') singular vectors
 * ('N': none): m x m, or n x n and conjugated as rows. */
static int singular_values(char which, int m, int n, SCALAR *f, REAL *s, SCALAR *vectors)
{
    const char *jobu = which == 'U' ? "A" : "N", *jobvt = which == 'V' ? "A" : "N";
    int lda = leading(m), ldu = leading(m), ldvt = leading(n), info = 0, lwork = -1;
    SCALAR told = 0;
#if IS_COMPLEX
    REAL *reals = malloc((5 * (size_t)(m < n ? m : n) + 1) * sizeof *reals);
    if (!reals)
        return SOLVER_NO_MEMORY;
#define MORE reals,
#else
#define MORE
#endif
    LAPACK(gesvd)
    (jobu, jobvt, &m, &n, f, &lda, s, vectors, &ldu, vectors, &ldvt, &told, &lwork, MORE & info, 1, 1);
    SCALAR *work = work_space(told, &lwork);
    if (work)
        LAPACK(gesvd)
    (jobu, jobvt, &m, &n, f, &lda, s, vectors, &ldu, vectors, &ldvt, work, &lwork, MORE & info, 1, 1);
#undef MORE
#if IS_COMPLEX
    free(reals);
#endif
    int status = work ? status_of(info, SOLVER_NO_CONVERGENCE) : SOLVER_NO_MEMORY;
    free(work);
    return status;
}

SOLVER int NAME(gekappa)(int m, int n, const SCALAR *matrix, SCALAR *f, REAL *cond)
{
    int least = m < n ? m : n;
    REAL *s = malloc(((size_t)least + 1) * sizeof *s);
    int status = s ? SOLVER_OK : SOLVER_NO_MEMORY;
    *cond = 0;
    copy_matrix(f, matrix, m, n);
    if (s && least > 0)
        status = singular_values('N', m, n, f, s, NULL);
    if (status == SOLVER_OK)
        NAME(gecond)(least, s, cond);
    free(s);
    return status;
}
