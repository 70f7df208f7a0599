/* SPDX-License-Identifier: Apache-2.0
 *
 * The ways in which LAPACK stores matrices that are mostly zero or half redundant (LAPACK Users' Guide, 5.3).
 */
#include "tests/problems/mat.h"

#include <string.h>

struct mat mat_to_band(struct lab *lab, struct mat A, int kl, int ku, int rows_above)
{
    struct mat AB = mat_new(lab, rows_above + kl + ku + 1, A.n);
    for (int j = 0; j < A.n; j++)
        for (int i = j > ku ? j - ku : 0; i < A.m && i <= j + kl; i++)
            AT(AB, rows_above + ku + i - j, j) = AT(A, i, j);
    return AB;
}

struct mat mat_from_band(struct lab *lab, struct mat AB, int m, int kl, int ku, int rows_above)
{
    struct mat A = mat_new(lab, m, AB.n);
    for (int j = 0; j < AB.n; j++)
        for (int i = j > ku ? j - ku : 0; i < m && i <= j + kl; i++)
            AT(A, i, j) = AT(AB, rows_above + ku + i - j, j);
    return A;
}

struct mat mat_to_packed(struct lab *lab, struct mat A, char uplo)
{
    struct mat AP = mat_new(lab, A.n * (A.n + 1) / 2, 1);
    int k = 0;
    for (int j = 0; j < A.n; j++)
        for (int i = uplo == 'U' ? 0 : j; i < (uplo == 'U' ? j + 1 : A.n); i++)
            AP.v[k++] = AT(A, i, j);
    return AP;
}

struct mat mat_from_packed(struct lab *lab, struct mat AP, int n, char uplo)
{
    struct mat A = mat_new(lab, n, n);
    int k = 0;
    for (int j = 0; j < n; j++)
        for (int i = uplo == 'U' ? 0 : j; i < (uplo == 'U' ? j + 1 : n); i++)
            AT(A, i, j) = AP.v[k++];
    return A;
}

struct mat mat_to_half_band(struct lab *lab, struct mat A, int kd, char uplo)
{
    return mat_to_band(lab, A, uplo == 'U' ? 0 : kd, uplo == 'U' ? kd : 0, 0);
}

struct mat mat_from_half_band(struct lab *lab, struct mat AB, int kd, char uplo)
{
    return mat_from_band(lab, AB, AB.n, uplo == 'U' ? 0 : kd, uplo == 'U' ? kd : 0, 0);
}

struct mat mat_get_diagonal(struct lab *lab, struct mat A, int which)
{
    int down = which < 0 ? -which : 0, right = which > 0 ? which : 0;
    int length = A.m - down < A.n - right ? A.m - down : A.n - right;
    struct mat d = mat_new(lab, length > 0 ? length : 0, 1);
    for (int i = 0; i < d.m; i++)
        d.v[i] = AT(A, i + down, i + right);
    return d;
}

struct mat mat_tridiagonal(struct lab *lab, struct mat lower, struct mat middle, struct mat upper)
{
    struct mat A = mat_diagonal(lab, middle);
    for (int i = 0; i + 1 < middle.m; i++) {
        AT(A, i + 1, i) = lower.v[i];
        AT(A, i, i + 1) = upper.v[i];
    }
    return A;
}
