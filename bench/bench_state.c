/* SPDX-License-Identifier: Apache-2.0
 *
 * Solving again with factors that a server keeps (examples/kept), against a whole solve with dgesv of the
 * same order: both through the hierarchy, the matrix's way to the server included where it has to go.
 */
#include "bench/bench.h"
#include "bench/platform.h"
#include "espalier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N 1000

struct systems {
    grpc_function_handle_t whole, again;
    char *factors;
    double *a, *work, *b, *x;
    int *pivots;
};

static void check(grpc_error_t code)
{
    if (code != GRPC_NO_ERROR)
        bench_fail("%s: %s", grpc_error_string(code), esp_last_error()->text);
}

static void check_solution(const struct systems *systems)
{
    double worst = 0;
    for (int i = 0; i < N; i++) {
        double sum = -systems->b[i];
        for (int j = 0; j < N; j++)
            sum += systems->a[j * N + i] * systems->x[j];
        worst = fmax(worst, fabs(sum));
    }
    if (!(worst < 1e-8))
        bench_fail("a residual of %g", worst);
}

static double solve_again(void *context, size_t n)
{
    struct systems *systems = context;
    double begin = bench_now();
    for (size_t i = 0; i < n; i++) {
        memcpy(systems->x, systems->b, N * sizeof(double));
        check(grpc_call(&systems->again, systems->factors, N, 1, systems->x));
    }
    double ms = (bench_now() - begin) / (double)n * 1e3;
    check_solution(systems);
    return ms;
}

static double solve_whole(void *context, size_t n)
{
    struct systems *systems = context;
    double ms = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(systems->work, systems->a, N * N * sizeof(double));
        memcpy(systems->x, systems->b, N * sizeof(double));
        double begin = bench_now();
        check(grpc_call(&systems->whole, N, 1, systems->work, systems->pivots, systems->x));
        ms += (bench_now() - begin) / (double)n * 1e3;
    }
    check_solution(systems);
    return ms;
}

int main(void)
{
    struct platform platform;
    struct systems systems = {.a = malloc(N * N * sizeof(double)),
                              .work = malloc(N * N * sizeof(double)),
                              .b = malloc(N * sizeof(double)),
                              .x = malloc(N * sizeof(double)),
                              .pivots = malloc(N * sizeof(int))};
    grpc_function_handle_t open, close;
    srand(1);
    for (int i = 0; i < N * N; i++)
        systems.a[i] = rand() / (double)RAND_MAX - 0.5 + (i % (N + 1) == 0 ? 10 : 0);
    for (int i = 0; i < N; i++)
        systems.b[i] = rand() / (double)RAND_MAX;
    platform_start(&platform, NULL);
    check(grpc_initialize(platform.client_conf));
    check(grpc_function_handle_default(&systems.whole, (char *)"dgesv"));
    check(grpc_function_handle_default(&systems.again, (char *)"lu_solve"));
    check(grpc_function_handle_default(&open, (char *)"lu_open"));
    check(grpc_function_handle_default(&close, (char *)"lu_close"));
    check(grpc_call(&open, N, systems.a, &systems.factors));
    const struct bench_case which = {"state", "solve again with kept factors, n = 1000", "ms", BENCH_AT_MOST,
                                     0.1};
    bench_compare(&which, solve_again, &systems, solve_whole, &systems, 5, 7);
    check(grpc_call(&close, &systems.factors));
    grpc_finalize();
    platform_stop(&platform);
    return 0;
}
