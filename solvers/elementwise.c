/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on the elements of matrices and on their structure, for all four types.
 */
#include "solvers/solvers.h"

#include <math.h>
#include <stddef.h>
#include <tgmath.h>

#define EACH_ELEMENT(k) for (size_t k = 0, count = (size_t)m * (size_t)n; k < count; k++)

/* C := A op B */
#define BINARY(name, type, op)                                                                               \
    SOLVER void esp_##name(int m, int n, const type *A, const type *B, type *C);                             \
    SOLVER void esp_##name(int m, int n, const type *A, const type *B, type *C)                              \
    {                                                                                                        \
        EACH_ELEMENT(k)                                                                                      \
        C[k] = A[k] op B[k];                                                                                 \
    }

/* B := function(A) */
#define UNARY(name, from, to, function)                                                                      \
    SOLVER void esp_##name(int m, int n, const from *A, to *B);                                              \
    SOLVER void esp_##name(int m, int n, const from *A, to *B)                                               \
    {                                                                                                        \
        EACH_ELEMENT(k)                                                                                      \
        B[k] = function(A[k]);                                                                               \
    }

#define TILE 32 /* elements of a row and a column that fit the first cache together */

#define TRANSPOSE(name, type, function)                                                                      \
    SOLVER void esp_##name(int m, int n, const type *A, type *B);                                            \
    SOLVER void esp_##name(int m, int n, const type *A, type *B)                                             \
    {                                                                                                        \
        for (int jj = 0; jj < n; jj += TILE)                                                                 \
            for (int ii = 0; ii < m; ii += TILE)                                                             \
                for (int j = jj; j < n && j < jj + TILE; j++)                                                \
                    for (int i = ii; i < m && i < ii + TILE; i++)                                            \
                        B[(size_t)j + (size_t)i * (size_t)n] =                                               \
                            function(A[(size_t)i + (size_t)j * (size_t)m]);                                  \
    }

/* B := A[first_row:last_row:row_step, ...], numbered from 1; B is p x q. */
#define SECTION(name, type)                                                                                  \
    SOLVER void esp_##name(int m, int p, int q, int first_row, int row_step, int first_column,               \
                           int column_step, const type *A, type *B);                                         \
    SOLVER void esp_##name(int m, int p, int q, int first_row, int row_step, int first_column,               \
                           int column_step, const type *A, type *B)                                          \
    {                                                                                                        \
        for (int j = 0; j < q; j++)                                                                          \
            for (int i = 0; i < p; i++) {                                                                    \
                size_t row = (size_t)(first_row - 1 + (ptrdiff_t)i * row_step);                              \
                size_t column = (size_t)(first_column - 1 + (ptrdiff_t)j * column_step);                     \
                B[(size_t)i + (size_t)j * (size_t)p] = A[row + column * (size_t)m];                          \
            }                                                                                                \
    }

#define SAME(x) (x)

#define ALL(letter, type, real)                                                                              \
    BINARY(letter##add, type, +)                                                                             \
    BINARY(letter##subtract, type, -)                                                                        \
    BINARY(letter##times, type, *)                                                                           \
    BINARY(letter##divide, type, /)                                                                          \
    UNARY(letter##sin, type, type, sin)                                                                      \
    UNARY(letter##cos, type, type, cos)                                                                      \
    UNARY(letter##exp, type, type, exp)                                                                      \
    UNARY(letter##log, type, type, log)                                                                      \
    UNARY(letter##sqrt, type, type, sqrt)                                                                    \
    UNARY(letter##abs, type, real, fabs)                                                                     \
    TRANSPOSE(letter##transpose, type, SAME)                                                                 \
    SECTION(letter##section, type)

ALL(s, float, float)
ALL(d, double, double)
ALL(c, float complex, float)
ALL(z, double complex, double)
TRANSPOSE(cctranspose, float complex, conj)
TRANSPOSE(zctranspose, double complex, conj)
