/* SPDX-License-Identifier: Apache-2.0
 *
 * Norms, ranks and bases from singular values, the exponential of a matrix, traces and Kronecker products,
 * for one type: included behind solvers/composed.h, with the same names defined.
 */
void LAPACK(gemm)(const char *transa, const char *transb, const int *m, const int *n, const int *k,
                  const SCALAR *alpha, const SCALAR *a, const int *lda, const SCALAR *b, const int *ldb,
                  const SCALAR *beta, SCALAR *c, const int *ldc, size_t transa_length, size_t transb_length);
void LAPACK(gesv)(const int *n, const int *nrhs, SCALAR *a, const int *lda, int *ipiv, SCALAR *b,
                  const int *ldb, int *info);

/* ---- norms ---- */

/* The largest sum of a row, or of a column. A NaN survives. */
static REAL largest_sum(int m, int n, const SCALAR *a, bool rows)
{
    REAL most = 0;
    const int outer = rows ? m : n, inner = rows ? n : m;
    for (int k = 0; k < outer; k++) {
        REAL sum = 0;
        for (int l = 0; l < inner; l++)
            sum += fabs(a[rows ? (size_t)l * (size_t)m + (size_t)k : (size_t)k * (size_t)m + (size_t)l]);
        most = sum > most || isnan(sum) ? sum : most;
    }
    return most;
}

/* Of the elements as a vector, without overflow on the way. */
static REAL frobenius(size_t count, const SCALAR *a)
{
    REAL scale = 0, sum = 1;
    for (size_t k = 0; k < count; k++) {
        REAL parts[2] = {fabs(creal(a[k])), fabs(cimag(a[k]))};
        for (int p = 0; p < 2; p++)
            if (parts[p] > scale) {
                sum = 1 + sum * (scale / parts[p]) * (scale / parts[p]);
                scale = parts[p];
            } else if (parts[p] > 0) {
                sum += (parts[p] / scale) * (parts[p] / scale);
            }
    }
    return scale * sqrt(sum);
}

SOLVER int NAME(genorm)(char kind, int m, int n, const SCALAR *matrix, SCALAR *f, REAL *norm)
{
    const size_t count = (size_t)m * (size_t)n;
    const int least = m < n ? m : n;
    *norm = 0;
    if (count == 0)
        return SOLVER_OK;
    if (kind == '1' || kind == 'I' || kind == 'i') {
        *norm = largest_sum(m, n, matrix, kind != '1');
    } else if (kind == 'M' || kind == 'm') {
        for (size_t k = 0; k < count; k++)
            *norm = fmax(*norm, fabs(matrix[k]));
    } else if (kind == 'F' || kind == 'f' || least == 1) {
        *norm = frobenius(count, matrix);
    } else {
        REAL *s = malloc((size_t)least * sizeof *s);
        copy_matrix(f, matrix, m, n);
        int status = s ? singular_values('N', m, n, f, s, NULL) : SOLVER_NO_MEMORY;
        *norm = status == SOLVER_OK ? s[0] : 0;
        free(s);
        return status;
    }
    return SOLVER_OK;
}

/* ---- ranks and bases ---- */

/* Singular values above this count; `tolerance` below 0: the usual one, for errors of rounding in A. */
static REAL counted_from(int m, int n, REAL largest, REAL tolerance)
{
    return tolerance >= 0 ? tolerance : (REAL)((m > n ? m : n) * EPSILON) * largest;
}

static int count_above(int least, const REAL *s, REAL bound)
{
    int rank = 0;
    while (rank < least && s[rank] > bound)
        rank++;
    return rank;
}

SOLVER int NAME(gerank)(int m, int n, const SCALAR *matrix, REAL tolerance, SCALAR *f, int *rank)
{
    const int least = m < n ? m : n;
    *rank = 0;
    if (least == 0)
        return SOLVER_OK;
    REAL *s = malloc((size_t)least * sizeof *s);
    copy_matrix(f, matrix, m, n);
    int status = s ? singular_values('N', m, n, f, s, NULL) : SOLVER_NO_MEMORY;
    if (status == SOLVER_OK)
        *rank = count_above(least, s, counted_from(m, n, s[0], tolerance));
    free(s);
    return status;
}

/* Z: the conjugated rows of V^H that belong to singular values that do not count. */
static void take_null(int n, int rank, const SCALAR *vt, SCALAR *z)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            z[(size_t)j * (size_t)n + (size_t)i] =
                j < n - rank ? (SCALAR)conj(vt[(size_t)i * (size_t)n + (size_t)(rank + j)]) : 0;
}

SOLVER int NAME(genull)(int m, int n, const SCALAR *matrix, REAL tolerance, SCALAR *f, SCALAR *z,
                        int *columns)
{
    const int least = m < n ? m : n;
    REAL *s = malloc(((size_t)least + 1) * sizeof *s);
    SCALAR *vt = malloc(((size_t)n * (size_t)n + 1) * sizeof *vt);
    int status = s && vt ? SOLVER_OK : SOLVER_NO_MEMORY, rank = 0;
    *columns = 0;
    if (status == SOLVER_OK && least > 0) {
        copy_matrix(f, matrix, m, n);
        status = singular_values('V', m, n, f, s, vt);
        if (status == SOLVER_OK)
            rank = count_above(least, s, counted_from(m, n, s[0], tolerance));
    } else if (status == SOLVER_OK) { /* no rows: everything is mapped to nothing */
        for (size_t k = 0; k < (size_t)n * (size_t)n; k++)
            vt[k] = k % ((size_t)n + 1) == 0;
    }
    if (status == SOLVER_OK) {
        take_null(n, rank, vt, z);
        *columns = n - rank;
    }
    free(s);
    free(vt);
    return status;
}

SOLVER int NAME(georth)(int m, int n, const SCALAR *matrix, REAL tolerance, SCALAR *f, SCALAR *q, int *rank)
{
    const int least = m < n ? m : n;
    REAL *s = malloc(((size_t)least + 1) * sizeof *s);
    SCALAR *u = malloc(((size_t)m * (size_t)m + 1) * sizeof *u);
    int status = s && u ? SOLVER_OK : SOLVER_NO_MEMORY;
    *rank = 0;
    if (status == SOLVER_OK && least > 0) {
        copy_matrix(f, matrix, m, n);
        status = singular_values('U', m, n, f, s, u);
        if (status == SOLVER_OK)
            *rank = count_above(least, s, counted_from(m, n, s[0], tolerance));
        for (size_t k = 0; status == SOLVER_OK && k < (size_t)m * (size_t)least; k++)
            q[k] = k < (size_t)m * (size_t)*rank ? u[k] : 0;
    }
    free(s);
    free(u);
    return status;
}

/* ---- the exponential ----
 * Scaling and squaring with the [13/13] Pade approximant: Higham, The Scaling and Squaring Method for the
 * Matrix Exponential Revisited, SIAM J. Matrix Anal. Appl. 26 (2005), algorithm 2.3. */

#define PADE_THETA 5.371920351148152 /* the 1-norm up to which [13/13] has a backward error below 2^-53 */

static void multiply(int n, const SCALAR *a, const SCALAR *b, SCALAR *c)
{
    const SCALAR one = 1, zero = 0;
    int ld = leading(n);
    LAPACK(gemm)("N", "N", &n, &n, &n, &one, a, &ld, b, &ld, &zero, c, &ld, 1, 1);
}

/* c = c6 A6 + c4 A4 + c2 A2 + c0 I */
static void even_powers(int n, const SCALAR *const powers[3], const double *coefficient, SCALAR *c)
{
    const size_t order = (size_t)n;
    for (size_t k = 0; k < order * order; k++)
        c[k] = (SCALAR)(coefficient[6] * powers[2][k] + coefficient[4] * powers[1][k] +
                        coefficient[2] * powers[0][k] + (k % (order + 1) == 0 ? coefficient[0] : 0));
}

/* x = exp(A) of an A that is small enough and is overwritten; room for six matrices more. */
static int pade(int n, SCALAR *a, SCALAR *x, SCALAR *room, int *pivots)
{
    static const double b[] = {64764752532480000,
                               32382376266240000,
                               7771770303897600,
                               1187353796428800,
                               129060195264000,
                               10559470521600,
                               670442572800,
                               33522128640,
                               1323241920,
                               40840800,
                               960960,
                               16380,
                               182,
                               1};
    const double high_u[] = {0, 0, b[9], 0, b[11], 0, b[13]}, low_u[] = {b[1], 0, b[3], 0, b[5], 0, b[7]};
    const double high_v[] = {0, 0, b[8], 0, b[10], 0, b[12]}, low_v[] = {b[0], 0, b[2], 0, b[4], 0, b[6]};
    const size_t size = (size_t)n * (size_t)n;
    SCALAR *a2 = room, *a4 = a2 + size, *a6 = a4 + size, *u = a6 + size, *v = u + size, *t = v + size;
    const SCALAR *const powers[] = {a2, a4, a6};
    int info = 0, ld = leading(n);
    multiply(n, a, a, a2);
    multiply(n, a2, a2, a4);
    multiply(n, a4, a2, a6);
    even_powers(n, powers, high_u, t);
    multiply(n, a6, t, u);
    even_powers(n, powers, low_u, t);
    for (size_t k = 0; k < size; k++)
        t[k] += u[k];
    multiply(n, a, t, u);
    even_powers(n, powers, high_v, t);
    multiply(n, a6, t, v);
    even_powers(n, powers, low_v, t);
    for (size_t k = 0; k < size; k++) {
        v[k] += t[k];
        x[k] = v[k] + u[k];
        v[k] -= u[k];
    }
    LAPACK(gesv)(&n, &n, v, &ld, pivots, x, &ld, &info);
    return info;
}

SOLVER int NAME(geexpm)(int n, const SCALAR *matrix, SCALAR *f, SCALAR *x)
{
    const size_t size = (size_t)n * (size_t)n;
    const double norm = norm_one(n, matrix);
    int squarings = 0, info = 0;
    if (n <= 0)
        return SOLVER_OK;
    if (!isfinite(norm))
        return SOLVER_OVERFLOW;
    int *pivots = malloc((size_t)n * sizeof *pivots);
    SCALAR *room = malloc(6 * size * sizeof *room);
    if (!pivots || !room) {
        free(pivots);
        free(room);
        return SOLVER_NO_MEMORY;
    }
    if (norm > PADE_THETA) /* at most some 1030, as norms are */
        squarings = (int)ceil(log2(norm / PADE_THETA));
    for (size_t k = 0; k < size; k++)
        f[k] = (SCALAR)(matrix[k] * exp2(-(double)squarings));
    info = pade(n, f, x, room, pivots);
    for (int k = 0; k < squarings && info == 0; k++) {
        multiply(n, x, x, room);
        copy_matrix(x, room, n, n);
    }
    free(pivots);
    free(room);
    return info == 0 ? check_finite(size, x) : SOLVER_FAILED;
}

/* ---- sums and products ---- */

SOLVER void NAME(getrace)(int n, const SCALAR *a, SCALAR *trace)
{
    *trace = 0;
    for (int i = 0; i < n; i++)
        *trace += a[(size_t)i * ((size_t)n + 1)];
}

SOLVER void NAME(gekron)(int m, int n, int p, int q, const SCALAR *a, const SCALAR *b, SCALAR *c)
{
    const size_t rows = (size_t)m * (size_t)p;
    for (size_t j = 0; j < (size_t)n * (size_t)q; j++)
        for (size_t i = 0; i < rows; i++)
            c[j * rows + i] =
                a[j / (size_t)q * (size_t)m + i / (size_t)p] * b[j % (size_t)q * (size_t)p + i % (size_t)p];
}

/* ---- eigenvalues of real matrices as complex numbers ---- */
#if !IS_COMPLEX
void LAPACK(syev)(const char *jobz, const char *uplo, const int *n, SCALAR *a, const int *lda, SCALAR *w,
                  SCALAR *work, const int *lwork, int *info, size_t jobz_length, size_t uplo_length);
void LAPACK(geev)(const char *jobvl, const char *jobvr, const int *n, SCALAR *a, const int *lda, SCALAR *wr,
                  SCALAR *wi, SCALAR *vl, const int *ldvl, SCALAR *vr, const int *ldvr, SCALAR *work,
                  const int *lwork, int *info, size_t jobvl_length, size_t jobvr_length);

/* F is overwritten; a symmetric one has real eigenvalues and orthonormal vectors. */
static void eigen(bool symmetric, int n, SCALAR *f, SCALAR *wr, SCALAR *wi, SCALAR *v, SCALAR *work,
                  int lwork, int *info)
{
    int ld = leading(n);
    if (symmetric)
        LAPACK(syev)("V", "U", &n, v, &ld, wr, work, &lwork, info, 1, 1);
    else
        LAPACK(geev)("N", "V", &n, f, &ld, wr, wi, f, &ld, v, &ld, work, &lwork, info, 1, 1);
}

SOLVER int NAME(geeig)(int n, const SCALAR *matrix, SCALAR *f, SCALAR *wr, SCALAR *wi, SCALAR *v,
                       REAL _Complex *w)
{
    const bool symmetric = is_hermitian(n, matrix);
    int info = 0, lwork;
    SCALAR told = 0;
    eigen(symmetric, n, f, wr, wi, v, &told, -1, &info);
    SCALAR *work = work_space(told, &lwork);
    if (!work)
        return SOLVER_NO_MEMORY;
    copy_matrix(symmetric ? v : f, matrix, n, n);
    for (int i = 0; i < n; i++)
        wi[i] = 0;
    eigen(symmetric, n, f, wr, wi, v, work, lwork, &info);
    free(work);
    for (int i = 0; i < n; i++)
        w[i] = wr[i] + wi[i] * (REAL _Complex)I;
    return status_of(info, SOLVER_NO_CONVERGENCE);
}
#endif
