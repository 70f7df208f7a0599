/* SPDX-License-Identifier: Apache-2.0
 *
 * A GridRPC program that passes every kind of argument with grpc_call(): argument_steps STEP; 0: as expected.
 */
#include "tests/e2e/steps.h"

#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int scalars(void)
{
    grpc_function_handle_t every = handle("every_scalar");
    char a;
    short b;
    int c, length;
    int64_t d, e;
    float f;
    double g;
    float complex h;
    double complex i;
    EXPECT(grpc_call(&every, 'x', (short)-3, 7, (int64_t)-9, INT64_C(1) << 60, 1.5, 2.25, 1.0f - 2.0f * I,
                     3.0 + 4.0 * I, "four", &a, &b, &c, &d, &e, &f, &g, &h, &i, &length) == GRPC_NO_ERROR);
    EXPECT(a == 'y' && b == -2 && c == 8 && d == -8 && e == (INT64_C(1) << 60) + 1);
    EXPECT(f == 2.5f && g == 3.25 && h == 1.0f - 1.0f * I && i == 3.0 + 5.0 * I && length == 4);
    return 0;
}

static int dimensions(void)
{
    grpc_function_handle_t tensor = handle("tensor");
    double x[2 * 3 * 1 * 2 * 1 * 2 * 5], sum = 0, expected = 0;
    for (int k = 0; k < 120; k++)
        expected += x[k] = k;
    EXPECT(grpc_call(&tensor, 5, x, &sum) == GRPC_NO_ERROR && sum == expected);
    for (int k = 0; k < 120; k++)
        EXPECT(x[k] == -k);
    return 0;
}

/* [4 1 0; 1 5 1; 0 1 6] as its upper triangle, and as a band with a row for fill-in. */
static int storage(void)
{
    grpc_function_handle_t packed = handle("dppsv_"), banded = handle("dgbsv_");
    double ap[] = {4, 1, 5, 0, 1, 6}, b[] = {6, 14, 20}, b2[] = {6, 14, 20};
    double ab[] = {0, 0, 4, 1, /**/ 0, 1, 5, 1, /**/ 0, 1, 6, 0};
    int ipiv[3];
    EXPECT(grpc_call(&packed, 'U', 3, 1, ap, b) == GRPC_NO_ERROR);
    EXPECT(grpc_call(&banded, 3, 1, 1, 1, ab, ipiv, b2) == GRPC_NO_ERROR);
    for (int k = 0; k < 3; k++)
        EXPECT(fabs(b[k] - (k + 1)) < 1e-14 && fabs(b2[k] - (k + 1)) < 1e-14);
    return 0;
}

static int sparse(void)
{
    grpc_function_handle_t csc = handle("csc_times"), csr = handle("csr_times");
    int pointers[] = {1, 3, 3, 4}, indices[] = {1, 2, 2};
    double a[] = {1, 2, 3}, x[] = {10, 20, 30}, y[2];
    EXPECT(grpc_call(&csc, 2, 3, 3, pointers, indices, a, x, y) == GRPC_NO_ERROR && y[0] == 10 &&
           y[1] == 110);
    indices[2] = 3;
    EXPECT(grpc_call(&csc, 2, 3, 3, pointers, indices, a, x, y) != GRPC_NO_ERROR);
    EXPECT(strstr(esp_last_error()->text, "indices(3): expected a row from 1 to 2, found 3"));
    int64_t rows[] = {0, 1, 2}, columns[] = {1, 0};
    float complex z[] = {2.0f * I, 3}, v[] = {1, 1.0f * I}, w[2];
    EXPECT(grpc_call(&csr, 2, 2, 2, rows, columns, z, v, w) == GRPC_NO_ERROR && w[0] == -2 && w[1] == 3);
    return 0;
}

static int optional(void)
{
    grpc_function_handle_t weighted = handle("weighted");
    double x[] = {1, 2, 3}, weight[] = {1, 0, 1}, sums[] = {10, 10, 10}, sum = 0;
    EXPECT(grpc_call(&weighted, 3, x, weight, sums, &sum) == GRPC_NO_ERROR && sum == 4 && sums[2] == 14);
    EXPECT(grpc_call(&weighted, 3, x, NULL, sums, &sum) == GRPC_NO_ERROR && sum == 3 && sums[0] == 11.5);
    EXPECT(grpc_call(&weighted, 3, x, NULL, NULL, &sum) == GRPC_NO_ERROR && sum == 3);
    x[1] = NAN;
    EXPECT(grpc_call(&weighted, 3, x, NULL, NULL, &sum) != GRPC_NO_ERROR);
    EXPECT(strstr(esp_last_error()->text, "x(2) is not a number (NaN)"));
    return 0;
}

static int counted(void)
{
    grpc_function_handle_t positive = handle("positive");
    double x[] = {1, -2, 3, -4}, found[] = {7, 7, 7, 7};
    int m = 0;
    EXPECT(grpc_call(&positive, 4, x, &m, found) == GRPC_NO_ERROR && m == 2 && found[0] == 1 &&
           found[1] == 3);
    grpc_function_handle_t boasting = handle("boasting");
    x[1] = x[3] = 1;
    EXPECT(grpc_call(&boasting, 4, x, &m, found) == GRPC_SESSION_FAILED);
    EXPECT(strstr(esp_last_error()->text, "m + 1: expected a count of at most 4, found 5"));
    return 0;
}

static int sections(void)
{
    grpc_function_handle_t strided = handle("strided"), counting = handle("counting");
    double x[] = {1, 2, 3, 4, 5, 6, 7}, sum = 0;
    EXPECT(grpc_call(&strided, 7, 2, x, &sum) == GRPC_NO_ERROR && sum == 2 + 4 + 6);
    for (int k = 0; k < 7; k++)
        EXPECT(x[k] == (k % 2 ? 10 * (k + 1) + 1 : k + 1));
    EXPECT(grpc_call(&strided, 7, 0, x, &sum) != GRPC_NO_ERROR);
    EXPECT(strstr(esp_last_error()->text, "strided: the section of x: expected 0 <= start <= end < 7"));
    int m = 300, *A = calloc((size_t)m * 300, sizeof *A);
    for (int k = 0; k < m * 300; k++)
        A[k] = -1;
    EXPECT(grpc_call(&counting, m, A) == GRPC_NO_ERROR);
    for (int j = 0; j < 300; j++)
        for (int i = 0; i < m; i++)
            EXPECT(A[j * m + i] == (i % 3 == 1 && j >= 10 && j % 2 == 0 ? j * m + i : -1));
    free(A);
    return 0;
}

/* Columns with another stride for the routine than for the caller: only the routine gets its stride. */
static int leading(void)
{
    static const struct {
        int m, n, there, back;
    } rows[] = {{512, 40, 520, 528}, {520, 40, 520, 528}, {10, 40, 10, 10}, {512, 8, 512, 512}, {0, 3, 1, 1}};
    grpc_function_handle_t one_more = handle("one_more");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const int m = rows[r].m, n = rows[r].n;
        const size_t count = (size_t)m * (size_t)n;
        double *A = calloc(count + 1, sizeof *A), *C = calloc(count + 1, sizeof *C);
        float *B = calloc(count + 1, sizeof *B);
        int there = 0, back = 0;
        for (size_t k = 0; k < count; k++) {
            A[k] = (double)k;
            C[k] = -(double)k;
        }
        EXPECT(grpc_call(&one_more, m, n, A, B, C, &there, &back) == GRPC_NO_ERROR);
        EXPECT(there == rows[r].there && back == rows[r].back);
        for (size_t k = 0; k < count; k++)
            EXPECT(A[k] == (double)k && B[k] == (float)(k + 1) && C[k] == 1 - (double)k);
        free(A);
        free(B);
        free(C);
    }
    return 0;
}

static int texts(void)
{
    grpc_function_handle_t number = handle("numbered"), swap = handle("swapped"),
                           wrong = handle("wrong_texts");
    const char *in[] = {"one", "", "three"};
    char *out[3] = {NULL, NULL, NULL}, *both[] = {"a", "b", "c"};
    int lengths[3];
    EXPECT(grpc_call(&number, 3, in, lengths, out) == GRPC_NO_ERROR);
    EXPECT(lengths[0] == 3 && lengths[1] == 0 && lengths[2] == 5);
    EXPECT(strcmp(out[0], "one 1") == 0 && strcmp(out[1], " 2") == 0 && strcmp(out[2], "three 3") == 0);
    for (int i = 0; i < 3; i++)
        free(out[i]);
    EXPECT(grpc_call(&swap, 3, both) == GRPC_NO_ERROR);
    EXPECT(strcmp(both[0], "c") == 0 && strcmp(both[1], "new") == 0 && strcmp(both[2], "a") == 0);
    for (int i = 0; i < 3; i++)
        free(both[i]);
    EXPECT(grpc_call(&wrong, 3, out) != GRPC_NO_ERROR);
    EXPECT(strstr(esp_last_error()->text, "gave back 'texts': element 3 is not the address of a text"));
    in[1] = NULL;
    EXPECT(grpc_call(&number, 3, in, lengths, out) != GRPC_NO_ERROR);
    EXPECT(strstr(esp_last_error()->text, "argument \"texts\": element 2 is a null pointer"));
    EXPECT(grpc_call(&number, 0, NULL, NULL, NULL) == GRPC_NO_ERROR);
    return 0;
}

/* The texts, 2,000 of 1,000 bytes, are so many that they travel beside the call. */
static int long_texts(void)
{
    grpc_function_handle_t number = handle("numbered");
    enum { N = 2000, LENGTH = 1000 };
    static char *in[N], *out[N];
    static int lengths[N];
    for (int i = 0; i < N; i++) {
        in[i] = malloc(LENGTH + 1);
        memset(in[i], 'a' + i % 26, LENGTH);
        in[i][LENGTH] = 0;
    }
    EXPECT(grpc_call(&number, N, in, lengths, out) == GRPC_NO_ERROR);
    for (int i = 0; i < N; i++) {
        EXPECT(lengths[i] == LENGTH && strncmp(out[i], in[i], LENGTH) == 0 && atoi(out[i] + LENGTH) == i + 1);
        free(in[i]);
        free(out[i]);
    }
    return 0;
}

/* No call is done that gives NaN where the input explains none. */
static int singular_factors(void)
{
    grpc_function_handle_t cholesky = handle("dpotrs"), lu = handle("dgetrs"), inverse = handle("dgetri");
    double a[] = {0, 0, 0, 0}, b[] = {1, 1}, nothing = 0, one = 1;
    int rows[] = {1, 2};
    EXPECT(grpc_call(&cholesky, 'U', 1, 1, &nothing, &one) == GRPC_SESSION_FAILED);
    EXPECT(esp_last_error()->status == ESP_INACCURATE);
    EXPECT(strstr(esp_last_error()->text, "dpotrs: B(1,1) is not a finite number"));
    a[0] = 1;
    EXPECT(grpc_call(&lu, 'N', 2, 1, a, rows, b) == GRPC_SESSION_FAILED);
    EXPECT(strstr(esp_last_error()->text, "is not a finite number, though all inputs are"));
    a[3] = 1e-320;
    EXPECT(grpc_call(&inverse, 2, a, rows) == GRPC_SESSION_FAILED);
    EXPECT(strstr(esp_last_error()->text, "dgetri: A("));
    /* Here the input does explain it. */
    b[0] = b[1] = 1;
    a[0] = 1;
    a[3] = NAN;
    EXPECT(grpc_call(&lu, 'N', 2, 1, a, rows, b) == GRPC_NO_ERROR && isnan(b[1]));
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } steps[] = {{"scalars", scalars},
                 {"dimensions", dimensions},
                 {"storage", storage},
                 {"sparse", sparse},
                 {"optional", optional},
                 {"counted", counted},
                 {"sections", sections},
                 {"texts", texts},
                 {"long_texts", long_texts},
                 {"leading", leading},
                 {"singular_factors", singular_factors}};
    if (argc != 2 || grpc_initialize(NULL) != GRPC_NO_ERROR) {
        printf("argument_steps STEP: %s\n", esp_last_error()->text);
        return 2;
    }
    int result = 2;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (strcmp(steps[i].name, argv[1]) == 0)
            result = steps[i].run();
    grpc_finalize();
    return result;
}
