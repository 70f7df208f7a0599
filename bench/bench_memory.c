/* SPDX-License-Identifier: Apache-2.0
 *
 * Resident memory of agent, server and client after many calls, against that after 10,000.
 * $ESP_BENCH_CALLS: how many (1000000 is what is promised; without it 100,000, which takes seconds).
 */
#include "bench/bench.h"
#include "bench/platform.h"
#include "espalier.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 4, FIRST = 10000 };

struct caller {
    pthread_t thread;
    grpc_function_handle_t *handle;
    size_t n;
};

/* Three of four calls block, one is asynchronous: both ways must not leave anything behind. */
static void *call_many(void *arg)
{
    const struct caller *caller = arg;
    double sum;
    for (size_t i = 0; i < caller->n; i++) {
        grpc_sessionid_t id;
        grpc_error_t code = GRPC_NO_ERROR;
        if (i % 4) {
            code = grpc_call(caller->handle, 1.0, (double)i, &sum);
        } else {
            code = grpc_call_async(caller->handle, &id, 1.0, (double)i, &sum);
            if (code == GRPC_NO_ERROR)
                code = grpc_wait(id);
        }
        if (code != GRPC_NO_ERROR || sum != 1.0 + (double)i)
            bench_fail("a call failed: %s", esp_last_error()->text);
    }
    return NULL;
}

static void make_calls(grpc_function_handle_t *handle, size_t n)
{
    struct caller callers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.handle = handle, .n = n / THREADS};
        pthread_create(&callers[i].thread, NULL, call_many, &callers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(callers[i].thread, NULL);
}

int main(void)
{
    struct platform platform;
    grpc_function_handle_t handle;
    const char *wanted = getenv("ESP_BENCH_CALLS");
    size_t n = wanted ? strtoul(wanted, NULL, 10) : 100000;
    if (n < 2 * FIRST)
        n = 2 * FIRST;
    /* Each call passes the agent. */
    platform_start(&platform, &(struct platform_options){.agent = "ahead = 0\n"});
    if (grpc_initialize(platform.client_conf) != GRPC_NO_ERROR ||
        grpc_function_handle_default(&handle, "bench_add") != GRPC_NO_ERROR)
        bench_fail("%s", esp_last_error()->text);
    const struct {
        const char *name;
        pid_t pid;
    } who[] = {{"master agent", platform.master},
               {"leader agent", platform.leader},
               {"server", platform.server},
               {"client", getpid()}};
    enum { N_WHO = sizeof who / sizeof *who };
    double before[N_WHO];
    make_calls(&handle, FIRST);
    for (int i = 0; i < N_WHO; i++)
        before[i] = bench_resident_mb(who[i].pid);
    make_calls(&handle, n - FIRST);
    for (int i = 0; i < N_WHO; i++) {
        char name[96];
        snprintf(name, sizeof name, "%s, after %zu calls", who[i].name, n);
        const struct bench_case which = {"memory", name, "MB", BENCH_GROWS_AT_MOST, 1};
        bench_row(&which, bench_resident_mb(who[i].pid), before[i]);
    }
    grpc_finalize();
    platform_stop(&platform);
    return 0;
}
