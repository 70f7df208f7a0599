/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/link_graph.h"
#include "core/forecast/path.h"
#include "services/nws/links.h"
#include "services/nws/probe.h"
#include "services/nws/probe_port.h"
#include "util/clock.h"
#include "util/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- series ---- */

static char ring[64];

static int make_name(void **state)
{
    (void)state;
    strcpy(ring, "/tmp/espalier-ring-XXXXXX");
    int fd = mkstemp(ring);
    if (fd >= 0)
        close(fd);
    return unlink(ring);
}

static int remove_files(void **state)
{
    char aside[80];
    (void)state;
    unlink(ring);
    snprintf(aside, sizeof aside, "%s.damaged", ring);
    unlink(aside);
    return 0;
}

static struct series *open_series(const char *path)
{
    struct series *series;
    struct esp_error error;
    assert_int_equal(series_open(path, &series, &error), ESP_OK);
    return series;
}

static bool add(struct series *series, double connect_ms, double latency_ms, double bandwidth)
{
    const struct link_measurement measurement = {connect_ms, latency_ms, bandwidth, 1};
    return series_add(series, &measurement);
}

static void a_series_goes_on_after_a_restart(void **state)
{
    (void)state;
    struct path before, after;
    struct series *series = open_series(ring);
    assert_false(series_forecast(series, &before, NULL));
    for (int i = 0; i < SERIES_RECORDS + 40; i++) /* once round */
        assert_true(add(series, 2, 4 + i % 3, 80 + i % 5));
    assert_true(series_forecast(series, &before, NULL));
    series_close(series);
    series = open_series(ring);
    assert_int_equal(series_count(series, NULL), SERIES_RECORDS + 40);
    assert_true(series_forecast(series, &after, NULL));
    assert_true(fabs(after.latency_s / before.latency_s - 1) < 0.2);
    assert_true(fabs(after.bandwidth_bps / before.bandwidth_bps - 1) < 0.05);
    assert_true(after.latency_s >= 0.002 && after.latency_s <= 0.003); /* half of there and back */
    assert_true(after.bandwidth_bps >= 80e6 / 8 && after.bandwidth_bps <= 84e6 / 8); /* bytes, not bits */
    struct stat status;
    assert_int_equal(stat(ring, &status), 0);
    assert_true(status.st_size <= 64 * SERIES_RECORDS);
    series_close(series);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct path path;
    uint64_t refused;
    struct series *series = open_series(NULL);
    const double wrong[][3] = {{-1, 1, 1},  {1, -1, 1},    {1, 1, -1},    {NAN, 1, 1}, {1, INFINITY, 1},
                               {1, 1, NAN}, {1, 1, 1e300}, {1e300, 1, 1}, {1, 0, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(add(series, wrong[i][0], wrong[i][1], wrong[i][2]));
    assert_false(series_forecast(series, &path, NULL));
    assert_true(add(series, 0, 0, 10)); /* of a transfer: only the rate */
    assert_true(series_forecast(series, &path, NULL));
    assert_true(path.bandwidth_bps == 10e6 / 8 && path.latency_s == 0);
    assert_int_equal(series_count(series, &refused), 1);
    assert_int_equal(refused, sizeof wrong / sizeof *wrong);
    series_close(series);
}

/* The clock of a measurement is for people: one that jumps back, or to the end of days, changes no forecast.
 */
static void a_clock_that_jumps_changes_nothing(void **state)
{
    (void)state;
    const int64_t times[] = {1700000000, 5, INT64_MAX, -7, 1700000001};
    struct series *jumps = open_series(ring), *steady = open_series(NULL);
    for (int i = 0; i < 5; i++) {
        const struct link_measurement jumping = {1, 2, 10 + i, times[i]}, straight = {1, 2, 10 + i, i};
        assert_true(series_add(jumps, &jumping) && series_add(steady, &straight));
    }
    series_close(jumps);
    jumps = open_series(ring);
    struct path one, other;
    assert_int_equal(series_count(jumps, NULL), 5);
    assert_true(series_forecast(jumps, &one, NULL) && series_forecast(steady, &other, NULL));
    assert_true(one.bandwidth_bps == other.bandwidth_bps);
    series_close(jumps);
    series_close(steady);
}

static void damage(long at, const char *bytes, size_t n)
{
    int fd = open(ring, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0 && pwrite(fd, bytes, n, at) == (ssize_t)n);
    close(fd);
}

static void a_damaged_ring_is_set_aside_and_its_whole_records_used(void **state)
{
    (void)state;
    char aside[80];
    struct path path;
    struct series *series = open_series(ring);
    for (int i = 0; i < 9; i++)
        add(series, 1, 2, 50);
    series_close(series);
    damage(SERIES_HEADER + 3 * 48 + 20, "\x7f\x7f\x7f", 3);
    series = open_series(ring);
    snprintf(aside, sizeof aside, "%s.damaged", ring);
    assert_int_equal(access(aside, F_OK), 0);
    assert_true(series_forecast(series, &path, NULL) && path.bandwidth_bps == 50e6 / 8);
    assert_true(add(series, 1, 2, 50));
    series_close(series);
    unlink(aside);
    series = open_series(ring); /* the new file is whole */
    assert_int_equal(access(aside, F_OK), -1);
    assert_int_equal(series_count(series, NULL), 10);
    double history[SERIES_RECORDS]; /* what was whole in the old one is in it too: all but the one damaged */
    assert_int_equal(series_history(series, history, SERIES_RECORDS), 9);
    assert_int_equal(series_history(series, history, 3), 3);
    assert_float_equal(history[0], 50, 0);
    series_close(series);
    damage(0, "ESPLINK 9", 9); /* of a later version */
    series = open_series(ring);
    assert_int_equal(access(aside, F_OK), 0);
    assert_int_equal(series_count(series, NULL), 0);
    series_close(series);
}

/* A crash in the middle of a record, and a byte of the heading, cost nothing that is whole. */
static void what_is_whole_is_used_whatever_is_not(void **state)
{
    (void)state;
    enum { RECORDS = 7, RECORD = 48, BYTES = SERIES_HEADER + (RECORDS + 1) * RECORD };
    char bytes[BYTES];
    struct series *series = open_series(ring);
    for (int i = 0; i < RECORDS; i++)
        add(series, 1, 2, 50);
    series_close(series);
    int fd = open(ring, O_RDWR | O_CLOEXEC);
    assert_int_equal(read(fd, bytes, BYTES), BYTES);
    assert_int_equal(ftruncate(fd, BYTES - 5), 0);
    series = open_series(ring);
    assert_int_equal(series_count(series, NULL), RECORDS - 1);
    series_close(series);
    close(fd);
    for (int at = 0; at < BYTES; at++) {
        struct path path;
        unlink(ring);
        fd = open(ring, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, bytes, BYTES), BYTES);
        close(fd);
        const char other = (char)~bytes[at];
        damage(at, &other, 1);
        series = open_series(ring);
        /* Numbers begin with 1: the place of number 0 is empty, and what is there is none. */
        const bool hits_one = at >= SERIES_HEADER + RECORD;
        double history[SERIES_RECORDS];
        assert_int_equal(series_history(series, history, SERIES_RECORDS), RECORDS - hits_one);
        assert_true(series_forecast(series, &path, NULL) && path.bandwidth_bps == 50e6 / 8);
        assert_true(add(series, 1, 2, 50));
        series_close(series);
    }
}

/* ---- paths ---- */

static void a_rate_is_found_again_from_the_time_it_makes(void **state)
{
    (void)state;
    for (double latency_s = 1e-5; latency_s < 0.2; latency_s *= 7)
        for (double rate = 1e5; rate < 1e9; rate *= 11)
            for (double bytes = 1e5; bytes < 1e8; bytes *= 13) {
                const double seconds = path_time_s(latency_s, 1 / rate, bytes) - latency_s;
                const double found = 1 / path_inverse_bandwidth(latency_s, bytes, seconds);
                /* Where slow start is all of it, many rates make nearly the same time. */
                if (bytes > 20 * rate * latency_s + 1e5)
                    assert_true(fabs(found / rate - 1) < 0.01);
                assert_true(fabs(path_time_s(latency_s, 1 / found, bytes) - latency_s - seconds) <
                            1e-6 + 0.01 * seconds);
            }
    assert_true(path_inverse_bandwidth(0.01, 1e6, 0.001) < 1e-9); /* quicker than latency lets it be */
}

/* Chunks that are answered one by one take round trips, on two connections fewer than on one; their rate is
 * found again. */
static void chunks_take_round_trips_and_slow_start(void **state)
{
    (void)state;
    assert_float_equal(path_chunks_s(0, 1e-8, 5e6), 0.05, 1e-9);
    assert_float_equal(path_chunks_s(0.01, 0, 5e6), 0.02, 1e-9); /* the rate is not known */
    /* 100 kB over 50 ms there and back: 14, 29 and 58 kB in rounds, and the last word. */
    assert_float_equal(path_chunks_s(0.025, 1e-7, 100e3), 3 * 0.05 + 0.01, 0.01);
    assert_true(path_chunks_s(0.025, 1e-7, 7e6) > 0.7 + 4 * 0.05);
    assert_true(path_chunks_s(0.025, 1e-7, 64e6) < 6.4 + 10 * 0.05);
    for (double latency_s = 1e-5; latency_s < 0.2; latency_s *= 3)
        for (double rate = 1e5; rate < 1e9; rate *= 5)
            for (double bytes = 1e5; bytes < 1e8; bytes *= 4) {
                const double seconds = path_chunks_s(latency_s, 1 / rate, bytes);
                assert_true(seconds >= bytes / rate * (1 - 1e-9) && seconds >= 2 * latency_s);
                if (rate < 5e7) { /* beyond, quick chunks are shorter */
                    assert_true(path_chunks_s(latency_s * 1.1, 1 / rate, bytes) >= seconds);
                    assert_true(path_chunks_s(latency_s, 1.1 / rate, bytes) >= seconds);
                }
                const double found = path_chunks_inverse(latency_s, 0, bytes, seconds);
                assert_true(fabs(path_chunks_s(latency_s, found, bytes) / seconds - 1) < 0.02);
            }
    const struct path_opening new = {0, 0, 0};
    const struct path_load small = {1000, 0}, mixed = {1000, 1e6};
    assert_float_equal(path_call_s(0.01, 1e-8, small, (struct path_opening){2, 0, 0}), 0.01 + 1e-5 + 0.04,
                       1e-9);
    assert_float_equal(path_call_s(0.01, 1e-8, mixed, new), 0.03 + 1e-5 + path_chunks_s(0.01, 1e-8, 1e6),
                       1e-9);
    assert_float_equal(path_results_s(0.01, 1e-8, mixed, new), 0.01 + 1e-5 + path_chunks_s(0.01, 1e-8, 1e6),
                       1e-9);
}

static struct path path_of(double latency_s, double bps)
{
    return (struct path){true, latency_s, bps, 0};
}

static void ways_that_nobody_measured_are_the_shortest_over_links(void **state)
{
    (void)state;
    struct link_graph graph = {0};
    const struct path slow = path_of(0.01, 1e6), quick = path_of(0.001, 1e8), unknown = {0};
    assert_true(link_graph_set(&graph, "hub", "a", &slow));
    assert_true(link_graph_set(&graph, "hub", "b", &quick));
    struct path way = link_graph_path(&graph, "b", "a", 1000000);
    assert_true(way.known && fabs(way.latency_s - 0.011) < 1e-12 && way.bandwidth_bps == 1e6);
    assert_true(link_graph_set(&graph, "a", "c", &quick) && link_graph_set(&graph, "c", "b", &quick));
    way = link_graph_path(&graph, "b", "a", 1000000); /* round the slow one */
    assert_true(fabs(way.latency_s - 0.002) < 1e-12 && way.bandwidth_bps == 1e8);
    way = link_graph_path(&graph, "b", "b", 1000000);
    assert_true(way.known && way.latency_s == 0);
    assert_false(link_graph_path(&graph, "b", "nobody", 1).known);
    assert_true(link_graph_set(&graph, "a", "c", &unknown));
    assert_true(link_graph_path(&graph, "b", "a", 1000000).bandwidth_bps == 1e6);
    const struct path memory = path_of(0, 4e9), busy = path_of(0, 2e9);
    assert_false(link_graph_host(&graph, "a", "b").known);
    assert_true(link_graph_set_host(&graph, "a", &memory) && link_graph_set_host(&graph, "b", &busy));
    assert_true(link_graph_host(&graph, "a", "b").bandwidth_bps == 2e9);
    assert_false(link_graph_host(&graph, "a", "hub").known);
    const struct path uneven = {true, 0.001, 1e8, 1e6}, fetched = path_of(0.001, 5e6);
    assert_true(link_graph_set(&graph, "hub", "c", &uneven)); /* quick there, slow back */
    assert_true(link_graph_path(&graph, "hub", "c", 1000000).bandwidth_bps == 1e8);
    assert_true(link_graph_path(&graph, "c", "hub", 1000).bandwidth_bps == 1e6);
    assert_true(link_graph_set(&graph, "d", "hub", &fetched));
    assert_true(link_graph_path(&graph, "hub", "d", 1000000).bandwidth_bps == 5e6); /* till it is measured */
    assert_true(link_graph_set(&graph, "hub", "d", &quick));
    assert_true(link_graph_path(&graph, "hub", "d", 1000000).bandwidth_bps == 1e8);
    assert_true(link_graph_path(&graph, "d", "hub", 1000000).bandwidth_bps == 5e6);
    link_graph_remove(&graph, "hub");
    assert_false(link_graph_path(&graph, "b", "a", 1000000).known);
    link_graph_clear(&graph);
}

/* ---- the port ---- */

struct heard {
    unsigned n;
    char child[64], peer[64];
    struct link_measurement measurement;
};

/* ---- transfers that were made ---- */

static void transfers_count_as_measurements(void **state)
{
    (void)state;
    char folder[] = "/tmp/espalier-links-XXXXXX", state_dir[64], file[100];
    assert_non_null(mkdtemp(folder));
    snprintf(state_dir, sizeof state_dir, "%s/state", folder); /* which is not there yet */
    const struct links_options options = {
        .name = "here", .listen = "127.0.0.1:0", .state_dir = state_dir, .every_ns = 1, .learns = true};
    const struct links_options agent = {.name = "agent", .listen = "127.0.0.1:0", .every_ns = 1};
    const struct links_ops ops = {.self = NULL};
    struct links *links;
    struct path path;
    struct esp_error error;
    assert_int_equal(links_create(&agent, &links, &error), ESP_OK);
    assert_null(links); /* loopback would measure nothing */
    for (int life = 0; life < 2; life++) {
        assert_int_equal(links_create(&options, &links, &error), ESP_OK);
        assert_non_null(links);
        assert_null(links_url(links));
        assert_int_equal(links_start(links, &ops, &error), ESP_OK);
        assert_false(links_learn(links, "there", 1000, 1e-3, &path)); /* too short to tell */
        assert_false(links_learn(links, "there", 50000000, 0, &path));
        assert_false(links_learn(links, "there", 50000000, -1, &path));
        for (int i = 0; i < 5; i++)
            assert_true(links_learn(links, "there", 50000000, 0.5, &path));
        assert_true(path.known && path.bandwidth_bps > 90e6 && path.bandwidth_bps < 110e6);
        links_destroy(links);
    }
    assert_false(links_learn(NULL, "there", 50000000, 0.5, &path));
    snprintf(file, sizeof file, "%s/links/there.ring", state_dir);
    struct stat ring_file; /* the second life goes on with the first one's series */
    assert_int_equal(stat(file, &ring_file), 0);
    assert_int_equal(ring_file.st_size, SERIES_HEADER + 11 * 48); /* numbers begin with 1 */
    assert_int_equal(unlink(file), 0);
    snprintf(file, sizeof file, "%s/links", state_dir);
    assert_int_equal(rmdir(file), 0);
    assert_int_equal(rmdir(state_dir), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* A pause is no property of the link; what all transfers tell is. */
static void a_transfer_in_which_an_end_was_stopped_does_not_count(void **state)
{
    (void)state;
    struct manual_clock clock;
    manual_clock_init(&clock, NS_PER_S);
    const struct links_options options = {
        .name = "here", .listen = "127.0.0.1:0", .learns = true, .clock = &clock.clock};
    struct links *links;
    struct esp_error error;
    struct path path;
    assert_int_equal(links_create(&options, &links, &error), ESP_OK);
    for (int i = 0; i < 5; i++) {
        clock.time_ns += NS_PER_S;
        assert_true(links_learn(links, "there", 50000000, 0.5, &path));
    }
    clock.time_ns += 27 * NS_PER_S;
    for (int i = 0; i < 4; i++) /* at the same time */
        assert_false(links_learn(links, "there", 50000000, 27, &path));
    clock.time_ns += NS_PER_S;
    assert_true(links_learn(links, "there", 50000000, 0.5, &path));
    assert_true(path.bandwidth_bps > 90e6);
    for (int i = 0; i < 30; i++) {
        clock.time_ns += 10 * NS_PER_S;
        assert_true(links_learn(links, "there", 50000000, 10, &path) == (i > 0));
    }
    assert_true(path.bandwidth_bps < 10e6);
    links_destroy(links);
}

static bool learns(struct links *links, unsigned peer)
{
    char name[16];
    struct path path;
    snprintf(name, sizeof name, "n%u", peer);
    return links_learn(links, name, 50000000, 0.5, &path);
}

/* A node with new names all the time takes nothing from links that are measured, and those that are gone
 * make room. */
static void links_that_are_measured_no_more_make_room(void **state)
{
    (void)state;
    enum { MOST = 1024 };
    struct manual_clock clock;
    manual_clock_init(&clock, NS_PER_S);
    const struct links_options options = {
        .name = "here", .listen = "127.0.0.1:0", .learns = true, .clock = &clock.clock};
    struct links *links;
    struct esp_error error;
    assert_int_equal(links_create(&options, &links, &error), ESP_OK);
    for (unsigned i = 0; i < MOST; i++)
        assert_true(learns(links, i));
    assert_false(learns(links, MOST));
    clock.time_ns += 2 * 3600 * NS_PER_S;
    for (unsigned i = 1; i < MOST; i++)
        assert_true(learns(links, i));
    assert_true(learns(links, MOST)); /* in the place of n0, which nobody measured for two hours */
    assert_false(learns(links, 0));
    assert_true(learns(links, 1));
    links_destroy(links);
}

static void on_measured(void *self, const char *child, const char *peer,
                        const struct link_measurement *measurement)
{
    struct heard *heard = self;
    heard->n++;
    snprintf(heard->child, sizeof heard->child, "%s", child);
    snprintf(heard->peer, sizeof heard->peer, "%s", peer);
    heard->measurement = *measurement;
}

/* A port on this host, what it heard, and what a look at it found. */
struct probing {
    struct heard heard;
    struct probe_port *port;
    struct link_measurement measurement;
    double busy_s;
    struct esp_error error;
};

static enum esp_status open_port(struct probing *p, const struct probe_tls *tls)
{
    const struct probe_port_ops ops = {&p->heard, on_measured};
    return probe_port_open("127.0.0.1:0", NULL, tls, &ops, &p->port, &p->error);
}

static enum esp_status probe(struct probing *p, const char *url, const struct probe_tls *tls,
                             int64_t timeout_ms)
{
    return probe_link(url, tls, timeout_ms, NULL, &p->measurement, &p->busy_s, &p->error);
}

static void a_port_serves_those_who_know_it(void **state)
{
    (void)state;
    struct probing p = {0};
    char url[PROBE_MOST_URL + 1], answer[512];
    assert_int_equal(open_port(&p, NULL), ESP_OK);
    snprintf(url, sizeof url, "%s", probe_port_url(p.port));
    assert_int_equal(probe(&p, url, NULL, 5000), ESP_OK);
    assert_true(p.measurement.latency_ms > 0 && p.measurement.connect_ms > 0 && p.measurement.bandwidth > 10);
    double back;
    assert_int_equal(probe_back(url, NULL, 5000, NULL, p.measurement.latency_ms, &back, &p.busy_s, &p.error),
                     ESP_OK);
    assert_true(back > 10);
    /* Turns: one at a time; the second child is the first one's brother. */
    assert_int_equal(probe_post(url, NULL, "turn", "a http://x/1", 5000, answer, sizeof answer, &p.error),
                     ESP_OK);
    assert_string_equal(answer, "");
    assert_int_equal(probe_post(url, NULL, "turn", "b http://y/2", 5000, answer, sizeof answer, &p.error),
                     ESP_BUSY);
    assert_int_equal(probe_post(url, NULL, "done", "a\nMA 1 2 3\n", 5000, answer, sizeof answer, &p.error),
                     ESP_OK);
    assert_int_equal(p.heard.n, 1);
    assert_string_equal(p.heard.child, "a");
    assert_string_equal(p.heard.peer, "MA");
    assert_true(p.heard.measurement.connect_ms == 1 && p.heard.measurement.bandwidth == 3);
    assert_int_equal(probe_post(url, NULL, "turn", "b http://y/2", 5000, answer, sizeof answer, &p.error),
                     ESP_OK);
    assert_string_equal(answer, "a http://x/1\n");
    /* Nonsense. */
    assert_int_equal(probe_post(url, NULL, "turn", "b", 5000, answer, sizeof answer, &p.error), ESP_REFUSED);
    assert_int_equal(probe_post(url, NULL, "done", "b\nMA fast", 5000, answer, sizeof answer, &p.error),
                     ESP_REFUSED);
    assert_int_equal(probe_post(url, NULL, "what", "b", 5000, answer, sizeof answer, &p.error), ESP_REFUSED);
    url[strlen(url) - 1] ^= 1; /* another secret */
    assert_int_equal(probe(&p, url, NULL, 5000), ESP_REFUSED);
    assert_null(strstr(p.error.text, strrchr(url, '/') + 1));
    probe_port_close(p.port);
    assert_int_equal(probe(&p, url, NULL, 500), ESP_UNREACHABLE);
}

/* A request of the port's smallest page on an open connection, there and back; as the probe makes them. */
static double ask_raw(int fd, const char *request)
{
    char answer[4096];
    size_t n = 0;
    const int64_t begun_ns = clock_now_ns(&clock_system);
    assert_int_equal(send(fd, request, strlen(request), 0), strlen(request));
    const ssize_t first = recv(fd, answer, sizeof answer - 1, 0);
    const double seconds = (double)(clock_now_ns(&clock_system) - begun_ns) / NS_PER_S;
    assert_true(first > 0);
    answer[n += (size_t)first] = 0;
    for (const char *end; !(end = strstr(answer, "\r\n\r\n")) || !end[4]; answer[n] = 0) {
        const ssize_t more = recv(fd, answer + n, sizeof answer - 1 - n, 0);
        assert_true(more > 0);
        n += (size_t)more;
    }
    return seconds;
}

static double least_raw_s(const char *url)
{
    char request[PROBE_MOST_URL + 100];
    const char *page = strchr(url + strlen("http://"), '/');
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    double least_s = HUGE_VAL;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_port = htons((uint16_t)atoi(strchr(url + strlen("http://"), ':') + 1));
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    snprintf(request, sizeof request, "GET %s/bytes?n=1 HTTP/1.1\r\nHost: localhost\r\n\r\n", page);
    for (int i = 0; i < 40; i++)
        least_s = fmin(least_s, ask_raw(fd, request));
    close(fd);
    return least_s;
}

/* On one processor the port's thread has often answered before the sender goes on. */
static void a_latency_is_what_a_small_message_takes_there_and_back(void **state)
{
    (void)state;
    struct probing p = {0};
    cpu_set_t all, one;
    unsigned whole = 0;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(open_port(&p, NULL), ESP_OK);
    const double raw_s = least_raw_s(probe_port_url(p.port));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(probe(&p, probe_port_url(p.port), NULL, 5000), ESP_OK);
        whole += p.measurement.latency_ms / 1e3 >= raw_s / 2;
    }
    assert_true(whole >= 2);
    probe_port_close(p.port);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

struct told_between {
    unsigned n;
    struct path path;
};

static void on_between(void *self, const char *child, const char *brother, const struct path *path)
{
    struct told_between *told = self;
    assert_string_equal(child, "a");
    assert_string_equal(brother, "b");
    told->n++;
    told->path = *path;
}

static bool no_parent(void *self, char name[PROBE_MOST_NAME + 1], char url[PROBE_MOST_URL + 1])
{
    (void)self;
    *name = *url = 0;
    return false;
}

/* A child that tells nonsense does not spoil what is known, whatever it sends. */
static void what_children_cannot_have_measured_is_left_out(void **state)
{
    (void)state;
    static const char *const nonsense[] = {"nan nan nan", "1 inf 30",          "-1 2 30",
                                           "1 2 -30",     "1e300 1e300 1e300", "1 2 1e300",
                                           "0 0 0",       "1 0x1p2000 30",     "1 4000000000 1"};
    struct told_between told = {0};
    const struct links_options options = {
        .name = "MA", .listen = "127.0.0.1:1", .probe = "127.0.0.1:0", .every_ns = 3600 * NS_PER_S};
    const struct links_ops ops = {.self = &told, .parent = no_parent, .between = on_between};
    struct links *links;
    struct esp_error error;
    char text[200];
    assert_int_equal(links_create(&options, &links, &error), ESP_OK);
    assert_int_equal(links_start(links, &ops, &error), ESP_OK);
    const char *url = links_url(links);
    assert_int_equal(probe_post(url, NULL, "done", "a\nb 1 2 30\n", 5000, NULL, 0, &error), ESP_OK);
    assert_int_equal(told.n, 1);
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        snprintf(text, sizeof text, "a\nb %s\n", nonsense[i]);
        assert_int_equal(probe_post(url, NULL, "done", text, 5000, NULL, 0, &error), ESP_OK);
    }
    assert_int_equal(told.n, 1);
    assert_int_equal(probe_post(url, NULL, "done", "a\nb 1 2 30\n", 5000, NULL, 0, &error), ESP_OK);
    links_destroy(links);
    assert_int_equal(told.n, 2);
    assert_true(told.path.latency_s == 1e-3 && told.path.bandwidth_bps == 30e6 / 8);
}

/* A child of which data pass, or do not. */
struct busy_child {
    const char *parent_url;
    bool moves;
    atomic_uint looks, told;
};

static bool parent_of(void *self, char name[PROBE_MOST_NAME + 1], char url[PROBE_MOST_URL + 1])
{
    const struct busy_child *child = self;
    strcpy(name, "MA");
    snprintf(url, PROBE_MOST_URL + 1, "%s", child->parent_url);
    return true;
}

static void on_link(void *self, const struct path *path)
{
    struct busy_child *child = self;
    if (path->latency_s > 0)
        atomic_fetch_add(&child->told, 1);
}

static uint64_t traffic_of(void *self, bool *moves)
{
    struct busy_child *child = self;
    *moves = child->moves;
    atomic_fetch_add(&child->looks, 1);
    return 0;
}

/* Measurements from the data of calls do not count any more once the link itself has been measured. */
static void a_probe_beside_data_of_calls_does_not_count(void **state)
{
    (void)state;
    const struct links_options above = {
        .name = "MA", .listen = "127.0.0.1:1", .probe = "127.0.0.1:0", .every_ns = 3600 * NS_PER_S};
    const struct links_options below = {.name = "c",
                                        .listen = "127.0.0.1:1",
                                        .probe = "127.0.0.1:0",
                                        .every_ns = 3600 * NS_PER_S,
                                        .learns = true};
    const struct links_ops no_ops = {.self = NULL, .parent = no_parent};
    struct links *parent, *links;
    struct esp_error error;
    struct path path;
    assert_int_equal(links_create(&above, &parent, &error), ESP_OK);
    assert_int_equal(links_start(parent, &no_ops, &error), ESP_OK);
    for (int moves = 0; moves < 2; moves++) {
        struct busy_child child = {.parent_url = links_url(parent), .moves = moves};
        const struct links_ops ops = {
            .self = &child, .parent = parent_of, .to_parent = on_link, .traffic = traffic_of};
        assert_int_equal(links_create(&below, &links, &error), ESP_OK);
        assert_true(links_learn(links, "MA", 50000000, 0.5, &path));
        assert_int_equal(links_start(links, &ops, &error), ESP_OK);
        /* Before and behind the way there, and the way back. */
        while (atomic_load(&child.looks) < 4)
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        links_destroy(links);
        assert_int_equal(atomic_load(&child.told), !moves);
    }
    links_destroy(parent);
}

/* The parent is at another address than the first one reported. */
struct lost_child {
    const char *parent_url;
    _Atomic int asked, told;
};

static bool parent_found_late(void *self, char name[PROBE_MOST_NAME + 1], char url[PROBE_MOST_URL + 1])
{
    struct lost_child *child = self;
    snprintf(name, PROBE_MOST_NAME + 1, "MA");
    const bool first = atomic_fetch_add(&child->asked, 1) == 0;
    snprintf(url, PROBE_MOST_URL + 1, "%s", first ? "http://127.0.0.1:1/" : child->parent_url);
    return true;
}

static void on_found(void *self, const struct path *path)
{
    struct lost_child *child = self;
    (void)path;
    atomic_fetch_add(&child->told, 1);
}

/* A round without any result is no reason to wait as long as after a complete one. */
static void a_turn_that_failed_is_tried_again_soon(void **state)
{
    (void)state;
    const struct links_options above = {
        .name = "MA", .listen = "127.0.0.1:1", .probe = "127.0.0.1:0", .every_ns = 3600 * NS_PER_S};
    const struct links_options below = {
        .name = "c", .listen = "127.0.0.1:1", .probe = "127.0.0.1:0", .every_ns = 3600 * NS_PER_S};
    const struct links_ops no_ops = {.self = NULL, .parent = no_parent};
    struct links *parent, *links;
    struct esp_error error;
    assert_int_equal(links_create(&above, &parent, &error), ESP_OK);
    assert_int_equal(links_start(parent, &no_ops, &error), ESP_OK);
    struct lost_child child = {.parent_url = links_url(parent)};
    const struct links_ops ops = {.self = &child, .parent = parent_found_late, .to_parent = on_found};
    assert_int_equal(links_create(&below, &links, &error), ESP_OK);
    assert_int_equal(links_start(links, &ops, &error), ESP_OK);
    for (int i = 0; i < 6000 && atomic_load(&child.told) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_int_equal(atomic_load(&child.told), 1);
    assert_true(atomic_load(&child.asked) > 1);
    links_destroy(links);
    links_destroy(parent);
}

/* An authority of its own, NAME.pem and NAME.key in the folder. */
static bool make_certificate(const char *folder, const char *name)
{
    char command[512];
    snprintf(command, sizeof command,
             "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=%s "
             "-keyout %s/%s.key -out %s/%s.pem >%s/out 2>&1",
             name, folder, name, folder, name, folder);
    return system(command) == 0;
}

static void a_port_with_tls_is_vouched_for(void **state)
{
    (void)state;
    char folder[] = "/tmp/espalier-probe-XXXXXX", own[64], key[64], other[64], nowhere[64], command[64];
    struct probing p = {0};
    assert_non_null(mkdtemp(folder));
    assert_true(make_certificate(folder, "own") && make_certificate(folder, "other"));
    snprintf(own, sizeof own, "%s/own.pem", folder);
    snprintf(key, sizeof key, "%s/own.key", folder);
    snprintf(other, sizeof other, "%s/other.pem", folder);
    snprintf(nowhere, sizeof nowhere, "%s/nowhere.pem", folder);
    const struct probe_tls tls = {own, own, key}, stranger = {other, other, key}, none = {own, nowhere, key};
    assert_int_equal(open_port(&p, &stranger), ESP_SECURITY);
    assert_int_not_equal(open_port(&p, &none), ESP_OK);
    assert_non_null(strstr(p.error.text, "nowhere.pem"));
    assert_int_equal(open_port(&p, &tls), ESP_OK);
    const char *url = probe_port_url(p.port);
    assert_int_equal(strncmp(url, "https://", 8), 0);
    assert_int_equal(probe(&p, url, &tls, 5000), ESP_OK);
    assert_true(p.measurement.latency_ms > 0 && p.measurement.connect_ms > 0 && p.measurement.bandwidth > 10);
    assert_int_equal(probe_post(url, &tls, "done", "a\nMA 1 2 3\n", 5000, NULL, 0, &p.error), ESP_OK);
    assert_int_equal(p.heard.n, 1);
    assert_int_equal(probe(&p, url, &stranger, 5000), ESP_SECURITY);
    char plain[PROBE_MOST_URL + 1];
    snprintf(plain, sizeof plain, "http%s", url + strlen("https"));
    assert_int_not_equal(probe(&p, plain, NULL, 2000), ESP_OK);
    probe_port_close(p.port);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void a_port_serves_only_so_much(void **state)
{
    (void)state;
    struct probing p = {0};
    unsigned served = 0;
    assert_int_equal(open_port(&p, NULL), ESP_OK);
    const char *url = probe_port_url(p.port);
    for (unsigned i = 0; i < 30; i++) {
        served += probe(&p, url, NULL, 5000) == ESP_OK;
        if (p.error.status == ESP_REFUSED && served < i + 1)
            break;
    }
    assert_true(served < 30);
    probe_port_close(p.port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_series_goes_on_after_a_restart, make_name, remove_files),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test_setup_teardown(a_clock_that_jumps_changes_nothing, make_name, remove_files),
        cmocka_unit_test_setup_teardown(a_damaged_ring_is_set_aside_and_its_whole_records_used, make_name,
                                        remove_files),
        cmocka_unit_test_setup_teardown(what_is_whole_is_used_whatever_is_not, make_name, remove_files),
        cmocka_unit_test(a_rate_is_found_again_from_the_time_it_makes),
        cmocka_unit_test(chunks_take_round_trips_and_slow_start),
        cmocka_unit_test(ways_that_nobody_measured_are_the_shortest_over_links),
        cmocka_unit_test(transfers_count_as_measurements),
        cmocka_unit_test(a_transfer_in_which_an_end_was_stopped_does_not_count),
        cmocka_unit_test(links_that_are_measured_no_more_make_room),
        cmocka_unit_test(a_port_serves_those_who_know_it),
        cmocka_unit_test(a_latency_is_what_a_small_message_takes_there_and_back),
        cmocka_unit_test(what_children_cannot_have_measured_is_left_out),
        cmocka_unit_test(a_probe_beside_data_of_calls_does_not_count),
        cmocka_unit_test(a_turn_that_failed_is_tried_again_soon),
        cmocka_unit_test(a_port_with_tls_is_vouched_for),
        cmocka_unit_test(a_port_serves_only_so_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
