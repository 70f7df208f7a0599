/* SPDX-License-Identifier: Apache-2.0
 *
 * A tiny problem through the whole hierarchy: bound to a server, scheduled by agents that answer from memory,
 * and scheduled by agents that ask down. The reference is the ORB's own two-way call.
 */
#include "bench/bench.h"
#include "bench/platform.h"
#include "espalier.h"

#include <stdlib.h>
#include <string.h>

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

static void run(struct reference *reference, const char *name, enum bench_bound kind, double bound,
                const char *agent, const char *server, size_t rounds)
{
    struct platform platform;
    grpc_function_handle_t handle;
    const struct bench_case which = {"call", name, "us", kind, bound};
    platform_start(&platform, &(struct platform_options){.agent = agent});
    grpc_error_t code = grpc_initialize(platform.client_conf);
    if (code == GRPC_NO_ERROR)
        code = server ? grpc_function_handle_init(&handle, (char *)server, "bench_add")
                      : grpc_function_handle_default(&handle, "bench_add");
    if (code != GRPC_NO_ERROR)
        bench_fail("%s: %s", grpc_error_string(code), esp_last_error()->text);
    bench_compare(&which, median_call_us, &handle, median_reference_us, reference, 2000, rounds);
    grpc_finalize();
    platform_stop(&platform);
}

static const struct {
    const char *name, *agent, *server;
    double bound;
} cases[] = {
    {"tiny problem, bound handle", NULL, "server", 2.5},
    /* Each call is asked for: nothing is decided ahead. */
    {"tiny problem, agents answer from memory", "ahead = 0\n", NULL, 4},
    {"tiny problem, asked down", "freshness = \"0 s\"\n", NULL, 6},
    /* Against processes that only pass it on: what is ours and what is the ORB's and the kernel's. */
    {"asked down, against the same hops", "freshness = \"0 s\"\n", NULL, 0},
};

/* bench_call [TEXT [ROUNDS]]: only the cases whose name holds the text, for a look at where the time goes. */
int main(int argc, char **argv)
{
    struct reference reference;
    size_t rounds = argc > 2 ? (size_t)atoi(argv[2]) : 9;
    struct reference chain;
    reference_start(&reference);
    reference_chain_start(&chain);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc < 2 || strstr(cases[i].name, argv[1]))
            run(cases[i].bound > 0 ? &reference : &chain, cases[i].name,
                cases[i].bound > 0 ? BENCH_AT_MOST : BENCH_SHOWN, cases[i].bound, cases[i].agent,
                cases[i].server, rounds);
    reference_stop(&chain);
    reference_stop(&reference);
    return 0;
}
