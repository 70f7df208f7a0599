/* SPDX-License-Identifier: Apache-2.0
 *
 * What the choice of servers is worth with real daemons: mixed jobs on 8 servers, each in a network namespace
 * of its own, whose speeds differ 1 : 8 and whose emulated links (tests/e2e/slow_link.c) differ 1 : 20. A job
 * sends its bytes, waits as long as its work would take at that server's speed (bench/tiny.c: a computer of
 * two processors holds them all), and sends others back. The servers are calibrated, and their links probed,
 * by Espalier itself before the first job.
 *
 * The reference is the list schedule of somebody who knows all jobs, speeds and links
 * (bench/list_schedule.h). Needs root; $BENCH_NAMESPACES_JOBS is how many jobs (60).
 */
#include "bench/bench.h"
#include "bench/list_schedule.h"
#include "bench/site.h"
#include "espalier.h"
#include "grpc.h"
#include "util/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SERVERS = 8, MOST_JOBS = 200, MOST_BYTES = 2000000 };

/* The fastest does not have the quickest link. */
static const double speeds[SERVERS] = {1e9, 2e9, 3e9, 4e9, 5e9, 6e9, 7e9, 8e9};
static const double mbits[SERVERS] = {44, 19, 160, 8, 68, 12, 104, 29},
                    delays_ms[SERVERS] = {2, 5, 1, 10, 3, 7, 2, 4};

static pid_t links[SERVERS], agent, servers[SERVERS];

static void clean_up(void)
{
    char command[512];
    for (int i = 0; i < SERVERS; i++)
        site_stop(&servers[i]);
    site_stop(&agent);
    for (int i = 0; i < SERVERS; i++)
        site_stop(&links[i]);
    for (int i = 0; i <= SERVERS; i++) {
        snprintf(command, sizeof command, "ip netns del esp-b%d-%ld 2>/dev/null", i, (long)getpid());
        if (system(command) != 0)
            continue; /* it was not made */
    }
}

/* ---- the site: namespace 0 is the hub, with the agent and the client ---- */

static void connect_server(int i)
{
    const long id = getpid();
    char name[32];
    snprintf(name, sizeof name, "link%d", i);
    site_run("ip netns add esp-b%d-%ld && ip -n esp-b%d-%ld link set lo up", i, id, i, id);
    links[i - 1] = site_start(name, "%s/tests/e2e/slow_link esp-b0-%ld esp-b%d-%ld %g %g passed%d esp%d",
                              site_build, id, i, id, mbits[i - 1], delays_ms[i - 1], i, i);
    snprintf(name, sizeof name, "passed%d", i);
    site_await(name);
    site_run("ip -n esp-b0-%ld addr add 10.97.%d.1/24 dev esp%d && ip -n esp-b0-%ld link set esp%d up", id, i,
             i, id, i);
    site_run("ip -n esp-b%d-%ld addr add 10.97.%d.2/24 dev esp%d && ip -n esp-b%d-%ld link set esp%d up", i,
             id, i, i, i, id, i);
    site_run("ip -n esp-b%d-%ld route add default via 10.97.%d.1", i, id, i);
}

static void describe(void)
{
    FILE *file = site_create("nap.esp");
    fprintf(file,
            "problem bench_nap \"As long as so many million operations take\"\n"
            "    in int work, m\n    in double x[m]\n    in int n\n    out double y[n]\n"
            "    require work >= 0, m >= 1, n >= 1\n    work 1e6*work\n    memory 0\n"
            "implementation tiny\n    c bench_nap(work, m, x, n, y) in %s/bench/.libs/libtiny.so\n",
            site_build);
    fclose(file);
}

/* Two threads: its calls are timed by the clock, as they leave the processor alone. */
static void configure_server(int i, const char *parent)
{
    char name[32];
    snprintf(name, sizeof name, "s%d.conf", i);
    FILE *file = site_create(name);
    fprintf(
        file,
        "name = \"s%d\"\nparent = \"%s\"\nlisten = \"10.97.%d.2:0\"\ninsecure = yes\nslots = 1\nthreads = 2\n"
        "sensors = no\nstate_dir = \"%s/s%d\"\nprobe_every = \"1 s\"\nmemory = \"512 MiB\"\n"
        "problems = { \"%s/nap.esp\" }\n",
        i, parent, i, site_folder, i, site_folder);
    fclose(file);
}

static void calibrate(void)
{
    pid_t calibrations[SERVERS];
    fprintf(stderr, "calibrating %d servers...\n", SERVERS);
    for (int i = 1; i <= SERVERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "calibrate%d", i);
        configure_server(i, "10.97.0.1:1");
        calibrations[i - 1] =
            site_start(name,
                       "env BENCH_NAP_SPEED=%g %s/client/espalier calibrate --sed s%d.conf --budget 12s "
                       "--longest 1s bench_nap",
                       speeds[i - 1], site_build, i);
    }
    for (int i = 0; i < SERVERS; i++) {
        int status;
        waitpid(calibrations[i], &status, 0);
        if (status != 0)
            bench_fail("a calibration failed; see %s/calibrate%d.out", site_folder, i + 1);
    }
}

static bool all_known(void)
{
    struct esp_node *nodes = NULL;
    size_t n = 0;
    int known = 0;
    if (esp_tree(NULL, &nodes, &n) != ESP_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        known += nodes[i].role == ESP_ROLE_SERVER && nodes[i].link_known && nodes[i].bandwidth_bps > 0;
    esp_tree_free(nodes);
    return known == SERVERS;
}

/* A platform with that scheduler, whose links are measured. */
static void open_site(const char *scheduler)
{
    char address[128] = "", path[128];
    const long id = getpid();
    FILE *file = site_create("agent.conf");
    fprintf(file,
            "name = \"MA\"\nlisten = \"10.97.0.1:0\"\ninsecure = yes\naddress_file = \"%s/agent.address\"\n"
            "scheduler = \"%s\"\n",
            site_folder, scheduler);
    fclose(file);
    site_run("rm -f %s/agent.address", site_folder);
    agent = site_start("agent", "ip netns exec esp-b0-%ld %s/agent/espalier-agent --foreground agent.conf",
                       id, site_build);
    snprintf(address, sizeof address, "%s", site_address("agent.address"));
    file = site_create("client.conf");
    fprintf(file, "agents = { \"%s\" }\nremember_links = no\n", address);
    fclose(file);
    for (int i = 1; i <= SERVERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "s%d", i);
        configure_server(i, address);
        servers[i - 1] = site_start(
            name,
            "env BENCH_NAP_SPEED=%g ip netns exec esp-b%d-%ld %s/sed/espalier-sed --foreground s%d.conf",
            speeds[i - 1], i, id, site_build, i);
    }
    snprintf(path, sizeof path, "%s/client.conf", site_folder);
    if (grpc_initialize(path) != GRPC_NO_ERROR)
        bench_fail("the client does not start: %s", esp_last_error()->text);
    for (const double until = bench_now() + SITE_PATIENCE_S; !all_known(); site_rest_ms(200))
        if (bench_now() > until)
            bench_fail("the servers or their links are not known; see %s", site_folder);
}

static void close_site(void)
{
    grpc_finalize();
    for (int i = 0; i < SERVERS; i++)
        site_stop(&servers[i]);
    site_stop(&agent);
}

/* ---- jobs ---- */

static double draw(struct random *random, double least, double most)
{
    return least * exp(log(most / least) * random_real(random));
}

static void draw_jobs(struct platform_job *jobs, int n, double load)
{
    struct random random;
    double capacity = 0, work = 0, at_s = 0;
    random_seed(&random, 7);
    for (int i = 0; i < SERVERS; i++)
        capacity += speeds[i];
    for (int i = 0; i < n; i++) {
        jobs[i] = (struct platform_job){.work_flop = 1e6 * floor(draw(&random, 4e2, 8e3)),
                                        .bytes_in = 8 * (uint64_t)draw(&random, 1e3, MOST_BYTES / 8)};
        jobs[i].bytes_out = 8 + 8 * (uint64_t)((double)jobs[i].bytes_in / 8 * random_real(&random));
        work += jobs[i].work_flop;
    }
    for (int i = 0; load > 0 && i < n; i++) {
        at_s -= log(1 - random_real(&random)) * work / n / (load * capacity);
        jobs[i].at_s = at_s;
    }
}

/* Each at its time; seconds until the last result is back. */
static double send_jobs(const struct platform_job *jobs, int n)
{
    static double sent[MOST_BYTES / 8 + 1], received[MOST_JOBS][MOST_BYTES / 8 + 2];
    grpc_function_handle_t handle;
    grpc_sessionid_t session;
    if (grpc_function_handle_default(&handle, (char *)(uintptr_t) "bench_nap") != GRPC_NO_ERROR)
        bench_fail("bench_nap: %s", esp_last_error()->text);
    const double begun_s = bench_now();
    for (int i = 0; i < n; i++) {
        const double wait_s = jobs[i].at_s - (bench_now() - begun_s);
        if (wait_s > 0)
            site_rest_ms((long)(1e3 * wait_s));
        if (grpc_call_async(&handle, &session, (int)(jobs[i].work_flop / 1e6), (int)(jobs[i].bytes_in / 8),
                            sent, (int)(jobs[i].bytes_out / 8), received[i]) != GRPC_NO_ERROR)
            bench_fail("job %d: %s", i, esp_last_error()->text);
    }
    if (grpc_wait_all() != GRPC_NO_ERROR)
        bench_fail("a job failed: %s", esp_last_error()->text);
    const double took_s = bench_now() - begun_s;
    grpc_function_handle_destruct(&handle);
    return took_s;
}

/* Of each packet of 1500 bytes that a link carries, 52 are headers of IP and TCP (with time stamps). */
#define PAYLOAD (1448.0 / 1500)

/* On the site as it was made. */
static double on_paper(double (*schedule)(const struct list_site *site, const struct platform_job *jobs,
                                          int n),
                       const struct platform_job *jobs, int n)
{
    struct path paths[SERVERS];
    for (int i = 0; i < SERVERS; i++)
        paths[i] = (struct path){true, delays_ms[i] / 1e3, PAYLOAD * mbits[i] * 1e6 / 8, 0};
    const struct list_site site = {SERVERS, speeds, paths};
    return schedule(&site, jobs, n);
}

/* What could be gained over round robin here at all. */
static void tell_bounds(const struct platform_job *jobs, int n)
{
    const double turn_s = on_paper(list_in_turn, jobs, n), best_s = on_paper(list_schedule, jobs, n),
                 bound_s = on_paper(list_bound, jobs, n);
    fprintf(stderr,
            "on paper: in turn %.3g s; by the list schedule %.3g s (%.3f of it); no schedule takes less than "
            "%.3g s (%.3f)\n",
            turn_s, best_s, best_s / turn_s, bound_s, bound_s / turn_s);
}

static void make_site(void)
{
    site_begin();
    atexit(clean_up);
    site_run("ip netns add esp-b0-%ld && ip -n esp-b0-%ld link set lo up && ip -n esp-b0-%ld addr add "
             "10.97.0.1/32 dev lo",
             (long)getpid(), (long)getpid(), (long)getpid());
    site_run("ip netns exec esp-b0-%ld sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward' 2>/dev/null || true",
             (long)getpid());
    for (int i = 1; i <= SERVERS; i++)
        connect_server(i);
    describe();
    calibrate();
}

int main(void)
{
    static const struct bench_case rows[] = {
        {"namespaces", "mixed jobs at once, clairvoyant", "s", BENCH_AT_MOST, 1.15},
        {"namespaces", "at once, against round robin", "s", BENCH_AT_MOST, 1 / 3.0},
        {"namespaces", "mixed jobs at 80 % load, clairvoyant", "s", BENCH_AT_MOST, 1.15},
    };
    struct platform_job at_once[MOST_JOBS], apart[MOST_JOBS];
    const char *text = getenv("BENCH_NAMESPACES_JOBS");
    const int n = text && atoi(text) > 0 && atoi(text) <= MOST_JOBS ? atoi(text) : 60;
    draw_jobs(at_once, n, 0);
    draw_jobs(apart, n, 0.8);
    tell_bounds(at_once, n);
    if (!site_is_possible("namespaces"))
        return 0;
    make_site();
    char hub[32];
    snprintf(hub, sizeof hub, "esp-b0-%ld", (long)getpid());
    site_enter(hub);
    open_site("mct");
    const double ours_s = send_jobs(at_once, n), apart_s = send_jobs(apart, n);
    close_site();
    open_site("round-robin");
    const double blind_s = send_jobs(at_once, n);
    close_site();
    bench_row(&rows[0], ours_s, on_paper(list_schedule, at_once, n));
    bench_row(&rows[1], ours_s, blind_s);
    bench_row(&rows[2], apart_s, on_paper(list_schedule, apart, n));
    return 0;
}
