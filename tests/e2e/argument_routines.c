/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines of the server in the test of all kinds of arguments. */
#include <complex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* Each scalar by value, and changed by address. */
SHOWN void every_scalar(char a, short b, int c, int64_t d, int64_t e, float f, double g, float complex h,
                        double complex i, const char *text, char *a2, short *b2, int *c2, int64_t *d2,
                        int64_t *e2, float *f2, double *g2, float complex *h2, double complex *i2,
                        int *length)
{
    *a2 = (char)(a + 1);
    *b2 = (short)(b + 1);
    *c2 = c + 1;
    *d2 = d + 1;
    *e2 = e + 1;
    *f2 = f + 1;
    *g2 = g + 1;
    *h2 = h + 1.0f * I;
    *i2 = i + 1.0 * I;
    *length = (int)strlen(text);
}

/* Sum of all n elements, those that did not come too; each becomes 10 times as much plus 1. */
SHOWN double ten_times(int64_t n, double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
        x[i] = 10 * x[i] + 1;
    }
    return sum;
}

/* Lengths, and each text in front of its number, in memory of its own. */
SHOWN void number_texts(int n, const char **texts, int *lengths, char **numbered)
{
    for (int i = 0; i < n; i++) {
        lengths[i] = (int)strlen(texts[i]);
        numbered[i] = malloc((size_t)lengths[i] + 16);
        sprintf(numbered[i], "%s %d", texts[i], i + 1);
    }
}

/* The first and the last change places; the one behind the first is new. */
SHOWN void swap_texts(int n, char **texts)
{
    char *first = texts[0];
    texts[0] = texts[n - 1];
    texts[n - 1] = first;
    texts[1] = strdup("new");
}

/* Results that are a text that came in, a part of one, a constant, and one text of its own twice. */
SHOWN void borrow_texts(int n, const char **texts, char **borrowed)
{
    static char kept[] = "static";
    char *own = strdup("own text");
    char *const results[] = {
        (char *)texts[0], (char *)texts[0] + 1, (char *)"constant", kept, own, own, own + 4, NULL};
    for (int i = 0; i < n; i++)
        borrowed[i] = results[i % 8];
}

SHOWN void wrong_texts(int n, char **texts)
{
    texts[n - 1] = (char *)8;
}

SHOWN void count_up(int n, int *x)
{
    for (int i = 0; i < n; i++)
        x[i] = i;
}

/* Sum, and each element negated, whatever the number of dimensions. */
SHOWN double negate_all(int64_t n, double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
        x[i] = -x[i];
    }
    return sum;
}

/* y := A x, A in compressed columns; numbers start at `base`. */
SHOWN void csc_times(int m, int n, const int *pointers, const int *indices, const double *a, int base,
                     const double *x, double *y)
{
    memset(y, 0, (size_t)m * sizeof *y);
    for (int j = 0; j < n; j++)
        for (int k = pointers[j] - base; k < pointers[j + 1] - base; k++)
            y[indices[k] - base] += a[k] * x[j];
}

SHOWN void csr_times(int m, const int64_t *pointers, const int64_t *indices, const float complex *a,
                     const float complex *x, float complex *y)
{
    for (int i = 0; i < m; i++) {
        y[i] = 0;
        for (int64_t k = pointers[i]; k < pointers[i + 1]; k++)
            y[i] += a[k] * x[indices[k]];
    }
}

/* The positive ones of x, and how many. */
SHOWN int positive(int n, const double *x, double *found)
{
    int m = 0;
    for (int i = 0; i < n; i++)
        if (x[i] > 0)
            found[m++] = x[i];
    return m;
}

SHOWN double weighted(int n, const double *x, const double *weight, double *sums)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i] * weight[i];
        sums[i] += sum;
    }
    return sum;
}

/* Integers that no double holds. */
SHOWN void next_numbers(int n, int64_t *x, int64_t *largest)
{
    *largest = 0;
    for (int i = 0; i < n; i++) {
        x[i]++;
        *largest = x[i] > *largest ? x[i] : *largest;
    }
}

/* ---- every type of number: arrays as bytes ---- */

static void turn_over(void *array, size_t first, size_t count, size_t skip, size_t size)
{
    unsigned char *bytes = array;
    for (size_t k = first; k < count; k += skip)
        for (size_t b = 0; b < size; b++)
            bytes[k * size + b] = (unsigned char)~bytes[k * size + b];
}

/* Copies inputs, by way of the work array for T, and turns over the bits of inout arguments. The other
 * elements than those of the section S, 1 to 2n - 1 by 2, must be zeros, otherwise S3 gets wrong values. */
SHOWN void keep(int64_t size, int m, int n, const char *v, const char *A, const char *T, const char *R,
                const char *S, const char *w, char *v2, char *A2, char *T2, char *S2, char *P2, char *v3,
                char *A3, char *T3, char *R3, char *S3, char *w3, char *room)
{
    const size_t each = (size_t)size, rows = (size_t)m, columns = (size_t)n, whole = rows * columns * each;
    memcpy(v3, v, columns * each);
    memcpy(A3, A, whole);
    memcpy(room, T, 2 * whole);
    memcpy(T3, room, 2 * whole);
    memcpy(R3, R, whole);
    memcpy(w3, w, columns * each);
    for (size_t k = 0; k < columns; k++)
        for (size_t b = 0; b < each; b++)
            S3[k * each + b] = (char)(S[(2 * k + 1) * each + b] | S[2 * k * each + b]);
    turn_over(v2, 0, columns, 1, each);
    turn_over(A2, 0, rows * columns, 1, each);
    turn_over(T2, 0, 2 * rows * columns, 1, each);
    turn_over(S2, 1, 2 * columns, 2, each);
    turn_over(P2, 0, columns * (columns + 1) / 2, 1, each);
}

/* B and C get the values of A and C plus 1; there and back get the leading dimensions of A and B. */
SHOWN void one_more(int m, int n, const double *A, int lda, float *B, int ldb, double *C, int ldc, int *there,
                    int *back)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            B[j * ldb + i] = (float)(A[j * lda + i] + 1);
            C[j * ldc + i] += 1;
        }
    *there = lda;
    *back = ldb;
}

/* Takes the arguments by addresses, and scalars of the type. */
SHOWN void keep_(const int64_t *size, const int *m, const int *n, const char *s, const char *t, char *u,
                 char *x, char *t3, const char *v, const char *A, const char *T, const char *R, const char *S,
                 const char *w, char *v2, char *A2, char *T2, char *S2, char *P2, char *v3, char *A3,
                 char *T3, char *R3, char *S3, char *w3, char *room)
{
    keep(*size, *m, *n, v, A, T, R, S, w, v2, A2, T2, S2, P2, v3, A3, T3, R3, S3, w3, room);
    memcpy(x, s, (size_t)*size);
    memcpy(t3, t, (size_t)*size);
    turn_over(u, 0, 1, 1, (size_t)*size);
}
