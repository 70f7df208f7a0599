/* SPDX-License-Identifier: Apache-2.0
 *
 * The routines behind problems/sparse and problems/elementwise: libraries whose interfaces are handles and
 * classes, called through plain arrays, so that a description can name them. They live in a shared library of
 * their own, which only workers load.
 *
 * Sparse matrices are n x n with compressed columns (pointers[n + 1], rows[pointers[n]], from 0, in each
 * column ascending and without repetitions); a row outside the matrix is SOLVER_INVALID. Right-hand sides and
 * solutions are dense, stored by columns. For complex types (c, z) a number is a real part and an imaginary
 * part. Scalars come by value, arrays by address. Nothing is kept after a call but by those that open a state
 * (solvers/kept.h). Any thread may call; one at a time with a state.
 */
#ifndef SOLVERS_SOLVERS_H
#define SOLVERS_SOLVERS_H

#define SOLVER __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* What the functions return; the descriptions turn it into words. */
enum solver_status {
    SOLVER_OK = 0,
    SOLVER_SINGULAR = 1, /* or not positive definite, where it has to be */
    SOLVER_NO_MEMORY = 2,
    SOLVER_INVALID = 3, /* the sparse structure is not one */
    SOLVER_FAILED = 4,  /* anything else */
    SOLVER_NO_CONVERGENCE = 5,
    SOLVER_WRONG_STATE = 6,     /* of another solver or type, or closed */
    SOLVER_WRONG_ORDER = 7,     /* n is not the order of what is kept */
    SOLVER_USELESS_FACTORS = 8, /* iterations with this preconditioner lead nowhere: tiny pivots */
    SOLVER_OVERFLOW = 9         /* the result is beyond the range of the type */
};

/* ---- direct methods: factor, solve for nrhs columns of B, forget ---- */

/* UMFPACK. op(A) X = B: trans is N, T or C. *rcond here and below: the reciprocal condition number of A in
 * the 1-norm, estimated with the factors; 1 where nobody knows. */
SOLVER int esp_dumfpack(char trans, int n, int nrhs, const int *pointers, const int *rows,
                        const double *values, const double *b, double *x, double *rcond);
SOLVER int esp_zumfpack(char trans, int n, int nrhs, const int *pointers, const int *rows,
                        const double *values, const double *b, double *x, double *rcond);

/* CHOLMOD, which reads the upper triangle. *minor: 0, or where the matrix stops being positive definite. */
SOLVER int esp_dcholmod(int n, int nrhs, const int *pointers, const int *rows, const double *values,
                        const double *b, double *x, double *rcond, int *minor);
SOLVER int esp_zcholmod(int n, int nrhs, const int *pointers, const int *rows, const double *values,
                        const double *b, double *x, double *rcond, int *minor);

/* MUMPS. sym: 0 general, 1 positive definite, 2 symmetric; for 1 and 2 the lower triangle is read. *info is
 * MUMPS' own INFOG(1). */
SOLVER int esp_smumps(int sym, int n, int nrhs, const int *pointers, const int *rows, const void *values,
                      void *b, double *rcond, int *info);
SOLVER int esp_dmumps(int sym, int n, int nrhs, const int *pointers, const int *rows, const void *values,
                      void *b, double *rcond, int *info);
SOLVER int esp_cmumps(int sym, int n, int nrhs, const int *pointers, const int *rows, const void *values,
                      void *b, double *rcond, int *info);
SOLVER int esp_zmumps(int sym, int n, int nrhs, const int *pointers, const int *rows, const void *values,
                      void *b, double *rcond, int *info);
/* Refined until the residual is at most tol times the right-hand side, as long as that helps; *steps and
 * *residual (relative) are those of the worst column. SOLVER_NO_CONVERGENCE: it stays larger. */
#define REFINED(letter)                                                                                      \
    SOLVER int esp_##letter##mumps_refined(int n, int nrhs, const int *pointers, const int *rows,            \
                                           const void *values, const void *b, void *x, double tol,           \
                                           int *steps, double *residual, int *info);
REFINED(s)
REFINED(d)
REFINED(c)
REFINED(z)
#undef REFINED
/* The determinant; the logarithm of its modulus tells where it overflows. 0 and -infinity: singular. */
#ifndef __cplusplus
SOLVER int esp_smumps_det(int n, const int *pointers, const int *rows, const void *values, float *det,
                          float *logabs, int *info);
SOLVER int esp_dmumps_det(int n, const int *pointers, const int *rows, const void *values, double *det,
                          double *logabs, int *info);
SOLVER int esp_cmumps_det(int n, const int *pointers, const int *rows, const void *values,
                          float _Complex *det, float *logabs, int *info);
SOLVER int esp_zmumps_det(int n, const int *pointers, const int *rows, const void *values,
                          double _Complex *det, double *logabs, int *info);
#endif

/* ---- the same, factored once ----
 * What opens sets *state, or leaves it null when it fails; esp_sparse_close() frees any of them and sets it
 * to null. */
SOLVER int esp_dumfpack_open(int n, const int *pointers, const int *rows, const double *values, void **state,
                             double *rcond);
SOLVER int esp_zumfpack_open(int n, const int *pointers, const int *rows, const double *values, void **state,
                             double *rcond);
SOLVER int esp_dumfpack_solve(void *state, char trans, int n, int nrhs, const double *b, double *x);
SOLVER int esp_zumfpack_solve(void *state, char trans, int n, int nrhs, const double *b, double *x);

SOLVER int esp_dcholmod_open(int n, const int *pointers, const int *rows, const double *values, void **state,
                             double *rcond, int *minor);
SOLVER int esp_zcholmod_open(int n, const int *pointers, const int *rows, const double *values, void **state,
                             double *rcond, int *minor);
SOLVER int esp_dcholmod_solve(void *state, int n, int nrhs, const double *b, double *x);
SOLVER int esp_zcholmod_solve(void *state, int n, int nrhs, const double *b, double *x);

#define MUMPS_OPEN(letter)                                                                                   \
    SOLVER int esp_##letter##mumps_open(int sym, int n, const int *pointers, const int *rows,                \
                                        const void *values, void **state, int *info);                        \
    SOLVER int esp_##letter##mumps_solve(void *state, int n, int nrhs, void *b, int *info);
MUMPS_OPEN(s)
MUMPS_OPEN(d)
MUMPS_OPEN(c)
MUMPS_OPEN(z)
#undef MUMPS_OPEN

SOLVER int esp_sparse_close(void **state);

/* ---- iterative methods (Eigen) ----
 * They end when the norm of the true residual, b - A x, is at most `tolerance` times that of b, or after
 * `most` iterations (0: twice the order, at least 100): SOLVER_NO_CONVERGENCE, or SOLVER_USELESS_FACTORS
 * where hardly anything was gained. Iterations and relative residual are those of the worst column; the best
 * x that was found is there in any case. Single precision is computed in double, and x is rounded at the end.
 */

/* Conjugate gradients with incomplete Cholesky, which read the lower triangle; GMRES, begun anew after
 * `restart` iterations, with incomplete LU. The preconditioners can be kept: an incomplete LU drops what is
 * smaller than drop times its row, and keeps `fill` times as many elements as the matrix has at most. */
#define KRYLOV(letter)                                                                                       \
    SOLVER int esp_##letter##cg(int n, int nrhs, const int *pointers, const int *rows, const void *values,   \
                                const void *b, void *x, double tolerance, int most, int *iterations,         \
                                double *residual);                                                           \
    SOLVER int esp_##letter##gmres(int n, int nrhs, const int *pointers, const int *rows,                    \
                                   const void *values, const void *b, void *x, double tolerance, int most,   \
                                   int restart, int *iterations, double *residual);                          \
    SOLVER int esp_##letter##ic_open(int n, const int *pointers, const int *rows, const void *values,        \
                                     void **state);                                                          \
    SOLVER int esp_##letter##ilu_open(int n, const int *pointers, const int *rows, const void *values,       \
                                      double drop, int fill, void **state);                                  \
    SOLVER int esp_##letter##ic_cg(void *state, int n, int nrhs, const int *pointers, const int *rows,       \
                                   const void *values, const void *b, void *x, double tolerance, int most,   \
                                   int *iterations, double *residual);                                       \
    SOLVER int esp_##letter##ilu_gmres(void *state, int n, int nrhs, const int *pointers, const int *rows,   \
                                       const void *values, const void *b, void *x, double tolerance,         \
                                       int most, int restart, int *iterations, double *residual);
KRYLOV(s)
KRYLOV(d)
KRYLOV(c)
KRYLOV(z)
#undef KRYLOV

/* ---- dense matrices: what LAPACK has no routine for (solvers/dense.h) ----
 * The determinant (1 of order 0; it may overflow, then the logarithm of its modulus tells); the pseudoinverse
 * x, n x m (singular values below tolerance times the largest count as zero; below 0: the precision); and
 * the ratio of the first to the last of descending singular values. `a` is room for a copy of the
 * matrix. The size needs nothing of the matrix but its extents.
 *
 * In one call what takes several of LAPACK's (solvers/composed.h): the inverse x (*info: LAPACK's, > 0 where
 * U has a zero on its diagonal: SOLVER_SINGULAR); A = Q R with q m x min(m, n) and r min(m, n) x n; A = Q H
 * Q^H, h exactly zero below its subdiagonal; the reciprocal condition number in the 1-norm, estimated (0:
 * singular, 1 of order 0); the condition number in the 2-norm. `f` is room for the factors.
 *
 * And (solvers/functions.h): the norm of that kind ('2', '1', 'I' of rows, 'F' Frobenius', 'M' the largest
 * modulus); the number of singular values above the tolerance (below 0: max(m, n) times the precision and the
 * largest); orthonormal columns that A maps to 0, z n x n with *columns that count, and such that span what A
 * maps to, q m x min(m, n) with *rank that count (zeros behind them); the exponential x; the sum of the
 * diagonal; the Kronecker product c, m p x n q, of a, m x n, and b, p x q.
 *
 * And (solvers/conditioned.h): LAPACK's solvers with their own arguments and results, and besides the
 * reciprocal condition number in the 1-norm, estimated with the factors (1: nobody knows). */
#ifndef __cplusplus
#define DENSE(letter, scalar, real)                                                                          \
    SOLVER int esp_##letter##gedet(int n, const scalar *matrix, scalar *a, scalar *det, real *logabs);       \
    SOLVER int esp_##letter##gepinv(int m, int n, const scalar *matrix, real tolerance, scalar *a,           \
                                    scalar *x, int *rank);                                                   \
    SOLVER void esp_##letter##gecond(int n, const real *s, real *cond);                                      \
    SOLVER void esp_##letter##gestructure(int m, int n, const scalar *a, int *below, int *above,             \
                                          int *hermitian, int *positive, int *unit);                         \
    SOLVER void esp_##letter##extents(int m, int n, const scalar *a, int *rows, int *columns);               \
    SOLVER int esp_##letter##geinv(int n, const scalar *matrix, scalar *x, int *info, real *rcond);          \
    SOLVER int esp_##letter##gethinqr(int m, int n, const scalar *matrix, scalar *f, scalar *q, scalar *r);  \
    SOLVER int esp_##letter##gehess(int n, const scalar *matrix, scalar *h, scalar *q);                      \
    SOLVER int esp_##letter##gercond(int n, const scalar *matrix, scalar *f, real *rcond);                   \
    SOLVER int esp_##letter##gekappa(int m, int n, const scalar *matrix, scalar *f, real *cond);             \
    SOLVER int esp_##letter##genorm(char kind, int m, int n, const scalar *matrix, scalar *f, real *norm);   \
    SOLVER int esp_##letter##gerank(int m, int n, const scalar *matrix, real tolerance, scalar *f,           \
                                    int *rank);                                                              \
    SOLVER int esp_##letter##genull(int m, int n, const scalar *matrix, real tolerance, scalar *f,           \
                                    scalar *z, int *columns);                                                \
    SOLVER int esp_##letter##georth(int m, int n, const scalar *matrix, real tolerance, scalar *f,           \
                                    scalar *q, int *rank);                                                   \
    SOLVER int esp_##letter##geexpm(int n, const scalar *matrix, scalar *f, scalar *x);                      \
    SOLVER void esp_##letter##getrace(int n, const scalar *a, scalar *trace);                                \
    SOLVER void esp_##letter##gekron(int m, int n, int p, int q, const scalar *a, const scalar *b,           \
                                     scalar *c);                                                             \
    SOLVER void esp_##letter##gesv(int n, int nrhs, scalar *a, int *ipiv, scalar *b, int *info,              \
                                   real *rcond);                                                             \
    SOLVER void esp_##letter##posv(char uplo, int n, int nrhs, scalar *a, scalar *b, int *info,              \
                                   real *rcond);                                                             \
    SOLVER void esp_##letter##sysv(char uplo, int n, int nrhs, scalar *a, int *ipiv, scalar *b,              \
                                   scalar *work, int lwork, int *info, real *rcond);                         \
    SOLVER void esp_##letter##gbsv(int n, int kl, int ku, int nrhs, scalar *ab, int *ipiv, scalar *b,        \
                                   int *info, real *rcond);                                                  \
    SOLVER void esp_##letter##trtrs(char uplo, char trans, char diag, int n, int nrhs, const scalar *a,      \
                                    scalar *b, int *info, real *rcond);                                      \
    SOLVER void esp_##letter##trtri(char uplo, char diag, int n, scalar *a, int *info, real *rcond);         \
    SOLVER void esp_##letter##tptrs(char uplo, char trans, char diag, int n, int nrhs, const scalar *ap,     \
                                    scalar *b, int *info, real *rcond);                                      \
    SOLVER void esp_##letter##tbtrs(char uplo, char trans, char diag, int n, int kd, int nrhs,               \
                                    const scalar *ab, scalar *b, int *info, real *rcond);                    \
    SOLVER void esp_##letter##tptri(char uplo, char diag, int n, scalar *ap, int *info, real *rcond);        \
    SOLVER void esp_##letter##gtsv(int n, int nrhs, scalar *dl, scalar *d, scalar *du, scalar *b, int *info, \
                                   real *rcond);                                                             \
    SOLVER void esp_##letter##ptsv(int n, int nrhs, real *d, scalar *e, scalar *b, int *info, real *rcond);  \
    SOLVER void esp_##letter##gglse(int m, int n, int p, scalar *a, scalar *b, scalar *c, scalar *d,         \
                                    scalar *x, scalar *work, int lwork, int *info, real *rcond);             \
    SOLVER void esp_##letter##ggglm(int n, int m, int p, scalar *a, scalar *b, scalar *d, scalar *x,         \
                                    scalar *y, scalar *work, int lwork, int *info, real *rcond);             \
    SOLVER void esp_##letter##pbsv(char uplo, int n, int kd, int nrhs, scalar *ab, scalar *b, int *info,     \
                                   real *rcond);                                                             \
    SOLVER void esp_##letter##ppsv(char uplo, int n, int nrhs, scalar *ap, scalar *b, int *info,             \
                                   real *rcond);                                                             \
    SOLVER void esp_##letter##spsv(char uplo, int n, int nrhs, scalar *ap, int *ipiv, scalar *b, int *info,  \
                                   real *rcond);                                                             \
    SOLVER void esp_##letter##gels(char trans, int m, int n, int nrhs, scalar *a, scalar *b, scalar *work,   \
                                   int lwork, int *info, real *rcond);
DENSE(s, float, float)
DENSE(d, double, double)
DENSE(c, float _Complex, float)
DENSE(z, double _Complex, double)
#undef DENSE
SOLVER void esp_chesv(char uplo, int n, int nrhs, float _Complex *a, int *ipiv, float _Complex *b,
                      float _Complex *work, int lwork, int *info, float *rcond);
SOLVER void esp_zhesv(char uplo, int n, int nrhs, double _Complex *a, int *ipiv, double _Complex *b,
                      double _Complex *work, int lwork, int *info, double *rcond);

SOLVER void esp_chpsv(char uplo, int n, int nrhs, float _Complex *ap, int *ipiv, float _Complex *b, int *info,
                      float *rcond);
SOLVER void esp_zhpsv(char uplo, int n, int nrhs, double _Complex *ap, int *ipiv, double _Complex *b,
                      int *info, double *rcond);

/* LAPACK's least squares solvers for matrices of any rank, with their own arguments and results, except that
 * a negative rcond means max(m, n) times the precision of the type. Besides: of what counts as not 0, the
 * smallest singular value over the largest, of ?gelsy the reciprocal condition number of its triangle. */
#define ANY_RANK(letter, scalar, real, ...)                                                                  \
    SOLVER void esp_##letter##gelss(int m, int n, int nrhs, scalar *a, scalar *b, real *s, real rcond,       \
                                    int *rank, scalar *work, int lwork, __VA_ARGS__ int *info, real *ratio); \
    SOLVER void esp_##letter##gelsd(int m, int n, int nrhs, scalar *a, scalar *b, real *s, real rcond,       \
                                    int *rank, scalar *work, int lwork, __VA_ARGS__ int *iwork, int *info,   \
                                    real *ratio);                                                            \
    SOLVER void esp_##letter##gelsy(int m, int n, int nrhs, scalar *a, scalar *b, int *jpvt, real rcond,     \
                                    int *rank, scalar *work, int lwork, __VA_ARGS__ int *info, real *ratio);
ANY_RANK(s, float, float, )
ANY_RANK(d, double, double, )
ANY_RANK(c, float _Complex, float, float *rwork, )
ANY_RANK(z, double _Complex, double, double *rwork, )
#undef ANY_RANK

/* LAPACK's solvers in mixed precision, with their own arguments and results, and besides the reciprocal
 * condition number in the 1-norm as above (solvers/mixed.h). */
SOLVER void esp_dsgesv(int n, int nrhs, double *a, int *ipiv, const double *b, double *x, double *work,
                       float *swork, int *iter, int *info, double *rcond);
SOLVER void esp_zcgesv(int n, int nrhs, double _Complex *a, int *ipiv, const double _Complex *b,
                       double _Complex *x, double _Complex *work, float _Complex *swork, double *rwork,
                       int *iter, int *info, double *rcond);
SOLVER void esp_dsposv(char uplo, int n, int nrhs, double *a, const double *b, double *x, double *work,
                       float *swork, int *iter, int *info, double *rcond);
SOLVER void esp_zcposv(char uplo, int n, int nrhs, double _Complex *a, const double _Complex *b,
                       double _Complex *x, double _Complex *work, float _Complex *swork, double *rwork,
                       int *iter, int *info, double *rcond);

/* Of a real matrix: real and imaginary parts of the eigenvalues, these as complex numbers, and the
 * eigenvectors as ?geev has them, orthonormal ones of a matrix that is symmetric up to rounding. */
SOLVER int esp_sgeeig(int n, const float *matrix, float *f, float *wr, float *wi, float *v,
                      float _Complex *w);
SOLVER int esp_dgeeig(int n, const double *matrix, double *f, double *wr, double *wi, double *v,
                      double _Complex *w);

/* ---- sparse matrices by compressed columns, also rectangular ones (solvers/compressed.h) ----
 * A is m x k, B k x n, C m x n; what is named with pointers and rows (Ap, Ai) is sparse. A sparse product has
 * exactly nzc elements, which esp_cscproduct_size() counts first (SOLVER_NO_MEMORY: more than an int). The
 * transpose of an m x n matrix has as many as that. SOLVER_INVALID: no compressed columns, or another nzc. */
#define COMPRESSED(letter, scalar)                                                                           \
    SOLVER int esp_##letter##cscmm(int m, int n, int k, const int *Ap, const int *Ai, const scalar *A,       \
                                   const scalar *B, scalar *C);                                              \
    SOLVER int esp_##letter##mmcsc(int m, int n, int k, const scalar *A, const int *Bp, const int *Bi,       \
                                   const scalar *B, scalar *C);                                              \
    SOLVER int esp_##letter##cscproduct(int m, int n, int k, const int *Ap, const int *Ai, const scalar *A,  \
                                        const int *Bp, const int *Bi, const scalar *B, int nzc, int *Cp,     \
                                        int *Ci, scalar *C);                                                 \
    SOLVER int esp_##letter##csctranspose(int m, int n, const int *Ap, const int *Ai, const scalar *A,       \
                                          int *Bp, int *Bi, scalar *B);                                      \
    /* A X = B for a triangular A of order n; uplo is U or L. SOLVER_SINGULAR: a zero on its diagonal.       \
     * *rcond: estimated. */                                                                                 \
    SOLVER int esp_##letter##csctrs(char uplo, int n, int nrhs, const int *Ap, const int *Ai,                \
                                    const scalar *A, const scalar *B, scalar *X, double *rcond);
COMPRESSED(s, float)
COMPRESSED(d, double)
COMPRESSED(c, float _Complex)
COMPRESSED(z, double _Complex)
#undef COMPRESSED
SOLVER int esp_cscproduct_size(int m, int n, int k, const int *Ap, const int *Ai, const int *Bp,
                               const int *Bi, int *count);
#endif

#ifdef __cplusplus
}
#endif

#endif
