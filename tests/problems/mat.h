/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices of the problems' tests: always double complex, whatever type the problem has, so that one check
 * serves all types and never uses the routine that it checks. Real types have zero imaginary parts. The
 * generators' matrices are exact in single precision too. */
#ifndef TESTS_PROBLEMS_MAT_H
#define TESTS_PROBLEMS_MAT_H

#include "util/arena.h"
#include "util/random.h"
#include <complex.h>
#include <stdbool.h>

struct mat {
    int m, n;
    double complex *v; /* column-major, m * n; lies in a lab's arena */
};
#define AT(A, i, j) ((A).v[(i) + (size_t)(j) * (size_t)(A).m])

/* Where matrices are made; everything in it is freed at once. */
struct lab {
    struct arena arena;
    struct random random;
    bool is_complex; /* whether generators make imaginary parts */
};

struct mat mat_new(struct lab *lab, int m, int n); /* zeros */
struct mat mat_copy(struct lab *lab, struct mat A);
struct mat mat_identity(struct lab *lab, int n);
struct mat mat_diagonal(struct lab *lab, struct mat d);

/* ---- generators ---- */
double complex lab_number(struct lab *lab); /* in the square of side 2 around 0 */
struct mat mat_random(struct lab *lab, int m, int n);
/* Well conditioned, but elimination needs its row interchanges. */
struct mat mat_general(struct lab *lab, int n);
/* Hermitian (conjugate) or complex symmetric, indefinite. */
struct mat mat_hermitian(struct lab *lab, int n, bool conjugate);
struct mat mat_positive(struct lab *lab, int n);
/* Triangular with a diagonal away from 0; with `unit`, ones on it. */
struct mat mat_triangular(struct lab *lab, int n, char uplo, bool unit);
/* Zero outside kl subdiagonals and ku superdiagonals; `shift` is added to the diagonal. */
struct mat mat_band(struct lab *lab, int m, int n, int kl, int ku, double shift);
/* Hermitian positive definite (or only Hermitian, or only symmetric) with kd diagonals on each side. */
struct mat mat_positive_band(struct lab *lab, int n, int kd);
struct mat mat_hermitian_band(struct lab *lab, int n, int kd, bool conjugate);
/* m x n of the given rank. */
struct mat mat_of_rank(struct lab *lab, int m, int n, int rank);

/* ---- algebra ---- */
struct mat mat_mul(struct lab *lab, struct mat A, struct mat B);
struct mat mat_transposed(struct lab *lab, struct mat A, bool conjugate);
/* N: A, T: its transpose, C: its conjugate transpose. */
struct mat mat_op(struct lab *lab, char trans, struct mat A);
struct mat mat_sum(struct lab *lab, double complex a, struct mat A, double complex b, struct mat B);
struct mat mat_block(struct lab *lab, struct mat A, int i, int j, int m, int n);
/* U or L: that triangle, the other one 0; with `unit`, ones on the diagonal. */
struct mat mat_triangle(struct lab *lab, struct mat A, char uplo, bool unit);
/* The whole matrix of which one triangle is stored. */
struct mat mat_mirrored(struct lab *lab, struct mat A, char uplo, bool conjugate);
/* With nonsense in the triangle that a routine must not read. */
struct mat mat_half(struct lab *lab, struct mat A, char uplo);
struct mat mat_column(struct lab *lab, struct mat A, int j);
/* Interchanges rows as LAPACK's ipiv (1-based, in order) says. */
struct mat mat_interchanged(struct lab *lab, struct mat A, struct mat ipiv);
/* The columns whose 1-based numbers are in `order`. */
struct mat mat_permuted(struct lab *lab, struct mat A, struct mat order);

double mat_norm_one(struct mat A);
double mat_norm_inf(struct mat A);
double mat_norm_f(struct mat A);
double mat_max(struct mat A);
/* The inverse by Gauss-Jordan with full interchanges: for condition numbers of small matrices. */
struct mat mat_inverse(struct lab *lab, struct mat A);

/* ---- diagonals ---- */
/* Without what lies outside of a band. */
struct mat mat_within_band(struct lab *lab, struct mat A, int kl, int ku);
/* How many diagonals beside the main one are not zero. */
void mat_bandwidths(struct mat A, int *down, int *right);
/* The diagonal `which` places above (below, when negative) the main one, as a column. */
struct mat mat_get_diagonal(struct lab *lab, struct mat A, int which);
struct mat mat_tridiagonal(struct lab *lab, struct mat lower, struct mat middle, struct mat upper);

#endif
