/* SPDX-License-Identifier: Apache-2.0
 *
 * A product and a system by the ranks of a server, whose operands lie there as the call wants them and whose
 * results stay, against the same calls of ScaLAPACK in a plain MPI program: all that the platform adds.
 */
#include "bench/bench.h"
#include "bench/platform.h"
#include "espalier.h"
#include "grpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 2000, ROWS = 1, COLS = 2, BLOCK = 64, ROUNDS = 15, CALLS = 5 };

static const char description[] =
    "problem bench_multiply \"C := A B\"\n"
    "    in      int     n\n"
    "    in      double  A[n, n], B[n, n]\n"
    "    out     double  C[n, n]\n"
    "implementation scalapack\n"
    "    parallel fortran pdgemm_('N', 'N', n, n, n, double 1, A, 1, 1, desc(A), B, 1, 1, desc(B), double 0, "
    "C, 1, 1, desc(C)) in libscalapack-openmpi.so.2.2\n"
    "problem bench_solve \"Solve A X = B\"\n"
    "    in      int     n, nrhs\n"
    "    inout   double  A[n, n]\n"
    "    inout   double  B[n, nrhs]\n"
    "    work    int     pivots[n]\n"
    "implementation scalapack\n"
    "    parallel fortran pdgesv_(n, nrhs, A, 1, 1, desc(A), pivots, B, 1, 1, desc(B), out info) in "
    "libscalapack-openmpi.so.2.2\n"
    "    spread  pivots rows of A\n"
    "    error   info > 0 \"singular\"\n";

struct operands {
    const char *routine; /* of ScaLAPACK */
    grpc_function_handle_t handle;
    char *a, *b; /* identities */
    bool solves;
};

static char *put(int n_cols)
{
    const struct esp_data_layout layout = {ROWS, COLS, BLOCK, BLOCK};
    struct esp_argument array = {.type = ESP_TYPE_DOUBLE, .n_dims = 2, .dims = {N, n_cols}};
    double *data = malloc((size_t)N * (size_t)n_cols * sizeof *data);
    char *id;
    for (int64_t j = 0; data && j < n_cols; j++)
        for (int64_t i = 0; i < N; i++)
            data[i + j * N] = i == j ? N : (double)((i * 7919 + j * 104729) % 1000) / 1000;
    array.data = data;
    if (!data ||
        esp_data_put_pieces("server", &array, &layout, NULL, ESP_DATA_VOLATILE, NULL, NULL, &id) != ESP_OK)
        bench_fail("%s", esp_last_error()->text);
    free(data);
    return id;
}

static void call_once(struct operands *operands)
{
    int32_t n = N, nrhs = 1;
    char *kept[2] = {NULL, NULL};
    struct esp_argument arguments[4] = {0};
    unsigned at = 0;
    arguments[at++].data = &n;
    if (operands->solves)
        arguments[at++].data = &nrhs;
    arguments[at].datum = operands->a;
    if (operands->solves) {
        arguments[at].kept = &kept[1];
        arguments[at].kept_in_pieces = 1;
    }
    arguments[++at].datum = operands->b;
    at += !operands->solves;
    arguments[at].kept = &kept[0];
    arguments[at].kept_in_pieces = 1;
    if (esp_call(&operands->handle, arguments, 4, NULL, NULL) != ESP_OK)
        bench_fail("%s", esp_last_error()->text);
    for (int i = 0; i < 2; i++) {
        if (kept[i])
            esp_data_drop(kept[i]);
        free(kept[i]);
    }
}

static double ours(void *context, size_t n)
{
    double times[64];
    for (size_t i = 0; i < n && i < 64; i++) {
        double begun = bench_now();
        call_once(context);
        times[i] = bench_now() - begun;
    }
    return bench_median(times, n) * 1e3;
}

static double plain(void *context, size_t n)
{
    const struct operands *operands = context;
    char command[256];
    double times[64];
    size_t got = 0;
    snprintf(command, sizeof command,
             "OPENBLAS_NUM_THREADS=1 mpirun --allow-run-as-root --oversubscribe --bind-to none --mca "
             "mpi_yield_when_idle 1 -n %d bench/scalapack_mpi %s %d %d %d %d %zu",
             ROWS * COLS, operands->routine, N, ROWS, COLS, BLOCK, n);
    FILE *output = popen(command, "r");
    while (output && got < n && got < 64 && fscanf(output, "%lf", &times[got]) == 1)
        got++;
    if (!output || pclose(output) != 0 || got < n)
        bench_fail("%s failed", command);
    return bench_median(times, n) * 1e3;
}

static void compare(const char *problem, const char *name, struct operands *operands)
{
    char title[64];
    snprintf(title, sizeof title, "%s, n = %d, operands resident", name, N);
    if (grpc_function_handle_default(&operands->handle, (char *)(uintptr_t)problem) != GRPC_NO_ERROR)
        bench_fail("%s", esp_last_error()->text);
    bench_compare(&(struct bench_case){"parallel", title, "ms", BENCH_AT_MOST, 1.05}, ours, operands, plain,
                  operands, CALLS, ROUNDS);
}

static void await_ranks(void)
{
    grpc_function_handle_t handle;
    for (int i = 0; i < 300; i++) {
        if (grpc_function_handle_default(&handle, (char *)(uintptr_t) "bench_solve") == GRPC_NO_ERROR)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    bench_fail("the server did not offer what its ranks compute within 30 s");
}

int main(void)
{
    struct platform platform;
    char lines[256];
    snprintf(lines, sizeof lines, "ranks = %d\ngrid = %dx%d\nblock = %d\nstore_memory = \"1 GB\"\n",
             ROWS * COLS, ROWS, COLS, BLOCK);
    platform_start(&platform, &(struct platform_options){.descriptions = description, .server = lines});
    if (grpc_initialize(platform.client_conf) != GRPC_NO_ERROR)
        bench_fail("%s", esp_last_error()->text);
    await_ranks();
    struct operands product = {.routine = "pdgemm", .a = put(N), .b = put(N)};
    compare("bench_multiply", "pdgemm", &product);
    struct operands system = {.routine = "pdgesv", .a = put(N), .b = put(1), .solves = true};
    compare("bench_solve", "pdgesv", &system);
    grpc_finalize();
    platform_stop(&platform);
    return 0;
}
