/* SPDX-License-Identifier: Apache-2.0
 *
 * city_steps: chains of calls from a city that is far from the servers (t0690-cities.t). Each prints the
 * seconds that it took.
 *
 *     city_steps complex N [sequence]   a product of complex matrices: four real products and two additions
 *     city_steps chain N [sequence]     LU, two solves, the residual of the last one
 *     city_steps killed N               the same with data; between LU and the solves the server that made
 * the factors is killed: creates the file "factored", waits for the file "killed"
 */
#include "espalier.h"
#include "grpc_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int n;

#define MUST(call)                                                                                           \
    if ((call) != 0)                                                                                         \
    return fprintf(stderr, "%s: %s\n", #call, esp_last_error()->text), 1

static double *matrix(double seed)
{
    double *x = malloc((size_t)n * (size_t)n * sizeof *x);
    if (!x)
        exit(2);
    for (size_t i = 0; i < (size_t)n * (size_t)n; i++)
        x[i] = sin(seed + (double)i);
    return x;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static grpc_function_handle_t named(const char *problem)
{
    grpc_function_handle_t handle;
    if (grpc_function_handle_default(&handle, (char *)problem) != GRPC_NO_ERROR) {
        fprintf(stderr, "%s: %s\n", problem, esp_last_error()->text);
        exit(1);
    }
    return handle;
}

/* One element of x y. */
static double element(const double *x, const double *y, int i, int j)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += x[(size_t)k * (size_t)n + (size_t)i] * y[(size_t)j * (size_t)n + (size_t)k];
    return sum;
}

static int differs(double found, double expected)
{
    if (fabs(found - expected) < 1e-6)
        return 0;
    return fprintf(stderr, "expected %g, found %g\n", expected, found), 1;
}

static int complex_product(int in_sequence)
{
    grpc_function_handle_t product = named("product"), add = named("dadd"), subtract = named("dsubtract");
    double *ar = matrix(1), *ai = matrix(2), *br = matrix(3), *bi = matrix(4), *cr = matrix(5),
           *ci = matrix(6);
    double *rr = matrix(0), *ii = matrix(0), *ri = matrix(0), *ir = matrix(0);
    if (in_sequence)
        MUST(esp_sequence_begin());
    MUST(grpc_call(&product, n, ar, br, rr));
    MUST(grpc_call(&product, n, ai, bi, ii));
    MUST(grpc_call(&product, n, ar, bi, ri));
    MUST(grpc_call(&product, n, ai, br, ir));
    MUST(grpc_call(&subtract, n, n, rr, ii, cr));
    MUST(grpc_call(&add, n, n, ri, ir, ci));
    if (in_sequence)
        MUST(esp_sequence_end());
    int i = n / 3, j = n - 2;
    size_t at = (size_t)j * (size_t)n + (size_t)i;
    return differs(cr[at], element(ar, br, i, j) - element(ai, bi, i, j)) ||
           differs(ci[at], element(ar, bi, i, j) + element(ai, br, i, j));
}

static void make_regular(double *a)
{
    for (int i = 0; i < n; i++)
        a[(size_t)i * (size_t)n + (size_t)i] += n;
}

/* a x2 - x1 = 0, where a x1 = b. */
static int chain(int in_sequence)
{
    grpc_function_handle_t getrf = named("dgetrf"), getrs = named("dgetrs");
    grpc_function_handle_t product = named("product"), subtract = named("dsubtract");
    double *a = matrix(1), *lu = matrix(1), *x1 = matrix(2), *x2 = matrix(2), *ax = matrix(0),
           *rest = matrix(0);
    int *pivots = calloc((size_t)n, sizeof *pivots);
    make_regular(a);
    make_regular(lu);
    if (in_sequence)
        MUST(esp_sequence_begin());
    MUST(grpc_call(&getrf, n, n, lu, pivots));
    MUST(grpc_call(&getrs, 'N', n, n, lu, pivots, x1));
    MUST(grpc_call(&getrs, 'N', n, n, lu, pivots, x2)); /* of the same right-hand side */
    MUST(grpc_call(&product, n, a, x2, ax));
    MUST(grpc_call(&subtract, n, n, x1, x2, rest));
    if (in_sequence)
        MUST(esp_sequence_end());
    double *b = matrix(2);
    for (size_t i = 0; i < (size_t)n * (size_t)n; i++)
        if (differs(ax[i], b[i]) || differs(rest[i], 0))
            return 1;
    return 0;
}

static int killed(void)
{
    grpc_function_handle_t getrf, getrs = named("dgetrs");
    const size_t dims[] = {(size_t)n, (size_t)n, 0};
    const char *from[] = {"memory:a", NULL}, *nothing[] = {NULL}, *to[] = {"server:A", "server:B", NULL};
    const grpc_data_mode_t modes[] = {GRPC_PERSISTENT, GRPC_PERSISTENT, GRPC_END_LIST};
    double *a = matrix(1), *x = matrix(2), *b = matrix(2);
    int *pivots = calloc((size_t)n, sizeof *pivots);
    grpc_data_t lu;
    const grpc_data_t *list[] = {&lu, NULL};
    make_regular(a);
    double *copy = malloc((size_t)n * (size_t)n * sizeof *copy);
    memcpy(copy, a, (size_t)n * (size_t)n * sizeof *copy);
    MUST(grpc_function_handle_init(&getrf, (char *)"A", (char *)"dgetrf"));
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(grpc_data_init(&lu, from, NULL, GRPC_DOUBLE, dims, modes));
    MUST(grpc_call(&getrf, n, n, &lu, pivots));
    /* Both servers of that city get what the call has made, not what was in memory. One output alone would
     * move it. */
    MUST(grpc_data_transfer(&lu, nothing, to, modes));
    MUST(grpc_data_wait(list, GRPC_WAIT_ALL, NULL));
    fclose(fopen("factored", "w"));
    for (int i = 0; i < 600 && access("killed", F_OK) != 0; i++)
        usleep(100000);
    MUST(grpc_call(&getrs, 'N', n, n, &lu, pivots, x));
    /* The one on the server that was killed is not deleted until that is back. */
    if (grpc_data_free(&lu, NULL) == GRPC_NO_ERROR ||
        !strstr(esp_last_error()->text, "could not be deleted on A"))
        return fprintf(stderr, "grpc_data_free: %s\n", esp_last_error()->text), 1;
    for (int i = 0; i < n; i += 7)
        if (differs(element(copy, x, i, i), b[(size_t)i * (size_t)n + (size_t)i]))
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int in_sequence = argc > 3 && strcmp(argv[3], "sequence") == 0;
    n = argc > 2 ? atoi(argv[2]) : 0;
    if (n < 1 || grpc_initialize(NULL) != GRPC_NO_ERROR)
        return fprintf(stderr, "city_steps: %s\n", esp_last_error()->text), 2;
    double begun = seconds();
    int failed = strcmp(what, "complex") == 0  ? complex_product(in_sequence)
                 : strcmp(what, "chain") == 0  ? chain(in_sequence)
                 : strcmp(what, "killed") == 0 ? killed()
                                               : 2;
    printf("%.3f\n", seconds() - begun);
    grpc_finalize();
    return failed;
}
