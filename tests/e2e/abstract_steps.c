/* SPDX-License-Identifier: Apache-2.0
 *
 * abstract_steps: abstract problems through the GridRPC API, in memory of a program.
 */
#include "espalier.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>

#define N 40

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, esp_last_error()->text);
    return 1;
}

/* max |A X - B| of one right-hand side. */
static double residual(const double *a, const double *x, const double *b, int n)
{
    double worst = 0;
    for (int i = 0; i < n; i++) {
        double sum = -b[i];
        for (int j = 0; j < n; j++)
            sum += a[j * n + i] * x[j];
        worst = fmax(worst, fabs(sum));
    }
    return worst;
}

static int solves(void)
{
    static double a[N * N], b[N], x[N];
    grpc_function_handle_t handle;
    if (grpc_function_handle_default(&handle, (char *)"solve") != GRPC_NO_ERROR)
        return fail("solve");
    for (int kind = 0; kind < 3; kind++) { /* general, symmetric indefinite, tridiagonal */
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                a[j * N + i] = kind == 0   ? sin(1.0 + 7.0 * i * j + i) + (i == j ? 9 : 0)
                               : kind == 1 ? cos(1.0 + i * j)
                                           : (i == j                     ? 2.1
                                              : i - j == 1 || j - i == 1 ? -1
                                                                         : 0);
        for (int i = 0; i < N; i++)
            b[i] = i + 1;
        if (grpc_call(&handle, N, N, 1, a, b, x) != GRPC_NO_ERROR)
            return fail("grpc_call");
        if (!(residual(a, x, b, N) < 1e-8))
            return fprintf(stderr, "kind %d: residual %g\n", kind, residual(a, x, b, N)), 1;
    }
    grpc_sessionid_t session;
    if (grpc_call_async(&handle, &session, N, N, 1, a, b, x) == GRPC_NO_ERROR)
        return fail("an abstract problem was started");
    printf("%s\n", esp_last_error()->text);
    grpc_function_handle_destruct(&handle);
    return 0;
}

static int hermitian(void)
{
    double complex a[4] = {4, -2 * I, 2 * I, 5}, b[2] = {1, I}, x[2];
    grpc_function_handle_t handle;
    if (grpc_function_handle_default(&handle, (char *)"zsolve") != GRPC_NO_ERROR ||
        grpc_call(&handle, 2, 2, 1, a, b, x) != GRPC_NO_ERROR)
        return fail("zsolve");
    double complex first = a[0] * x[0] + a[2] * x[1] - b[0], second = a[1] * x[0] + a[3] * x[1] - b[1];
    return cabs(first) + cabs(second) < 1e-13 ? 0 : fail("zsolve's residual");
}

static int chain(void)
{
    float a[4] = {4, 1, 2, 3}, x[4];
    grpc_function_handle_t handle;
    if (grpc_function_handle_default(&handle, (char *)"sinv") != GRPC_NO_ERROR ||
        grpc_call(&handle, 2, a, x) != GRPC_NO_ERROR)
        return fail("sinv");
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            if (fabsf(a[i] * x[2 * j] + a[2 + i] * x[2 * j + 1] - (i == j)) > 1e-6f)
                return fail("sinv's residual");
    return 0;
}

int main(void)
{
    if (grpc_initialize(NULL) != GRPC_NO_ERROR)
        return fail("begin");
    if (solves() || hermitian() || chain())
        return 1;
    return grpc_finalize() != GRPC_NO_ERROR;
}
