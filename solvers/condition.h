/* SPDX-License-Identifier: Apache-2.0
 *
 * Reciprocal condition numbers in the 1-norm, estimated with factors that are there (Higham, ACM TOMS 14,
 * 1988): a few solutions with the matrix and with its conjugate transpose.
 */
#ifndef SOLVERS_CONDITION_H
#define SOLVERS_CONDITION_H

#include <stdbool.h>

/* x := inverse(A) x, or inverse(A^H) x; x has as many elements as A has rows. False: the solver failed. */
typedef bool inverse_apply(void *arg, bool transposed, void *x);

/* 1 / (||A|| ||inverse(A)||) of an n x n matrix by compressed columns whose elements have that type;
 * `triangle`: 'U' or 'L' when A is symmetric (Hermitian) and only this triangle is stored or read, else 0. 1
 * without memory or when the solver fails: nobody knows then. */
double condition_s(int n, const int *pointers, const int *rows, const void *values, char triangle,
                   inverse_apply *apply, void *arg);
double condition_d(int n, const int *pointers, const int *rows, const void *values, char triangle,
                   inverse_apply *apply, void *arg);
double condition_c(int n, const int *pointers, const int *rows, const void *values, char triangle,
                   inverse_apply *apply, void *arg);
double condition_z(int n, const int *pointers, const int *rows, const void *values, char triangle,
                   inverse_apply *apply, void *arg);

#endif
