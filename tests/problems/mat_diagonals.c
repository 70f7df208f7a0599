/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/problems/mat.h"

struct mat mat_within_band(struct lab *lab, struct mat A, int kl, int ku)
{
    struct mat B = mat_new(lab, A.m, A.n);
    for (int j = 0; j < A.n; j++)
        for (int i = j > ku ? j - ku : 0; i < A.m && i <= j + kl; i++)
            AT(B, i, j) = AT(A, i, j);
    return B;
}

void mat_bandwidths(struct mat A, int *down, int *right)
{
    *down = *right = 0;
    for (int j = 0; j < A.n; j++)
        for (int i = 0; i < A.m; i++) {
            if (AT(A, i, j) != 0 && i - j > *down)
                *down = i - j;
            if (AT(A, i, j) != 0 && j - i > *right)
                *right = j - i;
        }
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
