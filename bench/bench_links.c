/* SPDX-License-Identifier: Apache-2.0
 *
 * Forecasts of transfers over five emulated links of different rate and delay (tests/e2e/slow_link.c, between
 * two network namespaces): an agent and the client here, a server there, which measures its link as the
 * weather does, for a minute. Then calls take arrays of 1 kB to 64 MB there, and others bring them back; the
 * forecast is the one that a program asks for before. Each is the first call of a program that knows nothing
 * but what the agents do, or one of many of a program that has learned its link from those before, with a
 * rest after each: connections that go on at once need not begin slowly.
 *
 * Ours is the mean of abs(forecast - actual) / actual in percent, the reference the bound. Actual is the time
 * from the choice of the server to the end, without its queue. Needs root; $BENCH_LINKS_MONITOR_S is the time
 * of measuring (60), $BENCH_LINKS_MOST the bytes of the greatest transfer (64 MB), $BENCH_LINKS_ONLY one link
 * (1 to 5); with $BENCH_LINKS_LATER = 1 there are no first calls, whose row is 0 then.
 */
#include "bench/bench.h"
#include "bench/site.h"
#include "espalier.h"
#include "fast.h"
#include "grpc.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HERE  "10.98.0.1"
#define THERE "10.98.0.2"

static const struct {
    double mbits, delay_ms;
} links[] = {{200, 0.5}, {100, 5}, {50, 2}, {30, 25}, {16, 10}};
enum { LINKS = sizeof links / sizeof *links, WAYS = 2, REST_MS = 1500 };

static const char *const problems[WAYS] = {"bench_take", "bench_give"}, *const ways[WAYS] = {"there", "back"};

static char here[64], there[64];
static pid_t forwarder, agent, server;

static double setting(const char *name, double otherwise)
{
    const char *text = getenv(name);
    return text ? atof(text) : otherwise;
}

static void close_site(void)
{
    site_stop(&server);
    site_stop(&agent);
    site_stop(&forwarder);
    site_run("ip netns del %s 2>/dev/null; ip netns del %s 2>/dev/null; true", here, there);
}

/* ---- the site ---- */

static void connect_spaces(unsigned i)
{
    site_run("ip netns add %s && ip netns add %s && rm -f %s/passed", here, there, site_folder);
    forwarder = site_start("forwarder", "%s/tests/e2e/slow_link %s %s %g %g passed", site_build, here, there,
                           links[i].mbits, links[i].delay_ms);
    site_await("passed");
    site_run("ip -n %s link set lo up && ip -n %s addr add " HERE
             "/24 dev slow0 && ip -n %s link set slow0 up",
             here, here, here);
    site_run("ip -n %s link set lo up && ip -n %s addr add " THERE
             "/24 dev slow0 && ip -n %s link set slow0 up",
             there, there, there);
}

static void describe(void)
{
    FILE *file = site_create("transfers.esp");
    fprintf(file,
            "problem bench_take \"Take an array\"\n    in int n\n    in double a[n]\n"
            "implementation tiny\n    c bench_take(a) in %s/bench/.libs/libtiny.so\n"
            "problem bench_give \"Give an array\"\n    in int n\n    out double a[n]\n"
            "implementation tiny\n    c bench_take(a) in %s/bench/.libs/libtiny.so\n",
            site_build, site_build);
    fclose(file);
}

static void open_site(unsigned i)
{
    connect_spaces(i);
    FILE *file = site_create("agent.conf");
    fprintf(file,
            "name = \"MA\"\nlisten = \"" HERE ":0\"\ninsecure = yes\naddress_file = \"%s/agent.address\"\n",
            site_folder);
    fclose(file);
    site_run("rm -f %s/agent.address", site_folder);
    agent = site_start("agent", "ip netns exec %s %s/agent/espalier-agent --foreground agent.conf", here,
                       site_build);
    const char *address = site_address("agent.address");
    file = site_create("server.conf");
    fprintf(file,
            "name = \"S\"\nparent = \"%s\"\nlisten = \"" THERE ":0\"\ninsecure = yes\nslots = 1\n"
            "memory = \"512 MiB\"\nprobe_every = \"1 s\"\nproblems = { \"%s/transfers.esp\" }\n",
            address, site_folder);
    fclose(file);
    file = site_create("client.conf");
    fprintf(file, "agents = { \"%s\" }\nremember_links = no\n", address);
    fclose(file);
    server = site_start("server", "ip netns exec %s %s/sed/espalier-sed --foreground server.conf", there,
                        site_build);
}

/* ---- a program of its own, in a process of its own ---- */

static void begin_program(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/client.conf", site_folder);
    site_enter(here);
    if (grpc_initialize(path) != GRPC_NO_ERROR)
        bench_fail("the client does not start: %s", esp_last_error()->text);
}

static double forecast_s(int way, int n)
{
    const struct fast_value size = {"n", n};
    const struct fast_call call = {problems[way], &size, 1};
    struct fast_server *servers = NULL;
    size_t n_servers = 0;
    if (fast_forecast(&call, &servers, &n_servers) != ESP_OK || n_servers != 1 || servers[0].excluded)
        bench_fail("%s is not forecast: %s", problems[way], esp_last_error()->text);
    const double total_s = servers[0].total_s - servers[0].queue_s;
    fast_forecast_free(servers);
    return total_s;
}

/* From the choice of the server on. */
static double actual_s(int way, int n)
{
    grpc_function_handle_t handle;
    struct esp_session_info *info = NULL;
    double *array = calloc((size_t)n, sizeof *array);
    if (!array || grpc_function_handle_default(&handle, (char *)(uintptr_t)problems[way]) != GRPC_NO_ERROR ||
        grpc_call(&handle, n, array) != GRPC_NO_ERROR || esp_last_session_info(&info) != ESP_OK)
        bench_fail("%s: %s", problems[way], esp_last_error()->text);
    const double took_s = info->total_s - info->submit_s - info->queue_s;
    esp_session_info_free(info);
    grpc_function_handle_destruct(&handle);
    free(array);
    return took_s;
}

static double error_of(int way, double bytes)
{
    const int n = (int)(bytes / sizeof(double));
    const double expected_s = forecast_s(way, n), took_s = actual_s(way, n);
    fprintf(stderr, "  %10.0f bytes %-5s: forecast %.4g s, took %.4g s (%+.0f %%)\n", bytes, ways[way],
            expected_s, took_s, 100 * (expected_s / took_s - 1));
    return fabs(expected_s - took_s) / took_s;
}

static double most_bytes(void)
{
    return setting("BENCH_LINKS_MOST", 65.536e6) * 1.001;
}

/* The mean error of that call, or, of 0 bytes, of all, one after the other, in one program. */
static double program(int way, double bytes)
{
    double error = 0;
    unsigned n = 0;
    begin_program();
    if (bytes > 0)
        error = error_of(way, bytes), n = 1;
    else
        for (bytes = 1e3; bytes <= most_bytes(); bytes *= 4)
            for (way = 0; way < WAYS; way++, n++) {
                error += error_of(way, bytes);
                site_rest_ms(REST_MS);
            }
    grpc_finalize();
    return error / n;
}

static double run_program(int way, double bytes)
{
    int ends[2], status = 0;
    double error;
    if (pipe(ends) != 0)
        bench_fail("no pipe");
    const pid_t child = fork();
    if (child == 0) {
        error = program(way, bytes);
        _exit(write(ends[1], &error, sizeof error) != sizeof error);
    }
    close(ends[1]);
    if (read(ends[0], &error, sizeof error) != sizeof error || waitpid(child, &status, 0) != child || status)
        bench_fail("a program with calls failed");
    close(ends[0]);
    return error;
}

static double first_calls(void)
{
    double error = 0;
    unsigned n = 0;
    if (setting("BENCH_LINKS_LATER", 0) > 0)
        return 0;
    for (double bytes = 1e3; bytes <= most_bytes(); bytes *= 4)
        for (int way = 0; way < WAYS; way++, n++)
            error += run_program(way, bytes);
    return error / n;
}

static void row(const char *name, enum bench_bound kind, double error)
{
    const struct bench_case which = {"links", name, "% off", kind, 1};
    bench_row(&which, 100 * error, 10);
}

int main(void)
{
    const unsigned only = (unsigned)setting("BENCH_LINKS_ONLY", 0);
    double first = 0, learned = 0;
    unsigned n = 0;
    if (!site_is_possible("links"))
        return 0;
    snprintf(here, sizeof here, "esp-bench-here-%ld", (long)getpid());
    snprintf(there, sizeof there, "esp-bench-there-%ld", (long)getpid());
    site_begin();
    atexit(close_site);
    describe();
    for (unsigned i = 0; i < LINKS; i++) {
        char name[64];
        if (only > 0 && only != i + 1)
            continue;
        open_site(i);
        site_rest_ms((long)(1e3 * setting("BENCH_LINKS_MONITOR_S", 60)));
        snprintf(name, sizeof name, "%g Mbit/s, %g ms: first calls", links[i].mbits, links[i].delay_ms);
        const double of_first = first_calls();
        row(name, BENCH_SHOWN, of_first);
        snprintf(name, sizeof name, "%g Mbit/s, %g ms: later calls", links[i].mbits, links[i].delay_ms);
        const double of_learned = run_program(0, 0);
        row(name, BENCH_SHOWN, of_learned);
        close_site();
        first += of_first;
        learned += of_learned;
        n++;
    }
    row("first calls over the links", BENCH_AT_MOST, first / n);
    row("later calls over the links", BENCH_AT_MOST, learned / n);
    return 0;
}
