/* SPDX-License-Identifier: Apache-2.0
 *
 * A whole hierarchy in one process.
 *
 * submit: the wall time of one request, encoded, decided and answered, with 10,000 servers under 100 leader
 * agents; the reference has 100 servers under 10. Default configuration. Virtual time stands still during a
 * request and runs between the rounds, so that reports, heartbeats and leases do their work unmeasured.
 *
 * burst: the virtual time in which 200 equal jobs that are submitted at once are done, on 10 leader agents
 * with 10 unequal servers each, over a network with latencies. The reference asks every server and sends
 * every estimate up uncut; ours answers from memory, or asks and cuts at every agent to the best few.
 *
 * restart: a master agent is killed and started again, empty, with 10,000 servers under 100 leader agents
 * below it: virtual time and, as if all of it were the master's, processor time of all until it knows every
 * node and answers a request. The reference is what is allowed.
 */
#include "bench/bench.h"
#include "tests/inproc/platform.h"
#include "util/clock.h"
#include "util/random.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 15, REQUESTS = 200, JOBS = 200, SEEDS = 5 };

/* Measured speeds of a real site: within a factor of 4, no two alike; some servers have several slots. */
static void vary_servers(struct platform *platform, struct random *random)
{
    platform->server_options.speed_flops = 1e9 * (1 + 3 * random_real(random));
    platform->server_options.slots = 1 + (uint32_t)random_below(random, 4);
}

static size_t grow(struct platform *platform, size_t n_leaders, size_t n_servers, uint64_t seed)
{
    char name[PLATFORM_NAME], parent[PLATFORM_NAME / 2];
    struct random random;
    random_seed(&random, seed);
    size_t master = platform_agent(platform, "ma", "");
    for (size_t i = 0; i < n_leaders; i++) {
        snprintf(parent, sizeof parent, "la-%u", (unsigned)i);
        platform_agent(platform, parent, "ma");
        for (size_t j = 0; j < n_servers; j++) {
            snprintf(name, sizeof name, "s-%u-%u", (unsigned)i, (unsigned)j);
            vary_servers(platform, &random);
            platform_server(platform, name, parent);
        }
    }
    if (!platform_settle(platform, master, n_leaders * (1 + n_servers), 60000))
        bench_fail("the hierarchy of %zu servers did not become whole", n_leaders * n_servers);
    return master;
}

/* ---- one request ---- */

static void measure_round(struct platform *platform, double *samples)
{
    struct request request = platform_request("job", 5e9);
    for (int i = 0; i < REQUESTS; i++) {
        struct message reply = {0};
        struct esp_error error;
        request.session.sequence++;
        double start = bench_now();
        enum esp_status status = platform_submit(platform, "ma", &request, &reply, &error);
        samples[i] = (bench_now() - start) * 1e6;
        if (status != ESP_OK)
            bench_fail("submit: %s", error.text);
        if (reply.submit_reply.asked)
            bench_fail("submit: the answer is not from memory");
        message_clear(&reply);
    }
    platform_run_ms(platform, 3000);
}

static void measure_submit(void)
{
    static double ours[ROUNDS * REQUESTS], reference[ROUNDS * REQUESTS];
    const struct bench_case which = {"hierarchy", "submit, 10,000 SeDs to 100", "us", BENCH_AT_MOST, 4};
    struct platform large, small;
    platform_open(&large, 1);
    platform_open(&small, 1);
    grow(&large, 100, 100, 3);
    grow(&small, 10, 10, 3);
    for (int round = -1; round < ROUNDS; round++) {
        size_t at = round < 0 ? 0 : (size_t)round * REQUESTS; /* the first round warms up */
        measure_round(&large, ours + at);
        measure_round(&small, reference + at);
    }
    bench_row(&which, bench_median(ours, ROUNDS * REQUESTS), bench_median(reference, ROUNDS * REQUESTS));
    platform_close(&large);
    platform_close(&small);
}

/* ---- a burst ---- */

/* Mean makespan over several sites. */
static double makespan(int64_t freshness_ms, uint32_t breadth)
{
    const struct inproc_faults network = {.latency_ns = 2 * NS_PER_MS, .jitter_ns = NS_PER_MS};
    double sum = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct platform platform;
        platform_open(&platform, seed);
        inproc_set_faults(platform.transport, &network);
        platform.agent_options.freshness_ms = freshness_ms;
        platform.agent_options.breadth = breadth;
        platform.server_options.noise = 0.1;
        grow(&platform, 10, 10, 100 + seed);
        struct request request = platform_request("job", 20e9);
        double seconds = platform_burst(&platform, &request, JOBS);
        if (seconds < 0)
            bench_fail("burst: a job failed");
        sum += seconds;
        platform_close(&platform);
    }
    return sum / SEEDS;
}

static void measure_bursts(void)
{
    const struct bench_case memory = {"hierarchy", "burst, from memory", "s", BENCH_AT_MOST, 1.05};
    const struct bench_case asked = {"hierarchy", "burst, asked down and cut", "s", BENCH_AT_MOST, 1.05};
    double uncut = makespan(-1, CAP_CANDIDATES);
    bench_row(&memory, makespan(0, 0), uncut);
    bench_row(&asked, makespan(-1, 2), uncut);
}

/* ---- a restart ---- */

#define ALLOWED_S 5.0

static bool answers(struct platform *platform)
{
    struct request request = platform_request("job", 5e9);
    struct message reply = {0};
    const bool all = platform_submit(platform, "ma", &request, &reply, NULL) == ESP_OK &&
                     reply.submit_reply.capable == 10000;
    message_clear(&reply);
    return all;
}

static void measure_restart(void)
{
    const struct bench_case which = {"hierarchy", "restart, 10,000 SeDs below", "s", BENCH_AT_MOST, 1};
    const struct inproc_faults network = {.latency_ns = NS_PER_MS, .jitter_ns = NS_PER_MS};
    const size_t nodes = 100 * (1 + 100);
    struct platform platform;
    platform_open(&platform, 2);
    inproc_set_faults(platform.transport, &network);
    const size_t master = grow(&platform, 100, 100, 4);
    platform_run_ms(&platform, 10000);
    platform_agent_kill(&platform, master);
    platform_run_ms(&platform, 1000);
    platform_agent_start(&platform, master);
    const double start = bench_now();
    double passed_s = 0;
    while (passed_s < 60 && (platform_figures(&platform, master).nodes != nodes || !answers(&platform))) {
        platform_run_ms(&platform, 10);
        passed_s += 0.01;
    }
    bench_row(&which, passed_s + bench_now() - start, ALLOWED_S);
    platform_close(&platform);
}

int main(void)
{
    measure_submit();
    measure_bursts();
    measure_restart();
    return 0;
}
