/* SPDX-License-Identifier: Apache-2.0
 *
 * Forecasts of transfers over five emulated links of different rate and delay (tests/e2e/slow_link.c, between
 * two network namespaces): each link is measured by the probes of the weather for a minute, for 2 % of its
 * time; then 1 kB to 64 MB are sent over new TCP connections. Ours is the mean of abs(forecast - actual) /
 * actual in percent, the reference the bound. Needs root; $BENCH_LINKS_MONITOR_S is the time of measuring
 * (60), $BENCH_LINKS_MOST the bytes of the greatest transfer (64 MB).
 */
#include "bench/bench.h"
#include "core/forecast/path.h"
#include "services/nws/probe.h"
#include "services/nws/probe_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdarg.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HERE  "10.98.0.1"
#define THERE "10.98.0.2"

static const struct {
    double mbits, delay_ms;
} links[] = {{200, 0.5}, {100, 5}, {50, 2}, {30, 25}, {16, 10}};
enum { LINKS = sizeof links / sizeof *links, PORT = 4801 };

static char here[64], there[64];
static pid_t children[2];

static double setting(const char *name, double otherwise)
{
    const char *text = getenv(name);
    return text ? atof(text) : otherwise;
}

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...)
{
    char command[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    if (system(command) != 0)
        bench_fail("%s failed", command);
}

static void clean_up(void)
{
    char command[256];
    for (int i = 0; i < 2; i++)
        if (children[i] > 0) {
            kill(children[i], SIGKILL);
            waitpid(children[i], NULL, 0);
            children[i] = 0;
        }
    snprintf(command, sizeof command, "ip netns del %s 2>/dev/null; ip netns del %s 2>/dev/null; true", here,
             there);
    if (system(command) != 0)
        fprintf(stderr, "bench links: the namespaces are not removed\n");
}

static void enter(const char *space)
{
    char path[128];
    snprintf(path, sizeof path, "/run/netns/%s", space);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
        bench_fail("%s: %s", path, strerror(errno));
    close(fd);
}

/* ---- the other side ---- */

static void measured(void *self, const char *child, const char *peer,
                     const struct link_measurement *measurement)
{
    (void)self;
    (void)child;
    (void)peer;
    (void)measurement;
}

static struct sockaddr_in address_of(const char *host)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    inet_pton(AF_INET, host, &address.sin_addr);
    return address;
}

static void send_bytes(int fd, uint64_t bytes)
{
    static char noise[1 << 16];
    while (bytes > 0) {
        const ssize_t n = write(fd, noise, bytes < sizeof noise ? (size_t)bytes : sizeof noise);
        if (n <= 0)
            return;
        bytes -= (uint64_t)n;
    }
}

/* Says the URL of its probe port to `out`, then sends what it is asked for. */
static void serve(int out)
{
    const struct probe_port_ops ops = {.measured = measured};
    const struct sockaddr_in address = address_of(THERE);
    struct probe_port *port;
    struct esp_error error;
    const int on = 1;
    enter(there);
    if (probe_port_open(THERE ":0", NULL, &ops, &port, &error) != ESP_OK)
        bench_fail("%s", error.text);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 8) != 0 ||
        write(out, probe_port_url(port), strlen(probe_port_url(port)) + 1) < 0)
        bench_fail("the other side: %s", strerror(errno));
    for (;;) {
        uint64_t bytes;
        int fd = accept(listener, NULL, NULL);
        if (read(fd, &bytes, sizeof bytes) == sizeof bytes)
            send_bytes(fd, bytes);
        close(fd);
    }
}

/* ---- this side ---- */

/* From the request to the last byte, over a connection that is open already. */
static double transfer_s(uint64_t bytes)
{
    static char buffer[1 << 16];
    const struct sockaddr_in address = address_of(THERE);
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)
        bench_fail("connect: %s", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const double begun_s = bench_now();
    if (write(fd, &bytes, sizeof bytes) != sizeof bytes)
        bench_fail("write: %s", strerror(errno));
    for (uint64_t left = bytes; left > 0;) {
        const ssize_t n = read(fd, buffer, sizeof buffer);
        if (n <= 0)
            bench_fail("the transfer of %llu bytes ended early", (unsigned long long)bytes);
        left -= (uint64_t)n;
    }
    const double took_s = bench_now() - begun_s;
    close(fd);
    return took_s;
}

/* As a daemon's thread does it: a probe, then a rest of fifty times as long, ten seconds at least. */
static struct path monitor(const char *url, double seconds)
{
    struct series *series;
    struct esp_error error;
    struct path path = {0};
    if (series_open(NULL, &series, &error) != ESP_OK)
        bench_fail("%s", error.text);
    for (const double end_s = bench_now() + seconds;;) {
        struct link_measurement measurement;
        double busy_s = 0;
        if (probe_link(url, NULL, 10000, NULL, &measurement, &busy_s, &error) != ESP_OK)
            bench_fail("%s", error.text);
        series_add(series, &measurement);
        const double rest_s = fmax(10, 50 * busy_s);
        if (bench_now() + rest_s > end_s)
            break;
        const struct timespec rest = {(time_t)rest_s, 0};
        nanosleep(&rest, NULL);
    }
    series_forecast(series, &path, NULL);
    series_close(series);
    return path;
}

static double mean_error(const struct path *path, double most, double *sum_s)
{
    double error = 0;
    unsigned n = 0;
    for (double bytes = 1e3; bytes <= most * 1.001; bytes *= 4) {
        const double actual_s = transfer_s((uint64_t)bytes);
        const double forecast_s = path->latency_s + path_seconds(path, (uint64_t)bytes);
        fprintf(stderr, "  %10.0f bytes: forecast %.4g s, took %.4g s\n", bytes, forecast_s, actual_s);
        error += fabs(forecast_s - actual_s) / actual_s;
        *sum_s += actual_s;
        n++;
    }
    return error / n;
}

static void connect_spaces(unsigned i)
{
    char mbits[32], delay[32], link[1024], told[64];
    const char *build = getenv("top_builddir");
    snprintf(mbits, sizeof mbits, "%g", links[i].mbits);
    snprintf(delay, sizeof delay, "%g", links[i].delay_ms);
    snprintf(link, sizeof link, "%s/tests/e2e/slow_link", build ? build : ".");
    snprintf(told, sizeof told, "/tmp/espalier-bench-links.%ld", (long)getpid());
    run("ip netns add %s && ip netns add %s", here, there);
    if ((children[0] = fork()) == 0) {
        execl(link, link, here, there, mbits, delay, told, (char *)NULL);
        _exit(127);
    }
    for (struct stat status; stat(told, &status) != 0;) {
        const struct timespec moment = {.tv_nsec = 20000000};
        if (waitpid(children[0], NULL, WNOHANG) != 0)
            bench_fail("%s does not run: make check builds it", link);
        nanosleep(&moment, NULL);
    }
    unlink(told);
    run("ip -n %s addr add " HERE "/24 dev slow0 && ip -n %s link set slow0 up", here, here);
    run("ip -n %s addr add " THERE "/24 dev slow0 && ip -n %s link set slow0 up", there, there);
}

static double bench_link(unsigned i)
{
    char url[PROBE_MOST_URL + 1];
    int ends[2];
    double sum_s = 0;
    connect_spaces(i);
    if (pipe(ends) != 0)
        bench_fail("pipe: %s", strerror(errno));
    if ((children[1] = fork()) == 0)
        serve(ends[1]);
    enter(here);
    if (read(ends[0], url, sizeof url) <= 0)
        bench_fail("the other side says nothing");
    const struct path path = monitor(url, setting("BENCH_LINKS_MONITOR_S", 60));
    fprintf(stderr, "%g Mbit/s, %g ms: found %.4g Mbit/s, %.3g ms\n", links[i].mbits, links[i].delay_ms,
            8e-6 * path.bandwidth_bps, 1e3 * path.latency_s);
    const double error = mean_error(&path, setting("BENCH_LINKS_MOST", 65.536e6), &sum_s);
    close(ends[0]);
    close(ends[1]);
    clean_up();
    return error;
}

int main(void)
{
    static const struct bench_case one = {"links", "", "% off", BENCH_SHOWN, 0};
    static const struct bench_case all = {"links", "transfers over five links", "% off", BENCH_AT_MOST, 1};
    double mean = 0;
    if (geteuid() != 0 || access("/dev/net/tun", R_OK | W_OK) != 0) {
        fprintf(stderr,
                "bench links: network namespaces and /dev/net/tun are root's: nothing was measured\n");
        return 0;
    }
    snprintf(here, sizeof here, "esp-bench-here-%ld", (long)getpid());
    snprintf(there, sizeof there, "esp-bench-there-%ld", (long)getpid());
    atexit(clean_up);
    for (unsigned i = 0; i < LINKS; i++) {
        struct bench_case row = one;
        char name[64];
        const double error = bench_link(i);
        snprintf(name, sizeof name, "%g Mbit/s, %g ms", links[i].mbits, links[i].delay_ms);
        row.name = name;
        bench_row(&row, 100 * error, 10);
        mean += error / LINKS;
    }
    bench_row(&all, 100 * mean, 10);
    return 0;
}
