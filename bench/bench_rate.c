/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls per second of 8 threads, scheduled, against the ORB's two-way calls of 8 threads over 64 connections.
 */
#include "bench/bench.h"
#include "bench/platform.h"
#include "espalier.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 8 };

struct caller {
    pthread_t thread;
    grpc_function_handle_t *handle;
    size_t n;
};

static void *call_many(void *arg)
{
    const struct caller *caller = arg;
    double sum;
    for (size_t i = 0; i < caller->n; i++)
        if (grpc_call(caller->handle, 1.0, (double)i, &sum) != GRPC_NO_ERROR || sum != 1.0 + (double)i)
            bench_fail("a call failed: %s", esp_last_error()->text);
    return NULL;
}

static double our_rate(void *context, size_t n)
{
    struct caller callers[THREADS];
    double start = bench_now();
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.handle = context, .n = n};
        pthread_create(&callers[i].thread, NULL, call_many, &callers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(callers[i].thread, NULL);
    return (double)(THREADS * n) / (bench_now() - start);
}

static double their_rate(void *context, size_t n)
{
    return reference_rate(context, n, THREADS);
}

static void run(const struct bench_case *which, const char *agent, struct reference *reference)
{
    struct platform platform;
    grpc_function_handle_t handle;
    platform_start(&platform, &(struct platform_options){.agent = agent});
    if (grpc_initialize(platform.client_conf) != GRPC_NO_ERROR ||
        grpc_function_handle_default(&handle, "bench_add") != GRPC_NO_ERROR)
        bench_fail("%s", esp_last_error()->text);
    bench_compare(which, our_rate, &handle, their_rate, reference, 2000, 5);
    grpc_finalize();
    platform_stop(&platform);
}

static const struct {
    struct bench_case which;
    const char *agent; /* lines of its file */
    bool hops; /* against processes that only pass it on: what is ours and what is the ORB's and the kernel's
                */
} cases[] = {
    {{"rate", "8 threads, scheduled", "calls/s", BENCH_AT_LEAST, 0.2}, NULL, false},
    {{"rate", "8 threads, each asked for", "calls/s", BENCH_SHOWN, 0}, "ahead = 0\n", false},
    {{"rate", "each asked for, against the same hops", "calls/s", BENCH_SHOWN, 0}, "ahead = 0\n", true},
};

/* bench_rate [TEXT]: only the cases whose name holds the text, for a look at where the time goes. */
int main(int argc, char **argv)
{
    struct reference reference, chain;
    reference_start(&reference);
    reference_chain_start(&chain);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc < 2 || strstr(cases[i].which.name, argv[1]))
            run(&cases[i].which, cases[i].agent, cases[i].hops ? &chain : &reference);
    reference_stop(&chain);
    reference_stop(&reference);
    return 0;
}
