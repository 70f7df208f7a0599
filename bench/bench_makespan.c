/* SPDX-License-Identifier: Apache-2.0
 *
 * What the choice of servers is worth: 200 mixed jobs on 8 servers whose speeds differ 1 : 8 and whose links
 * differ 1 : 20, through the whole hierarchy in virtual time.
 *
 * The reference knows all jobs before the first comes, and all times exactly: list scheduling (the next job
 * of a list goes where it ends first), the best of several lists. Round robin is there for the difference
 * that it makes to know anything.
 *
 * Every server has one slot. Its link carries one transfer after the other each way; slow start counts. Real
 * computations differ from their forecasts by up to 5 %.
 */
#include "bench/bench.h"
#include "bench/list_schedule.h"
#include "util/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { JOBS = 200, SERVERS = 8, SITES = 9 };

struct site {
    double speed_flops[SERVERS];
    struct path links[SERVERS];
    struct platform_job jobs[JOBS];
};

static double clairvoyant(const struct site *site)
{
    const struct list_site listed = {SERVERS, site->speed_flops, site->links};
    return list_schedule(&listed, site->jobs, JOBS);
}

/* Even on a logarithmic scale: many small ones, a few large ones. */
static double draw(struct random *random, double least, double most)
{
    return least * exp(log(most / least) * random_real(random));
}

static void shuffle(struct random *random, int *order, int n)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)random_below(random, (uint64_t)i + 1), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
}

/* `load`: work that arrives over work that could be done; 0: all jobs at once. */
static void draw_site(struct site *site, uint64_t seed, double load)
{
    struct random random;
    int order[SERVERS];
    double capacity = 0, work = 0, at_s = 0;
    random_seed(&random, seed);
    shuffle(&random, order, SERVERS); /* fast servers may have slow links */
    for (int i = 0; i < SERVERS; i++) {
        site->speed_flops[i] = 1e9 * (1 + i);
        site->links[order[i]] = (struct path){
            .known = true, .latency_s = draw(&random, 1e-4, 1e-2), .bandwidth_bps = 5e6 * pow(20, i / 7.0)};
        capacity += site->speed_flops[i];
    }
    for (int i = 0; i < JOBS; i++) {
        struct platform_job *job = &site->jobs[i];
        *job = (struct platform_job){.work_flop = draw(&random, 1e9, 1e11),
                                     .bytes_in = (uint64_t)draw(&random, 1e5, 1e8)};
        job->bytes_out = (uint64_t)((double)job->bytes_in * random_real(&random));
        work += job->work_flop;
    }
    for (int i = 0; load > 0 && i < JOBS; i++) {
        at_s -= log(1 - random_real(&random)) * work / JOBS / (load * capacity);
        site->jobs[i].at_s = at_s;
    }
}

static double run(const struct site *site, const char *scheduler, uint64_t seed)
{
    static const struct inproc_faults network = {.latency_ns = NS_PER_MS / 2, .jitter_ns = NS_PER_MS / 4};
    struct platform platform;
    char name[PLATFORM_NAME];
    platform_open(&platform, seed);
    inproc_set_faults(platform.transport, &network);
    platform.agent_options.scheduler = scheduler;
    size_t master = platform_agent(&platform, "ma", "");
    platform_agent(&platform, "la-0", "ma");
    platform_agent(&platform, "la-1", "ma");
    platform.server_options.memory = UINT64_C(1) << 40;
    platform.server_options.noise = 0.05;
    for (int i = 0; i < SERVERS; i++) {
        snprintf(name, sizeof name, "s-%d", i);
        platform.server_options.speed_flops = site->speed_flops[i];
        platform.server_options.link = site->links[i];
        platform_server(&platform, name, i % 2 ? "la-1" : "la-0");
    }
    if (!platform_settle(&platform, master, 2 + SERVERS, 60000))
        bench_fail("the hierarchy did not become whole");
    double seconds = platform_workload(&platform, site->jobs, JOBS);
    if (seconds < 0)
        bench_fail("a job failed");
    platform_close(&platform);
    return seconds;
}

/* ---- the rows ---- */

static void measure(const char *name, double load, bool with_round_robin)
{
    const struct bench_case against_best = {"makespan", name, "s", BENCH_AT_MOST, 1.15};
    const struct bench_case against_blind = {"makespan", "at once, against round robin", "s", BENCH_AT_MOST,
                                             1 / 3.0};
    double ours = 0, best = 0, blind = 0;
    for (uint64_t seed = 1; seed <= SITES; seed++) {
        struct site site;
        draw_site(&site, 100 + seed, load);
        ours += run(&site, "mct", seed) / SITES;
        best += clairvoyant(&site) / SITES;
        if (with_round_robin)
            blind += run(&site, "round-robin", seed) / SITES;
    }
    bench_row(&against_best, ours, best);
    if (with_round_robin)
        bench_row(&against_blind, ours, blind);
}

int main(void)
{
    measure("200 mixed jobs at once, clairvoyant", 0, true);
    measure("200 mixed jobs at 80 % load, clairvoyant", 0.8, false);
    return 0;
}
