/* SPDX-License-Identifier: Apache-2.0
 *
 * A synchronous call: solve A x = b for a random system, and check the answer here.
 *
 *     cc solve.c $(pkg-config --cflags --libs espalier) -lm -o solve && ./solve [N]
 */
#include <espalier.h>
#include <grpc.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Says what failed, and passes the code on. */
static grpc_error_t report(const char *what, grpc_error_t error)
{
    if (error != GRPC_NO_ERROR)
        fprintf(stderr, "%s: %s\n", what, esp_last_error()->text);
    return error;
}

/* The largest |A x - b|; A is n x n, column by column. */
static double residual(int n, const double *a, const double *x, const double *b)
{
    double largest = 0;
    for (int i = 0; i < n; i++) {
        double sum = -b[i];
        for (int j = 0; j < n; j++)
            sum += a[i + j * n] * x[j];
        largest = fmax(largest, fabs(sum));
    }
    return largest;
}

static grpc_error_t solve(int n, double *factors, int *pivots, double *x)
{
    grpc_function_handle_t handle;
    char name[] = "dgesv";
    grpc_error_t error = report("dgesv", grpc_function_handle_default(&handle, name));
    if (error != GRPC_NO_ERROR)
        return error;
    /* dgesv overwrites both arrays: A by its factors, B by the solution. */
    error = report("the call", grpc_call(&handle, n, 1, factors, pivots, x));
    grpc_function_handle_destruct(&handle);
    return error;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 200;
    if (n < 1 || n > 10000) {
        fprintf(stderr, "usage: solve [N], N from 1 to 10000\n");
        return 2;
    }
    size_t elements = (size_t)n * (size_t)n;
    double *a = malloc(elements * sizeof *a), *factors = malloc(elements * sizeof *factors);
    double *b = malloc((size_t)n * sizeof *b), *x = malloc((size_t)n * sizeof *x);
    int *pivots = malloc((size_t)n * sizeof *pivots);
    int failed = 1;
    if (!a || !factors || !b || !x || !pivots)
        goto done;
    for (size_t i = 0; i < elements; i++)
        a[i] = (double)rand() / RAND_MAX - 0.5;
    for (int i = 0; i < n; i++) {
        a[i + i * n] += n; /* well conditioned */
        x[i] = b[i] = i + 1;
    }
    memcpy(factors, a, elements * sizeof *a);

    if (report("grpc_initialize", grpc_initialize(NULL)) != GRPC_NO_ERROR)
        goto done;
    if (solve(n, factors, pivots, x) == GRPC_NO_ERROR) {
        double r = residual(n, a, x, b);
        printf("n = %d, largest residual %.2g\n", n, r);
        failed = !(r < 1e-9 * n);
    }
    grpc_finalize();
done:
    free(a);
    free(factors);
    free(b);
    free(x);
    free(pivots);
    return failed;
}
