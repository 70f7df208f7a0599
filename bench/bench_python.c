/* SPDX-License-Identifier: Apache-2.0
 *
 * The Python package against the same calls from C: a small call, 256 MB in and out on one host, and the time
 * that import and the first call add to a process that imports numpy.
 */
#include "bench/bench.h"
#include "bench/platform.h"
#include "espalier.h"

#include <stdio.h>
#include <stdlib.h>

#define BYTES 256000000

static const char *python; /* one that has numpy */

static void add(void *context)
{
    double sum;
    if (grpc_call(context, 1.0, 2.0, &sum) != GRPC_NO_ERROR || sum != 3)
        bench_fail("a call failed: %s", esp_last_error()->text);
}

struct copy {
    grpc_function_handle_t handle;
    double *from, *to;
};

static void copy(void *context)
{
    struct copy *of = context;
    if (grpc_call(&of->handle, BYTES / 8, of->from, of->to) != GRPC_NO_ERROR)
        bench_fail("a call failed: %s", esp_last_error()->text);
}

/* The median of n operations in microseconds. */
static double median_us(bench_operation *operation, void *context, size_t n)
{
    double *samples = malloc(n * sizeof *samples);
    if (!samples)
        bench_fail("no memory");
    for (size_t i = 0; i < n; i++) {
        double start = bench_now();
        operation(context);
        samples[i] = bench_now() - start;
    }
    double median = bench_median(samples, n) * 1e6;
    free(samples);
    return median;
}

static double small_in_c(void *context, size_t n)
{
    return median_us(add, context, n);
}

static double large_in_c(void *context, size_t n)
{
    return median_us(copy, context, n);
}

/* The same by bench/python_calls.py; `context`: its case. */
static double in_python(void *context, size_t n)
{
    char command[2048], line[128] = "";
    const char *top = getenv("top_srcdir");
    snprintf(command, sizeof command, "exec %s %s/bench/python_calls.py %s %zu", python, top ? top : ".",
             (const char *)context, n);
    FILE *output = popen(command, "r");
    if (!output || !fgets(line, sizeof line, output) || pclose(output) != 0)
        bench_fail("%s failed", command);
    return atof(line);
}

/* Milliseconds of a whole process, the median of n. */
static double process_ms(void *context, size_t n)
{
    char command[2048];
    double samples[100];
    n = n < 100 ? n : 100;
    snprintf(command, sizeof command, "exec %s -c '%s'", python, (const char *)context);
    for (size_t i = 0; i < n; i++) {
        double start = bench_now();
        if (system(command) != 0)
            bench_fail("%s failed", command);
        samples[i] = (bench_now() - start) * 1e3;
    }
    return bench_median(samples, n);
}

static void find_python(void)
{
    static const char *const candidates[] = {"python3", "/usr/bin/python3"};
    char command[256];
    for (size_t i = 0; i < 2 && !python; i++) {
        snprintf(command, sizeof command, "%s -c 'import numpy' 2>/dev/null", candidates[i]);
        if (system(command) == 0)
            python = candidates[i];
    }
    if (!python)
        bench_fail("no python3 has numpy: apt-get install python3-numpy");
}

static void set_environment(const struct platform *platform)
{
    char path[1024];
    const char *source = getenv("top_srcdir"), *build = getenv("top_builddir");
    snprintf(path, sizeof path, "%s/bindings/python", source ? source : ".");
    setenv("PYTHONPATH", path, 1);
    snprintf(path, sizeof path, "%s/client/.libs/libespalier.so.0", build ? build : ".");
    setenv("ESPALIER_LIBRARY", path, 1);
    setenv("ESPALIER_CONFIG", platform->client_conf, 1);
}

int main(void)
{
    struct platform platform;
    grpc_function_handle_t handle;
    struct copy large;
    find_python();
    platform_start(&platform,
                   &(struct platform_options){
                       .descriptions = "problem bench_copy \"y := x\"\n"
                                       "    in int n\n    in double x[n]\n    out double y[n]\n"
                                       "implementation c\n    c memcpy(y, x, n*8) in libc.so.6\n"});
    set_environment(&platform);
    if (grpc_initialize(platform.client_conf) != GRPC_NO_ERROR ||
        grpc_function_handle_default(&handle, "bench_add") != GRPC_NO_ERROR ||
        grpc_function_handle_default(&large.handle, "bench_copy") != GRPC_NO_ERROR)
        bench_fail("%s", esp_last_error()->text);
    bench_compare(&(struct bench_case){"python", "small call", "us", BENCH_AT_MOST, 2}, in_python, "small",
                  small_in_c, &handle, 2000, 5);
    bench_compare(&(struct bench_case){"python", "small call of a further thread", "us", BENCH_SHOWN, 0},
                  in_python, "blocking", small_in_c, &handle, 2000, 5);
    large.from = malloc(BYTES);
    large.to = malloc(BYTES);
    if (!large.from || !large.to)
        bench_fail("no memory");
    for (size_t i = 0; i < BYTES / 8; i++)
        large.from[i] = large.to[i] = 1;
    bench_compare(&(struct bench_case){"python", "256 MB in and out, one host", "us", BENCH_AT_MOST, 1.1},
                  in_python, "large", large_in_c, &large, 7, 5);
    free(large.from);
    free(large.to);
    grpc_finalize();
    bench_compare(
        &(struct bench_case){"python", "import and first call, whole process", "ms", BENCH_GROWS_AT_MOST, 30},
        process_ms, "import espalier; espalier.bench_add(1, 2)", process_ms, "import numpy", 10, 5);
    platform_stop(&platform);
    return 0;
}
