/* SPDX-License-Identifier: Apache-2.0
 *
 * What a store adds to moving bytes: a put of 64 MB against a copy of them, a durable one against writing and
 * syncing a file, reading a datum again from its file against reading that file.
 */
#include "bench/bench.h"
#include "services/data/store.h"

#include "util/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 64 << 20, PIECE = 4 << 20 };

static struct {
    struct segments *segments;
    struct store *store;
    struct store_asker asker;
    struct datum_id last;
    uint8_t *data, *touched;
    char folder[64], path[80];
} own;

static void must(enum esp_status status, const struct esp_error *error)
{
    if (status != ESP_OK)
        bench_fail("%s", error->text);
}

static void end(struct store_work *work)
{
    struct esp_error error;
    if (!work)
        return;
    store_work_do(work);
    must(store_work_end(own.store, work, &error), &error);
}

static void put(enum datum_mode mode)
{
    struct store_new new_datum = {.shape = {.type = TYPE_CHAR, .n_dims = 1, .dims = {BYTES}, .bytes = BYTES},
                                  .mode = mode};
    struct store_work *work;
    struct esp_error error;
    must(store_begin(own.store, &own.asker, &new_datum, &own.last, &error), &error);
    for (uint64_t at = 0; at < BYTES; at += PIECE)
        must(store_write(own.store, &own.asker, own.last.key, at, own.data + at, PIECE, &error), &error);
    must(store_commit(own.store, &own.asker, own.last.key, &work, &error), &error);
    end(work);
}

static void drop(void)
{
    struct esp_error error;
    must(store_delete(own.store, &own.asker, &own.last, &error), &error);
}

static double put_volatile(void *context, size_t n)
{
    double start = bench_now();
    (void)context;
    for (size_t i = 0; i < n; i++) {
        put(DATUM_VOLATILE);
        drop();
    }
    return (bench_now() - start) / (double)n * 1e3;
}

static double copy(void *context, size_t n)
{
    double start = bench_now();
    (void)context;
    for (size_t i = 0; i < n; i++)
        for (uint64_t at = 0; at < BYTES; at += PIECE)
            memcpy(own.touched + at, own.data + at, PIECE);
    return (bench_now() - start) / (double)n * 1e3;
}

static double put_durable(void *context, size_t n)
{
    double seconds = 0;
    (void)context;
    for (size_t i = 0; i < n; i++) {
        double start = bench_now();
        put(DATUM_PERSISTENT);
        seconds += bench_now() - start;
        drop();
    }
    return seconds / (double)n * 1e3;
}

static double write_file(void *context, size_t n)
{
    double seconds = 0;
    (void)context;
    for (size_t i = 0; i < n; i++) {
        double start = bench_now();
        memcpy(own.touched, own.data, BYTES);
        int fd = open(own.path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
        for (uint64_t at = 0; at < BYTES; at += PIECE)
            if (pwrite(fd, own.touched + at, PIECE, (off_t)at) != PIECE)
                bench_fail("cannot write %s", own.path);
        fsync(fd);
        close(fd);
        seconds += bench_now() - start;
        if (i + 1 < n)
            unlink(own.path);
    }
    return seconds / (double)n * 1e3;
}

/* What pushes the datum out of memory: another one of the same size. */
static double read_again(void *context, size_t n)
{
    struct datum_id wanted, other;
    double seconds = 0;
    (void)context;
    put(DATUM_PERSISTENT);
    wanted = own.last;
    for (size_t i = 0; i < n; i++) {
        struct store_pin *pin;
        struct store_work *work;
        struct esp_error error;
        put(DATUM_PERSISTENT);
        other = own.last;
        double start = bench_now();
        must(store_open(own.store, &own.asker, &wanted, &pin, &work, &error), &error);
        if (!work)
            bench_fail("the datum was in memory");
        end(work);
        seconds += bench_now() - start;
        store_release(own.store, pin, false);
        own.last = other;
        drop();
    }
    own.last = wanted;
    drop();
    return seconds / (double)n * 1e3;
}

static double read_file(void *context, size_t n)
{
    double start = bench_now();
    int fd = open(own.path, O_RDONLY);
    (void)context;
    for (size_t i = 0; i < n; i++)
        for (uint64_t at = 0; at < BYTES; at += PIECE)
            if (pread(fd, own.touched + at, PIECE, (off_t)at) != PIECE)
                bench_fail("cannot read %s", own.path);
    close(fd);
    return (bench_now() - start) / (double)n * 1e3;
}

static void set_up(void)
{
    struct segments_options pool = {.idle_bytes = 2 * (uint64_t)BYTES, .idle_segments = 4};
    struct esp_error error;
    struct store_options options = {
        .node = "bench", .clock = &clock_system, .memory_bytes = BYTES + (1 << 20), .disk_bytes = 1 << 30};
    strcpy(own.folder, "/tmp/espalier-bench-XXXXXX");
    if (!mkdtemp(own.folder) || !(own.data = malloc(BYTES)) || !(own.touched = malloc(BYTES)))
        bench_fail("no folder or no memory");
    snprintf(own.path, sizeof own.path, "%s/reference", own.folder);
    memset(own.data, 7, BYTES);
    memset(own.touched, 1, BYTES);
    own.asker = (struct store_asker){.identity = "bench", .client = {1, 1}};
    must(segments_create(&pool, &own.segments, &error), &error);
    must(files_posix_create(own.folder, &options.files, &error), &error);
    options.segments = own.segments;
    must(store_create(&options, &own.store, &error), &error);
}

int main(void)
{
    struct log_options quiet = {.node = "bench", .path = "/dev/null", .level = LOG_ERROR_LEVEL};
    char command[96];
    log_open(&quiet, NULL);
    set_up();
    bench_compare(
        &(struct bench_case){"store_speed", "put 64 MB into recycled memory; a copy", "ms", BENCH_SHOWN, 0},
        put_volatile, NULL, copy, NULL, 3, 9);
    bench_compare(
        &(struct bench_case){"store_speed", "put 64 MB durable; write and sync", "ms", BENCH_SHOWN, 0},
        put_durable, NULL, write_file, NULL, 1, 7);
    bench_compare(
        &(struct bench_case){"store_speed", "read 64 MB again; read the file", "ms", BENCH_SHOWN, 0},
        read_again, NULL, read_file, NULL, 2, 7);
    store_destroy(own.store);
    segments_destroy(own.segments);
    snprintf(command, sizeof command, "rm -rf '%s'", own.folder);
    return system(command) != 0;
}
