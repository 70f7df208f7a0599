/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls whose description declares next to no work: 100 calls that sleep 0.5 s, described with `work 2*n`, on
 * 4 servers of 2 slots each. The reference is the time of 8 slots that are never idle.
 */
#include "bench/bench.h"
#include "bench/platform.h"
#include "espalier.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 100, SERVERS = 4, SLOTS = 2, CLIENTS = 16, N = 10, NAP_MS = 500 };

static grpc_function_handle_t handle;
static double x[N], y[CALLS][N];
static atomic_int next;

static void must(grpc_error_t code)
{
    if (code != GRPC_NO_ERROR)
        bench_fail("%s: %s", grpc_error_string(code), esp_last_error()->text);
}

static double all_at_once(void)
{
    grpc_sessionid_t sessions[CALLS];
    const double start_s = bench_now();
    for (int i = 0; i < CALLS; i++)
        must(grpc_call_async(&handle, &sessions[i], NAP_MS, N, x, N, y[i]));
    must(grpc_wait_all());
    return bench_now() - start_s;
}

static void *client(void *arg)
{
    for (int i = atomic_fetch_add(&next, 1); i < CALLS; i = atomic_fetch_add(&next, 1))
        must(grpc_call(&handle, NAP_MS, N, x, N, y[i]));
    return arg;
}

static double one_after_the_other(void)
{
    pthread_t threads[CLIENTS];
    const double start_s = bench_now();
    atomic_store(&next, 0);
    for (int i = 0; i < CLIENTS; i++)
        if (pthread_create(&threads[i], NULL, client, NULL) != 0)
            bench_fail("cannot start a thread");
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    return bench_now() - start_s;
}

static void run(const char *name, double (*calls)(void), const char *work)
{
    const struct bench_case which = {"herding", name, "s", BENCH_AT_MOST, 1.15};
    struct platform platform;
    char here[512], descriptions[1024];
    const char *folder = getenv("top_builddir");
    if (!realpath(folder ? folder : ".", here))
        bench_fail("no build folder");
    snprintf(descriptions, sizeof descriptions,
             "problem bench_nap \"Sleep\"\n    in int work, m\n    in double x[m]\n    in int n\n"
             "    out double y[n]\n%s"
             "implementation tiny\n    c bench_nap(work, m, x, n, y) in %s/bench/.libs/libtiny.so\n",
             work, here);
    platform_start(&platform, &(struct platform_options){
                                  .descriptions = descriptions, .more_servers = SERVERS - 1, .slots = SLOTS});
    must(grpc_initialize(platform.client_conf));
    must(grpc_function_handle_default(&handle, "bench_nap"));
    bench_row(&which, calls(), CALLS * NAP_MS / 1e3 / (SERVERS * SLOTS));
    grpc_function_handle_destruct(&handle);
    grpc_finalize();
    platform_stop(&platform);
}

int main(void)
{
    run("100 calls of 0.5 s at once, work 2*n", all_at_once, "    work 2*m\n");
    run("100 calls of 0.5 s by 16 threads, work 2*n", one_after_the_other, "    work 2*m\n");
    run("100 calls of 0.5 s by 16 threads, no work", one_after_the_other, "");
    return 0;
}
