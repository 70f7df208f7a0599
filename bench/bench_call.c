/* SPDX-License-Identifier: Apache-2.0
 *
 * A tiny problem through the whole hierarchy: bound to a server, scheduled by agents that answer from memory,
 * and scheduled by agents that ask down. The reference is the ORB's own two-way call.
 */
#include "bench/bench.h"
#include "bench/platform.h"
#include "espalier.h"

#include <stdlib.h>

static double median_call_us(void *context, size_t n)
{
    grpc_function_handle_t *handle = context;
    double *samples = malloc(n * sizeof *samples), sum;
    for (size_t i = 0; i < n; i++) {
        double start = bench_now();
        if (grpc_call(handle, 1.0, (double)i, &sum) != GRPC_NO_ERROR || sum != 1.0 + (double)i)
            bench_fail("a call failed: %s", esp_last_error()->text);
        samples[i] = bench_now() - start;
    }
    double median = bench_median(samples, n) * 1e6;
    free(samples);
    return median;
}

static double median_reference_us(void *context, size_t n)
{
    return reference_latency(context, n);
}

static void run(struct reference *reference, const char *name, double bound, const char *freshness,
                const char *server)
{
    struct platform platform;
    grpc_function_handle_t handle;
    const struct bench_case which = {"call", name, "us", BENCH_AT_MOST, bound};
    platform_start(&platform, freshness);
    grpc_error_t code = grpc_initialize(platform.client_conf);
    if (code == GRPC_NO_ERROR)
        code = server ? grpc_function_handle_init(&handle, (char *)server, "bench_add")
                      : grpc_function_handle_default(&handle, "bench_add");
    if (code != GRPC_NO_ERROR)
        bench_fail("%s: %s", grpc_error_string(code), esp_last_error()->text);
    bench_compare(&which, median_call_us, &handle, median_reference_us, reference, 2000, 9);
    grpc_finalize();
    platform_stop(&platform);
}

int main(void)
{
    struct reference reference;
    reference_start(&reference);
    run(&reference, "tiny problem, bound handle", 2.5, NULL, "server");
    run(&reference, "tiny problem, agents answer from memory", 4, NULL, NULL);
    run(&reference, "tiny problem, asked down", 6, "0 s", NULL);
    reference_stop(&reference);
    return 0;
}
