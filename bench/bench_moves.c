/* SPDX-License-Identifier: Apache-2.0
 *
 * A datum of 1 GB from server to server, there and back, against two plain connections with chunks of the
 * same size. "over TCP" goes over an address of this machine that is not loopback, where chunks carry
 * checksums, as they do between hosts.
 *
 *   bench_moves [ROUNDS [MEGABYTES]]
 */
#include "bench/bench.h"
#include "bench/platform.h"
#include "bench/raw_tcp.h"
#include "espalier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB ((uint64_t)1000000)

struct moving {
    struct raw_tcp raw;
    char *id;
    char *memory;
    uint64_t bytes;
    bool there; /* on the second server */
};

static double ours(void *context, size_t n)
{
    struct moving *moving = context;
    double start = bench_now();
    for (size_t i = 0; i < n; i++) {
        moving->there = !moving->there;
        if (esp_data_copy(moving->id, moving->there ? "second" : "server", 1, NULL, NULL) != ESP_OK)
            bench_fail("a move failed: %s", esp_last_error()->text);
    }
    return (double)(n * moving->bytes) / 1e6 / (bench_now() - start);
}

static double theirs(void *context, size_t n)
{
    struct moving *moving = context;
    double seconds = 0;
    for (size_t i = 0; i < n; i++)
        seconds += raw_tcp_put(&moving->raw, moving->memory, moving->bytes, false);
    return (double)(n * moving->bytes) / 1e6 / seconds;
}

static void run(const struct bench_case *which, const char *host, uint64_t bytes, size_t rounds)
{
    static const char lines[] = "memory = \"8 GB\"\nstore_memory = \"3 GB\"\n";
    struct platform platform;
    struct moving moving = {.bytes = bytes, .memory = malloc(bytes)};
    if (!moving.memory)
        bench_fail("no memory");
    memset(moving.memory, 1, bytes);
    raw_tcp_start(&moving.raw, RAW_PLAIN, host, 2, bytes);
    platform_start(&platform,
                   &(struct platform_options){.host = host, .server = lines, .second_server = true});
    struct esp_argument array = {
        .type = ESP_TYPE_DOUBLE, .n_dims = 1, .dims = {(int64_t)(bytes / 8)}, .data = moving.memory};
    if (grpc_initialize(platform.client_conf) != GRPC_NO_ERROR ||
        esp_data_put("server", &array, ESP_DATA_VOLATILE, NULL, NULL, &moving.id) != ESP_OK)
        bench_fail("%s", esp_last_error()->text);
    ours(&moving, 4); /* then both have their memory */
    theirs(&moving, 2);
    bench_compare(which, ours, &moving, theirs, &moving, 2, rounds);
    free(moving.id);
    grpc_finalize();
    platform_stop(&platform);
    raw_tcp_stop(&moving.raw);
    free(moving.memory);
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 1 ? (size_t)atoi(argv[1]) : 3;
    uint64_t bytes = (argc > 2 ? (uint64_t)atoi(argv[2]) : 1000) * MB;
    const struct bench_case over_tcp = {"moves", "server to server over TCP, 1 GB", "MB/s", BENCH_AT_LEAST,
                                        0.85},
                            one_host = {"moves", "server to server, one host, 1 GB", "MB/s", BENCH_AT_LEAST,
                                        0.85};
    run(&over_tcp, bench_own_address(), bytes, rounds);
    run(&one_host, "127.0.0.1", bytes, rounds);
    return 0;
}
