/* SPDX-License-Identifier: Apache-2.0
 *
 * Large arguments and results of calls, against plain sockets with chunks of the same size.
 *
 * "over TCP" goes over an address of this machine that is not loopback, where chunks carry checksums, as they
 * do between hosts; "one host" over 127.0.0.1, where processes of one user find shorter ways.
 *
 * Beside the rows over TLS stands what OpenSSL alone reaches with two connections: bare SSL_write() and
 * SSL_read() in chunks of 4 MiB, measured in turns with ours and with the same reference. Beside those over
 * TCP into recycled memory stands what two plain connections reach with a CRC32C and an acknowledgement for
 * each chunk.
 *
 *   bench_bulk [TEXT [ROUNDS]]    only the cases whose name holds the text
 */
#include "bench/bench.h"
#include "bench/platform.h"
#include "bench/raw_tcp.h"
#include "espalier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MB          ((uint64_t)1000000)
#define MOST_ROUNDS 99

struct moving {
    grpc_function_handle_t take, give;
    struct raw_tcp raw;
    bool in, fresh;
    double *data;
    uint64_t bytes;
};

/* OpenSSL alone, and sums alone. Their children are forked before there are threads of the ORB, which may be
 * inside OpenSSL. */
static struct raw_tcp bare_tls, bare_sums;

/* Megabytes a second. */
static double ours(void *context, size_t n)
{
    struct moving *moving = context;
    grpc_function_handle_t *handle = moving->in ? &moving->take : &moving->give;
    double start = bench_now();
    for (size_t i = 0; i < n; i++)
        if (grpc_call(handle, (int)(moving->bytes / 8), moving->data) != GRPC_NO_ERROR)
            bench_fail("a call failed: %s", esp_last_error()->text);
    return (double)(n * moving->bytes) / 1e6 / (bench_now() - start);
}

static double raw(struct moving *moving, struct raw_tcp *way, size_t n)
{
    double seconds = 0;
    for (size_t i = 0; i < n; i++)
        seconds += moving->in ? raw_tcp_put(way, (char *)moving->data, moving->bytes, moving->fresh)
                              : raw_tcp_get(way, (char *)moving->data, moving->bytes, moving->fresh);
    return (double)(n * moving->bytes) / 1e6 / seconds;
}

static double theirs(void *context, size_t n)
{
    struct moving *moving = context;
    return raw(moving, &moving->raw, n);
}

/* Ours and, for orientation, what is alone over two connections, in turns with the same reference. */
static void compare_with_bare(const struct bench_case *which, struct moving *moving, struct raw_tcp *bare,
                              size_t rounds)
{
    double figures[3][MOST_ROUNDS];
    char name[128];
    raw(moving, bare, 1);
    rounds = rounds < MOST_ROUNDS ? rounds : MOST_ROUNDS;
    for (size_t i = 0; i < rounds; i++) {
        figures[0][i] = ours(moving, 1);
        figures[1][i] = raw(moving, &moving->raw, 1);
        figures[2][i] = raw(moving, bare, 1);
    }
    const double reference = bench_median(figures[1], rounds);
    bench_row(which, bench_median(figures[0], rounds), reference);
    snprintf(name, sizeof name, "%s: %s alone", which->name, bare == &bare_tls ? "OpenSSL" : "sums");
    const struct bench_case alone = {which->benchmark, name, which->unit, BENCH_SHOWN, 0};
    bench_row(&alone, bench_median(figures[2], rounds), reference);
}

struct way {
    const char *name;
    bool one_host;
    bool fresh;
    int connections; /* of the reference */
    double bound;
    bool tls;
};

/* "recycled": the server has the memory from the call before; "fresh": it may keep none. */
static const struct way ways[] = {
    {"over TCP, recycled", false, false, 2, 0.9, false},
    {"over TCP, fresh", false, true, 2, 1.0, false},
    {"over TLS, recycled", false, false, 1, 0.45, true},
    {"one host, recycled", true, false, 1, 1.3, false},
};

static const struct {
    const char *name;
    uint64_t bytes;
    size_t rounds;
} sizes[] = {{"64 MB", 64 * MB, 7}, {"256 MB", 256 * MB, 5}, {"1 GB", 1000 * MB, 3}};

/* The server may keep a quarter of its memory in unused segments: for fresh ones that must be too little. */
static const char *memory_line(bool fresh, uint64_t bytes)
{
    static char line[64];
    snprintf(line, sizeof line, "memory = \"%llu MB\"\n",
             (unsigned long long)((fresh ? 2 * bytes : 8 * bytes) / MB));
    return line;
}

static void start(struct platform *platform, struct moving *moving, const struct platform_options *options)
{
    platform_start(platform, options);
    if (grpc_initialize(platform->client_conf) != GRPC_NO_ERROR ||
        grpc_function_handle_default(&moving->take, "bench_take") != GRPC_NO_ERROR ||
        grpc_function_handle_default(&moving->give, "bench_give") != GRPC_NO_ERROR)
        bench_fail("%s", esp_last_error()->text);
}

static void *memory_for(uint64_t bytes, bool lent)
{
    void *memory = lent ? esp_alloc(bytes) : malloc(bytes);
    if (!memory)
        bench_fail("no memory for %llu MB", (unsigned long long)(bytes / MB));
    memset(memory, 1, bytes);
    return memory;
}

/* From and into memory of esp_alloc() nothing moves: a call of 1 GB takes as long as one of 16 MB. */
static double milliseconds(void *context, size_t n)
{
    struct moving *moving = context;
    return (double)(n * moving->bytes) / 1e3 / ours(context, n);
}

static void run_lent(bool in, size_t rounds)
{
    const struct bench_case which = {"bulk",
                                     in ? "argument in, one host, esp_alloc, 1 GB against 16 MB"
                                        : "result out, one host, esp_alloc, 1 GB against 16 MB",
                                     "ms", BENCH_AT_MOST, 2};
    struct platform platform;
    struct moving large = {.in = in, .bytes = 1000 * MB}, small = {.in = in, .bytes = 16 * MB};
    start(&platform, &large,
          &(struct platform_options){.host = "127.0.0.1", .server = memory_line(false, large.bytes)});
    small.take = large.take;
    small.give = large.give;
    large.data = memory_for(large.bytes, true);
    small.data = memory_for(small.bytes, true);
    milliseconds(&large, 1);
    milliseconds(&small, 1);
    bench_compare(&which, milliseconds, &large, milliseconds, &small, 20, rounds ? rounds : 7);
    grpc_finalize();
    platform_stop(&platform);
    esp_free(large.data);
    esp_free(small.data);
}

static void run(const struct way *way, size_t size, bool in, size_t rounds)
{
    char name[96];
    struct platform platform;
    struct moving moving = {.in = in, .fresh = way->fresh, .bytes = sizes[size].bytes};
    const char *host = way->one_host ? "127.0.0.1" : bench_own_address();
    snprintf(name, sizeof name, "%s %s, %s", in ? "argument in" : "result out", way->name, sizes[size].name);
    moving.data = memory_for(moving.bytes, false);
    raw_tcp_start(&moving.raw, RAW_PLAIN, host, way->connections, moving.bytes);
    start(&platform, &moving,
          &(struct platform_options){
              .host = host, .server = memory_line(way->fresh, moving.bytes), .tls = way->tls});
    ours(&moving, 1);
    theirs(&moving, 1);
    const struct bench_case which = {"bulk", name, "MB/s", BENCH_AT_LEAST, way->bound};
    rounds = rounds ? rounds : sizes[size].rounds;
    if (way->tls)
        compare_with_bare(&which, &moving, &bare_tls, rounds);
    else if (!way->one_host && !way->fresh)
        compare_with_bare(&which, &moving, &bare_sums, rounds);
    else
        bench_compare(&which, ours, &moving, theirs, &moving, 1, rounds);
    grpc_finalize();
    platform_stop(&platform);
    raw_tcp_stop(&moving.raw);
    free(moving.data);
}

/* What each side has at most beyond the caller's buffer and the server's copy of it. */
static void run_memory(void)
{
    const struct bench_case at_client = {"bulk", "peak of the client beyond 1 GB", "MB", BENCH_GROWS_AT_MOST,
                                         32};
    const struct bench_case at_server = {"bulk", "peak of the server beyond 1 GB", "MB", BENCH_GROWS_AT_MOST,
                                         32};
    struct platform platform;
    struct moving moving = {.in = true, .bytes = 1000 * MB};
    moving.data = memory_for(moving.bytes, false);
    start(
        &platform, &moving,
        &(struct platform_options){.host = bench_own_address(), .server = memory_line(false, moving.bytes)});
    moving.bytes = 1 * MB;
    ours(&moving, 20);
    double client = bench_resident_mb(getpid()), server = bench_resident_mb(platform.server);
    bench_peak_reset(getpid());
    bench_peak_reset(platform.server);
    moving.bytes = 1000 * MB;
    ours(&moving, 3);
    moving.in = false;
    ours(&moving, 3);
    bench_row(&at_client, bench_peak_mb(getpid()), client);
    bench_row(&at_server, bench_peak_mb(platform.server) - 1000, server);
    grpc_finalize();
    platform_stop(&platform);
    free(moving.data);
}

static void run_all(bool tls, const char *text, size_t rounds)
{
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        for (int out = 0; ways[way].tls == tls && out < 2; out++)
            for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
                char name[96];
                snprintf(name, sizeof name, "%s %s, %s", out ? "result out" : "argument in", ways[way].name,
                         sizes[size].name);
                if (strstr(name, text))
                    run(&ways[way], size, !out, rounds);
            }
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 2 ? (size_t)atoi(argv[2]) : 0;
    raw_tcp_start(&bare_tls, RAW_TLS, bench_own_address(), RAW_MOST_CONNECTIONS, 0);
    raw_tcp_start(&bare_sums, RAW_SUMMED, bench_own_address(), RAW_MOST_CONNECTIONS, 0);
    run_all(false, argc > 1 ? argv[1] : "", rounds);
    for (int out = 0; out < 2; out++)
        if (argc < 2 || strstr("esp_alloc", argv[1]))
            run_lent(!out, rounds);
    if (argc < 2 || strstr("peak memory", argv[1]))
        run_memory();
    run_all(true, argc > 1 ? argv[1] : "", rounds); /* last: with TLS once, a process stays with it */
    raw_tcp_stop(&bare_tls);
    raw_tcp_stop(&bare_sums);
    return 0;
}
