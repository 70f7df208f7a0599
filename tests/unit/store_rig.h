/* SPDX-License-Identifier: Apache-2.0
 *
 * A store with all that it stands on in a test's hands: clock, disk, memory.
 */
#ifndef TESTS_STORE_RIG_H
#define TESTS_STORE_RIG_H

#include "services/data/store.h"
#include "tests/unit/crashing_files.h"

#define RIG_PAGE 4096

/* The error's text has these words. */
void assert_says(const struct esp_error *error, const char *words);

struct rig {
    struct segments *segments;
    struct manual_clock clock;
    struct disk *disk;
    struct store_options options;
    struct store *store; /* NULL while it is closed */
    unsigned changed, arrived, gone, damaged;
    struct datum_id last_gone;
};

extern const struct store_asker rig_alice, rig_bob, rig_server;

/* With so many pages of memory and a disk of `disk_bytes`; 0: without a disk. */
void rig_create(struct rig *rig, uint64_t seed, uint64_t pages, uint64_t disk_bytes);
/* Opens the store over the same disk. */
enum esp_status rig_open(struct rig *rig, struct esp_error *error);
void rig_close(struct rig *rig);
void rig_destroy(struct rig *rig);

/* A vector of chars of so many bytes; its content follows from its identity. */
struct store_new rig_new(uint64_t bytes, enum datum_mode mode, uint32_t flags);
enum esp_status rig_begin(struct rig *rig, const struct store_asker *asker, const struct store_new *new_datum,
                          struct datum_id *id, struct esp_error *error);
/* The expected content. */
void rig_fill_memory(const struct datum_id *id, void *memory, uint64_t bytes);
/* Writes all of it, in pieces, in an order that follows from its identity. */
enum esp_status rig_fill(struct rig *rig, const struct store_asker *asker, const struct datum_id *id,
                         uint64_t bytes, struct esp_error *error);
enum esp_status rig_commit(struct rig *rig, const struct store_asker *asker, const struct datum_id *id,
                           struct esp_error *error);
/* All three. */
enum esp_status rig_put(struct rig *rig, const struct store_asker *asker, uint64_t bytes,
                        enum datum_mode mode, uint32_t flags, struct datum_id *id, struct esp_error *error);
/* Opens it, with the disk's part. */
enum esp_status rig_pin(struct rig *rig, const struct store_asker *asker, const struct datum_id *id,
                        struct store_pin **pin, struct esp_error *error);
/* Whether these are the bytes of that datum. */
bool rig_is_content(const struct datum_id *id, const void *data, uint64_t bytes);
/* Opens it, looks at every byte, and releases it. ESP_FAILED: a wrong byte. */
enum esp_status rig_check(struct rig *rig, const struct store_asker *asker, const struct datum_id *id,
                          struct esp_error *error);
/* Reads it in pieces of so many bytes, as readers on other hosts do. */
enum esp_status rig_check_pieces(struct rig *rig, const struct store_asker *asker, const struct datum_id *id,
                                 uint64_t piece_bytes, struct esp_error *error);

#endif
