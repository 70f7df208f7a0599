/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/problems/mat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONSENSE 77.0 /* where a routine must not look */

struct mat mat_new(struct lab *lab, int m, int n)
{
    size_t count = (size_t)m * (size_t)n;
    struct mat A = {m, n, arena_alloc(&lab->arena, (count + 1) * sizeof(double complex))};
    if (!A.v)
        abort();
    return A;
}

struct mat mat_copy(struct lab *lab, struct mat A)
{
    struct mat B = mat_new(lab, A.m, A.n);
    memcpy(B.v, A.v, (size_t)A.m * (size_t)A.n * sizeof *A.v);
    return B;
}

struct mat mat_identity(struct lab *lab, int n)
{
    struct mat A = mat_new(lab, n, n);
    for (int i = 0; i < n; i++)
        AT(A, i, i) = 1;
    return A;
}

struct mat mat_diagonal(struct lab *lab, struct mat d)
{
    struct mat A = mat_new(lab, d.m, d.m);
    for (int i = 0; i < d.m; i++)
        AT(A, i, i) = d.v[i];
    return A;
}

/* ---- generators ---- */

/* Few bits, so that single precision holds it exactly. */
static double small_real(struct lab *lab)
{
    return ((double)random_below(&lab->random, 8191) - 4095) / 4096;
}

double complex lab_number(struct lab *lab)
{
    double re = small_real(lab);
    return lab->is_complex ? CMPLX(re, small_real(lab)) : re;
}

struct mat mat_random(struct lab *lab, int m, int n)
{
    struct mat A = mat_new(lab, m, n);
    for (size_t i = 0; i < (size_t)m * (size_t)n; i++)
        A.v[i] = lab_number(lab);
    return A;
}

struct mat mat_general(struct lab *lab, int n)
{
    struct mat A = mat_random(lab, n, n);
    for (int i = 0; i < n; i++) /* the large elements lie on a shifted diagonal */
        AT(A, i, (i + 1) % n) += 2 * ceil(sqrt(n));
    return A;
}

struct mat mat_hermitian(struct lab *lab, int n, bool conjugate)
{
    struct mat A = mat_random(lab, n, n);
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < j; i++)
            AT(A, j, i) = conjugate ? conj(AT(A, i, j)) : AT(A, i, j);
        AT(A, j, j) = conjugate ? creal(AT(A, j, j)) : AT(A, j, j);
    }
    return A;
}

struct mat mat_positive(struct lab *lab, int n)
{
    struct mat A = mat_hermitian(lab, n, true);
    for (int i = 0; i < n; i++) /* its eigenvalues lie within 1.7 sqrt(n) of 0 */
        AT(A, i, i) += 1 + 2 * ceil(sqrt(n));
    return A;
}

struct mat mat_triangular(struct lab *lab, int n, char uplo, bool unit)
{
    struct mat A = mat_new(lab, n, n);
    double shrink = exp2(-ceil(log2(n + 1)));
    for (int j = 0; j < n; j++) {
        for (int i = uplo == 'U' ? 0 : j + 1; i < (uplo == 'U' ? j : n); i++)
            AT(A, i, j) = shrink * lab_number(lab);
        AT(A, j, j) = unit ? 1 : 2 + lab_number(lab);
    }
    return A;
}

struct mat mat_band(struct lab *lab, int m, int n, int kl, int ku, double shift)
{
    struct mat A = mat_new(lab, m, n);
    for (int j = 0; j < n; j++)
        for (int i = j > ku ? j - ku : 0; i < m && i <= j + kl; i++)
            AT(A, i, j) = lab_number(lab) + (i == j ? shift : 0);
    return A;
}

struct mat mat_hermitian_band(struct lab *lab, int n, int kd, bool conjugate)
{
    struct mat A = mat_hermitian(lab, n, conjugate);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            if (abs(i - j) > kd)
                AT(A, i, j) = 0;
    return A;
}

struct mat mat_positive_band(struct lab *lab, int n, int kd)
{
    struct mat A = mat_hermitian_band(lab, n, kd, true);
    for (int i = 0; i < n; i++)
        AT(A, i, i) += 3 * kd + 2;
    return A;
}

struct mat mat_of_rank(struct lab *lab, int m, int n, int rank)
{
    struct mat left = mat_random(lab, m, rank), right = mat_random(lab, rank, n);
    for (int i = 0; i < m * rank; i++) /* products exact in single precision: few bits each */
        left.v[i] = CMPLX(rint(8 * creal(left.v[i])) / 8, rint(8 * cimag(left.v[i])) / 8);
    for (int i = 0; i < rank * n; i++)
        right.v[i] = CMPLX(rint(8 * creal(right.v[i])) / 8, rint(8 * cimag(right.v[i])) / 8);
    return mat_mul(lab, left, right);
}

/* ---- algebra ---- */

/* y += a x, written out: the compiler's complex product looks for infinities. */
static void add_column(int m, double complex a, const double complex *x, double complex *y)
{
    const double *from = (const double *)x;
    double *to = (double *)y, re = creal(a), im = cimag(a);
    for (int i = 0; i < 2 * m; i += 2) {
        to[i] += re * from[i] - im * from[i + 1];
        to[i + 1] += re * from[i + 1] + im * from[i];
    }
}

struct mat mat_mul(struct lab *lab, struct mat A, struct mat B)
{
    struct mat C = mat_new(lab, A.m, B.n);
    if (A.n != B.m)
        abort();
    for (int j = 0; j < B.n; j++)
        for (int k = 0; k < A.n; k++)
            if (AT(B, k, j) != 0)
                add_column(A.m, AT(B, k, j), &AT(A, 0, k), &AT(C, 0, j));
    return C;
}

struct mat mat_transposed(struct lab *lab, struct mat A, bool conjugate)
{
    struct mat B = mat_new(lab, A.n, A.m);
    for (int j = 0; j < A.n; j++)
        for (int i = 0; i < A.m; i++)
            AT(B, j, i) = conjugate ? conj(AT(A, i, j)) : AT(A, i, j);
    return B;
}

struct mat mat_op(struct lab *lab, char trans, struct mat A)
{
    return trans == 'N' ? A : mat_transposed(lab, A, trans == 'C');
}

struct mat mat_sum(struct lab *lab, double complex a, struct mat A, double complex b, struct mat B)
{
    struct mat C = mat_new(lab, A.m, A.n);
    if (A.m != B.m || A.n != B.n)
        abort();
    for (int j = 0; j < A.n; j++) {
        add_column(A.m, a, &AT(A, 0, j), &AT(C, 0, j));
        add_column(A.m, b, &AT(B, 0, j), &AT(C, 0, j));
    }
    return C;
}

struct mat mat_block(struct lab *lab, struct mat A, int i, int j, int m, int n)
{
    struct mat B = mat_new(lab, m, n);
    for (int k = 0; k < n; k++)
        for (int l = 0; l < m; l++)
            AT(B, l, k) = AT(A, i + l, j + k);
    return B;
}

struct mat mat_column(struct lab *lab, struct mat A, int j)
{
    return mat_block(lab, A, 0, j, A.m, 1);
}

struct mat mat_triangle(struct lab *lab, struct mat A, char uplo, bool unit)
{
    struct mat B = mat_new(lab, A.m, A.n);
    for (int j = 0; j < A.n; j++)
        for (int i = 0; i < A.m; i++)
            if (i == j)
                AT(B, i, j) = unit ? 1 : AT(A, i, j);
            else if ((i < j) == (uplo == 'U'))
                AT(B, i, j) = AT(A, i, j);
    return B;
}

struct mat mat_mirrored(struct lab *lab, struct mat A, char uplo, bool conjugate)
{
    struct mat B = mat_triangle(lab, A, uplo, false);
    for (int j = 0; j < A.n; j++)
        for (int i = 0; i < j; i++) {
            double complex *here = uplo == 'U' ? &AT(B, i, j) : &AT(B, j, i);
            double complex *there = uplo == 'U' ? &AT(B, j, i) : &AT(B, i, j);
            *there = conjugate ? conj(*here) : *here;
        }
    return B;
}

struct mat mat_half(struct lab *lab, struct mat A, char uplo)
{
    struct mat B = mat_copy(lab, A);
    for (int j = 0; j < A.n; j++)
        for (int i = 0; i < A.m; i++)
            if (i != j && (i < j) != (uplo == 'U'))
                AT(B, i, j) = NONSENSE;
    return B;
}

struct mat mat_interchanged(struct lab *lab, struct mat A, struct mat ipiv)
{
    struct mat B = mat_copy(lab, A);
    for (int i = 0; i < ipiv.m; i++) {
        int with = (int)creal(ipiv.v[i]) - 1;
        for (int j = 0; with != i && with >= 0 && with < B.m && j < B.n; j++) {
            double complex kept = AT(B, i, j);
            AT(B, i, j) = AT(B, with, j);
            AT(B, with, j) = kept;
        }
    }
    return B;
}

struct mat mat_permuted(struct lab *lab, struct mat A, struct mat order)
{
    struct mat B = mat_new(lab, A.m, A.n);
    for (int j = 0; j < A.n; j++) {
        int from = (int)creal(order.v[j]) - 1;
        if (from >= 0 && from < A.n)
            memcpy(&AT(B, 0, j), &AT(A, 0, from), (size_t)A.m * sizeof *A.v);
    }
    return B;
}

double mat_norm_one(struct mat A)
{
    double most = 0;
    for (int j = 0; j < A.n; j++) {
        double sum = 0;
        for (int i = 0; i < A.m; i++)
            sum += cabs(AT(A, i, j));
        most = sum > most || isnan(sum) ? sum : most;
    }
    return most;
}

double mat_norm_inf(struct mat A)
{
    double most = 0;
    for (int i = 0; i < A.m; i++) {
        double sum = 0;
        for (int j = 0; j < A.n; j++)
            sum += cabs(AT(A, i, j));
        most = sum > most || isnan(sum) ? sum : most;
    }
    return most;
}

double mat_norm_f(struct mat A)
{
    double sum = 0;
    for (size_t i = 0; i < (size_t)A.m * (size_t)A.n; i++)
        sum += creal(A.v[i]) * creal(A.v[i]) + cimag(A.v[i]) * cimag(A.v[i]);
    return sqrt(sum);
}

double mat_max(struct mat A)
{
    double most = 0;
    for (size_t i = 0; i < (size_t)A.m * (size_t)A.n; i++) {
        double size = cabs(A.v[i]);
        most = size > most || isnan(size) ? size : most;
    }
    return most;
}

static void eliminate(struct mat W, int n, int k)
{
    int best = k;
    for (int i = k; i < n; i++)
        if (cabs(AT(W, i, k)) > cabs(AT(W, best, k)))
            best = i;
    double complex pivot = AT(W, best, k);
    for (int j = 0; j < 2 * n; j++) {
        double complex kept = AT(W, k, j);
        AT(W, k, j) = AT(W, best, j) / pivot;
        if (best != k)
            AT(W, best, j) = kept;
    }
    struct mat factors = {n, 1, &AT(W, 0, k)};
    for (int j = 2 * n - 1; j >= k; j--)
        for (int i = 0; i < n; i++)
            if (i != k)
                AT(W, i, j) -= factors.v[i] * AT(W, k, j);
}

struct mat mat_inverse(struct lab *lab, struct mat A)
{
    struct mat W = mat_new(lab, A.n, 2 * A.n);
    for (int j = 0; j < A.n; j++) {
        memcpy(&AT(W, 0, j), &AT(A, 0, j), (size_t)A.n * sizeof *A.v);
        AT(W, j, A.n + j) = 1;
    }
    for (int k = 0; k < A.n; k++)
        eliminate(W, A.n, k);
    return mat_block(lab, W, 0, A.n, A.n, A.n);
}
