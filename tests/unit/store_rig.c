/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "tests/unit/store_rig.h"

#include "util/random.h"

#include <stdlib.h>

const struct store_asker rig_alice = {.identity = "alice", .client = {1, 1}};
const struct store_asker rig_bob = {.identity = "bob", .client = {2, 2}};
const struct store_asker rig_server = {.identity = "node8", .trusted = true};

static void on_changed(void *arg)
{
    ((struct rig *)arg)->changed++;
}

static void on_news(void *arg, const struct datum_id *id, uint64_t bytes, enum store_news news)
{
    struct rig *rig = arg;
    (void)bytes;
    rig->arrived += news == STORE_ARRIVED;
    rig->gone += news != STORE_ARRIVED;
    rig->damaged += news == STORE_DAMAGED;
    if (news != STORE_ARRIVED)
        rig->last_gone = *id;
}

enum esp_status rig_open(struct rig *rig, struct esp_error *error)
{
    rig->options.files = rig->disk ? disk_mount(rig->disk) : NULL;
    return store_create(&rig->options, &rig->store, error);
}

void assert_says(const struct esp_error *error, const char *words)
{
    if (!strstr(error->text, words))
        fail_msg("expected \"%s\" in \"%s\"", words, error->text);
}

void rig_create(struct rig *rig, uint64_t seed, uint64_t pages, uint64_t disk_bytes)
{
    struct segments_options pool = {.idle_bytes = 1 << 20, .idle_segments = 4};
    memset(rig, 0, sizeof *rig);
    assert_int_equal(segments_create(&pool, &rig->segments, NULL), ESP_OK);
    manual_clock_init(&rig->clock, 1000 * NS_PER_S);
    rig->disk = disk_bytes ? disk_create(seed) : NULL;
    rig->options = (struct store_options){.node = "node7",
                                          .segments = rig->segments,
                                          .clock = &rig->clock.clock,
                                          .memory_bytes = pages * RIG_PAGE,
                                          .disk_bytes = disk_bytes,
                                          .client_lease_ns = 60 * NS_PER_S,
                                          .put_lease_ns = 30 * NS_PER_S,
                                          .changed = on_changed,
                                          .news = on_news,
                                          .arg = rig};
    assert_int_equal(rig_open(rig, NULL), ESP_OK);
}

void rig_close(struct rig *rig)
{
    store_destroy(rig->store);
    rig->store = NULL;
}

void rig_destroy(struct rig *rig)
{
    struct segments_counters counters;
    rig_close(rig);
    segments_count(rig->segments, &counters);
    assert_int_equal(counters.in_use, 0); /* nothing leaks */
    segments_destroy(rig->segments);
    if (rig->disk)
        disk_destroy(rig->disk);
}

struct store_new rig_new(uint64_t bytes, enum datum_mode mode, uint32_t flags)
{
    return (struct store_new){
        .shape = {.type = TYPE_CHAR, .n_dims = 1, .dims = {(int64_t)bytes}, .bytes = bytes},
        .mode = mode,
        .flags = flags,
        .created_s = 1700000000};
}

static uint8_t *content(const struct datum_id *id, uint64_t bytes)
{
    struct random random;
    uint8_t *data = malloc(bytes + 8);
    assert_non_null(data);
    random_seed(&random, id->key.low ^ bytes);
    for (uint64_t i = 0; i < bytes; i += 8) {
        uint64_t word = random_next(&random);
        memcpy(data + i, &word, 8);
    }
    return data;
}

bool rig_is_content(const struct datum_id *id, const void *data, uint64_t bytes)
{
    uint8_t *expected = content(id, bytes);
    bool same = memcmp(expected, data, bytes) == 0;
    free(expected);
    return same;
}

void rig_fill_memory(const struct datum_id *id, void *memory, uint64_t bytes)
{
    uint8_t *data = content(id, bytes);
    memcpy(memory, data, bytes);
    free(data);
}

enum esp_status rig_begin(struct rig *rig, const struct store_asker *asker, const struct store_new *new_datum,
                          struct datum_id *id, struct esp_error *error)
{
    return store_begin(rig->store, asker, new_datum, id, error);
}

enum esp_status rig_fill(struct rig *rig, const struct store_asker *asker, const struct datum_id *id,
                         uint64_t bytes, struct esp_error *error)
{
    uint8_t *data = content(id, bytes);
    uint64_t piece = (1 + id->key.high % 5000) * (1 + 100 * (bytes >> 20)), n = (bytes + piece - 1) / piece;
    enum esp_status status = ESP_OK;
    for (uint64_t i = 0; status == ESP_OK && i < n; i++) {
        uint64_t at = (id->key.high & 1 ? n - 1 - i : i) * piece;
        uint64_t size = at + piece < bytes ? piece : bytes - at;
        status = store_write(rig->store, asker, id->key, at, data + at, size, error);
    }
    free(data);
    return status;
}

enum esp_status rig_commit(struct rig *rig, const struct store_asker *asker, const struct datum_id *id,
                           struct esp_error *error)
{
    struct store_work *work;
    enum esp_status status = store_commit(rig->store, asker, id->key, &work, error);
    if (!work)
        return status;
    store_work_do(work);
    return store_work_end(rig->store, work, error);
}

enum esp_status rig_put(struct rig *rig, const struct store_asker *asker, uint64_t bytes,
                        enum datum_mode mode, uint32_t flags, struct datum_id *id, struct esp_error *error)
{
    struct store_new new_datum = rig_new(bytes, mode, flags);
    enum esp_status status = rig_begin(rig, asker, &new_datum, id, error);
    if (status == ESP_OK)
        status = rig_fill(rig, asker, id, bytes, error);
    return status == ESP_OK ? rig_commit(rig, asker, id, error) : status;
}

enum esp_status rig_pin(struct rig *rig, const struct store_asker *asker, const struct datum_id *id,
                        struct store_pin **pin, struct esp_error *error)
{
    struct store_work *work;
    enum esp_status status = store_open(rig->store, asker, id, pin, &work, error);
    if (status != ESP_OK || !work)
        return status;
    store_work_do(work);
    return store_work_end(rig->store, work, error);
}

enum esp_status rig_check_pieces(struct rig *rig, const struct store_asker *asker, const struct datum_id *id,
                                 uint64_t piece_bytes, struct esp_error *error)
{
    struct store_pin *pin;
    enum esp_status status = store_open_reader(rig->store, asker, id, &pin, error);
    if (status != ESP_OK)
        return status;
    uint64_t bytes = store_pin_shape(pin)->bytes;
    uint8_t *expected = content(id, bytes);
    bool same = true;
    for (uint64_t at = 0; status == ESP_OK && at < bytes; at += piece_bytes) {
        struct store_piece piece;
        uint64_t size = at + piece_bytes < bytes ? piece_bytes : bytes - at;
        assert_int_equal(store_pin_area(pin, at, size, &piece, error), ESP_OK);
        status = store_piece_read(&piece, error);
        same = same && (status != ESP_OK || memcmp(piece.memory, expected + at, size) == 0);
        store_pin_area_done(rig->store, pin, &piece, status == ESP_OK);
    }
    free(expected);
    store_release(rig->store, pin, false);
    return status != ESP_OK || same ? status : error_set(error, ESP_FAILED, "wrong bytes");
}

enum esp_status rig_check(struct rig *rig, const struct store_asker *asker, const struct datum_id *id,
                          struct esp_error *error)
{
    struct store_pin *pin;
    enum esp_status status = rig_pin(rig, asker, id, &pin, error);
    if (status != ESP_OK)
        return status;
    struct store_piece all;
    uint64_t bytes = store_pin_memory(pin)->bytes;
    assert_int_equal(store_pin_area(pin, 0, bytes, &all, NULL), ESP_OK);
    bool same = rig_is_content(id, all.memory, bytes);
    store_pin_area_done(rig->store, pin, &all, true);
    store_release(rig->store, pin, false);
    return same ? ESP_OK : error_set(error, ESP_FAILED, "wrong bytes");
}
