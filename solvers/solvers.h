/* SPDX-License-Identifier: Apache-2.0
 *
 * The routines behind problems/sparse and problems/elementwise: libraries whose interfaces are handles and
 * classes, called through plain arrays, so that a description can name them. They live in a shared library of
 * their own, which only workers load.
 *
 * Sparse matrices are n x n with compressed columns (pointers[n + 1], rows[pointers[n]], from 0, in each
 * column ascending and without repetitions); a row outside the matrix is SOLVER_INVALID. Right-hand sides and
 * solutions are dense, stored by columns. For complex types (c, z) a number is a real part and an imaginary
 * part. Scalars come by value, arrays by address. Nothing is kept after a call. Any thread may call.
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
    SOLVER_NO_CONVERGENCE = 5
};

/* ---- direct methods: factor, solve for nrhs columns of B, forget ---- */

/* UMFPACK. op(A) X = B: trans is N, T or C. *rcond: the smallest over the largest pivot. */
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
                      void *b, int *info);
SOLVER int esp_dmumps(int sym, int n, int nrhs, const int *pointers, const int *rows, const void *values,
                      void *b, int *info);
SOLVER int esp_cmumps(int sym, int n, int nrhs, const int *pointers, const int *rows, const void *values,
                      void *b, int *info);
SOLVER int esp_zmumps(int sym, int n, int nrhs, const int *pointers, const int *rows, const void *values,
                      void *b, int *info);

/* ---- iterative methods (Eigen) ----
 * They end when the residual is at most `tolerance` times the right-hand side, or after `most` iterations (0:
 * twice the order): SOLVER_NO_CONVERGENCE. Iterations and relative residual are those of the worst column. */

/* Conjugate gradients with incomplete Cholesky, which read the lower triangle. */
SOLVER int esp_dcg(int n, int nrhs, const int *pointers, const int *rows, const void *values, const void *b,
                   void *x, double tolerance, int most, int *iterations, double *residual);
SOLVER int esp_zcg(int n, int nrhs, const int *pointers, const int *rows, const void *values, const void *b,
                   void *x, double tolerance, int most, int *iterations, double *residual);

/* GMRES, begun anew after `restart` iterations, with incomplete LU. */
SOLVER int esp_dgmres(int n, int nrhs, const int *pointers, const int *rows, const void *values,
                      const void *b, void *x, double tolerance, int most, int restart, int *iterations,
                      double *residual);
SOLVER int esp_zgmres(int n, int nrhs, const int *pointers, const int *rows, const void *values,
                      const void *b, void *x, double tolerance, int most, int restart, int *iterations,
                      double *residual);

#ifdef __cplusplus
}
#endif

#endif
