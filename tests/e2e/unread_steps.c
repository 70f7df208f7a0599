/* SPDX-License-Identifier: Apache-2.0
 *
 * unread_steps: what a routine only writes is not sent (t0692-unread.t). Server "S" solves the problems of
 * BLAS and those of unread.esp.
 *
 *     unread_steps gemm BETA    C := A B + BETA C, with a C of NaN when BETA is 0
 *     unread_steps imaginary    the same with a complex BETA whose real part is 0
 *     unread_steps stale        what the routine leaves is 0, and nothing of calls before
 *     unread_steps forecast     counts what goes in
 *     unread_steps refused      asks for forecasts that cannot be
 *     unread_steps nowhere      data, memory and null pointers for what is not read
 */
#include "fast.h"
#include "tests/e2e/data_arrays.h"

#include <complex.h>
#include <string.h>

static grpc_function_handle_t gemm;

static int product(double beta)
{
    fill(a, 1);
    fill(b, 2);
    multiply(a, b, expected);
    for (int i = 0; i < N * N; i++) {
        c[i] = beta == 0 ? NAN : i;
        expected[i] += beta == 0 ? 0 : beta * i;
    }
    MUST(grpc_call(&gemm, 'N', 'N', N, N, N, 1.0, a, b, beta, c));
    HOLDS(near(c, expected));
    return 0;
}

static int imaginary(void)
{
    grpc_function_handle_t zgemm;
    double complex x = 2, y = 3, z = 5;
    MUST(grpc_function_handle_default(&zgemm, (char *)"zgemm"));
    MUST(grpc_call(&zgemm, 'N', 'N', 1, 1, 1, (double complex)1, &x, &y, (double complex)I, &z));
    HOLDS(creal(z) == 6 && cimag(z) == 5);
    z = NAN;
    MUST(grpc_call(&zgemm, 'N', 'N', 1, 1, 1, (double complex)1, &x, &y, (double complex)0, &z));
    HOLDS(creal(z) == 6 && cimag(z) == 0);
    return 0;
}

/* Of the lower triangle nothing is written. */
static int leaves_zeros(grpc_function_handle_t *triangle, int n)
{
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N * N; i++)
            c[i] = 7;
        MUST(grpc_call(triangle, n, a, 1.0, c)); /* its sevens stay in the server's memory */
        HOLDS(c[n - 1] == 7);
        for (int i = 0; i < N * N; i++)
            c[i] = NAN;
        MUST(grpc_call(triangle, n, a, 0.0, c));
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                HOLDS(i > j ? c[j * n + i] == 0 : isfinite(c[j * n + i]));
        HOLDS(c[(n - 1) * n] != 0);
    }
    return 0;
}

static int stale(void)
{
    grpc_function_handle_t triangle;
    fill(a, 1);
    MUST(grpc_function_handle_default(&triangle, (char *)"triangle"));
    return leaves_zeros(&triangle, 3) || leaves_zeros(&triangle, 40) || leaves_zeros(&triangle, N);
}

static int nowhere(void)
{
    grpc_function_handle_t triangle;
    grpc_data_t kept;
    fill(a, 1);
    fill(b, 2);
    multiply(a, b, expected);
    MUST(grpc_call(&gemm, 'N', 'N', N, N, N, 1.0, a, b, 0.0, NULL));
    MUST(grpc_function_handle_default(&triangle, (char *)"triangle"));
    MUST(grpc_call(&triangle, N, a, 0.0, NULL));
    HOLDS(grpc_call(&triangle, N, a, 1.0, NULL) != GRPC_NO_ERROR);
    HOLDS(strstr(esp_last_error()->text, "argument \"C\": expected a pointer to its value"));
    /* It has no value yet, and gets one that stays. */
    memset(c, 0, sizeof c);
    MUST(grpc_data_memory_mapping_set("c", c));
    MUST(array(&kept, "memory:c", "memory:c", GRPC_VOLATILE));
    MUST(grpc_call(&gemm, 'N', 'N', N, N, N, 1.0, a, b, 0.0, &kept));
    HOLDS(near(c, expected));
    MUST(grpc_data_free(&kept, NULL));
    return 0;
}

/* Inputs of a forecast. */
static int forecast(void)
{
    struct fast_value values[] = {
        {.name = "m", .value = N}, {.name = "n", .value = N}, {.name = "k", .value = N}, {.name = "beta"}};
    const struct fast_call call = {.problem = "dgemm", .values = values, .n_values = 4};
    double bytes[2];
    for (int beta = 0; beta < 2; beta++) {
        values[3].value = beta;
        MUST(fast_need(FAST_INPUT, &call, &bytes[beta]));
    }
    HOLDS(bytes[1] - bytes[0] == sizeof c);
    return 0;
}

/* A call that cannot be forecast leaves everything as it was. */
static int refused(void)
{
    const struct fast_value values[] = {{.name = "m", .value = N},
                                        {.name = "n", .value = N},
                                        {.name = "k", .value = N},
                                        {.name = "n", .value = 2 * N}};
    struct fast_call call = {.problem = "dgemm", .values = values, .n_values = 4};
    double amount = 42;
    HOLDS(fast_need(FAST_FLOP, &call, &amount) == ESP_INVALID);
    HOLDS(strstr(esp_last_error()->text, "dgemm: n is given twice") != NULL);
    HOLDS(fast_comp_time(NULL, &call, &amount, NULL) == ESP_INVALID);
    call.n_values = 3;
    HOLDS(fast_need(FAST_SLOTS, &call, &amount) == ESP_INVALID);
    call.problem = "nothing";
    HOLDS(fast_need(FAST_FLOP, &call, &amount) == ESP_UNKNOWN_PROBLEM);
    HOLDS(amount == 42);
    call.problem = "dgemm";
    HOLDS(fast_need(FAST_FLOP, &call, NULL) == ESP_INVALID);
    MUST(fast_need(FAST_FLOP, &call, &amount));
    HOLDS(amount == 2.0 * N * N * N);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (grpc_initialize(NULL) != GRPC_NO_ERROR ||
        grpc_function_handle_default(&gemm, (char *)"dgemm") != GRPC_NO_ERROR)
        return told("grpc_initialize");
    int failed = strcmp(what, "gemm") == 0 && argc > 2 ? product(atof(argv[2]))
                 : strcmp(what, "imaginary") == 0      ? imaginary()
                 : strcmp(what, "stale") == 0          ? stale()
                 : strcmp(what, "forecast") == 0       ? forecast()
                 : strcmp(what, "refused") == 0        ? refused()
                 : strcmp(what, "nowhere") == 0        ? nowhere()
                                                       : 2;
    grpc_finalize();
    return failed;
}
