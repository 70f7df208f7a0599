/* SPDX-License-Identifier: Apache-2.0
 *
 * Durable data that are larger than the store's memory, and readers that take a datum from the disk piece by
 * piece.
 */
#include "tests/unit/unit.h"
#include "tests/unit/store_rig.h"

#include "services/data/datum_file.h"
#include "util/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGES 16
#define LARGE (3 * DATUM_FILE_BLOCK + 777)

static struct rig rig;

static int set_up(void **state)
{
    (void)state;
    rig_create(&rig, 1, PAGES, 64 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rig_destroy(&rig);
    return 0;
}

static struct store_counts counts(void)
{
    struct store_counts now;
    store_count(rig.store, &now);
    return now;
}

static struct datum_id put_large(void)
{
    struct datum_id id;
    struct esp_error error;
    if (rig_put(&rig, &rig_alice, LARGE, DATUM_PERSISTENT, 0, &id, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return id;
}

static void a_durable_datum_may_be_larger_than_the_memory(void **state)
{
    (void)state;
    struct datum_id id = put_large();
    struct esp_error error;
    assert_int_equal(counts().data, 1);
    assert_int_equal(counts().memory_bytes, 0);
    assert_int_equal(rig_check_pieces(&rig, &rig_alice, &id, 4 << 20, NULL), ESP_OK);
    assert_int_equal(rig_check_pieces(&rig, &rig_alice, &id, 300001, NULL), ESP_OK);
    rig_close(&rig);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_int_equal(rig_check_pieces(&rig, &rig_alice, &id, 1 << 20, NULL), ESP_OK);
    assert_int_equal(rig_put(&rig, &rig_alice, LARGE, DATUM_VOLATILE, 0, &id, &error), ESP_NO_MEMORY);
    assert_non_null(strstr(error.text, "can never fit"));
    assert_int_equal(counts().unfinished, 0);
}

static void a_reader_takes_no_memory_and_others_still_load(void **state)
{
    (void)state;
    struct datum_id id;
    struct store_entry entry;
    assert_int_equal(rig_put(&rig, &rig_alice, 5 * RIG_PAGE, DATUM_PERSISTENT, 0, &id, NULL), ESP_OK);
    rig_close(&rig);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_int_equal(rig_check_pieces(&rig, &rig_alice, &id, 1000, NULL), ESP_OK);
    assert_int_equal(counts().memory_bytes, 0);
    assert_int_equal(rig_check(&rig, &rig_alice, &id, NULL), ESP_OK);
    assert_int_equal(counts().memory_bytes, 5 * RIG_PAGE);
    assert_int_equal(store_look(rig.store, &rig_alice, &id, &entry, NULL), ESP_OK);
    assert_int_equal(entry.bytes_out, 2 * 5 * RIG_PAGE);
}

static void a_damaged_block_is_never_served(void **state)
{
    (void)state;
    struct datum_id id = put_large();
    struct store_pin *pin;
    struct store_piece piece;
    struct esp_error error;
    char name[DATUM_FILE_NAME];
    datum_file_name(id.key, true, name);
    assert_true(disk_flip(rig.disk, name, datum_header_bytes(LARGE) + DATUM_FILE_BLOCK + 5));
    assert_int_equal(store_open_reader(rig.store, &rig_alice, &id, &pin, NULL), ESP_OK);
    assert_int_equal(store_pin_area(pin, 0, 100, &piece, NULL), ESP_OK);
    assert_int_equal(store_piece_read(&piece, NULL), ESP_OK); /* the first block is whole */
    store_pin_area_done(rig.store, pin, &piece, true);
    assert_int_equal(store_pin_area(pin, DATUM_FILE_BLOCK - 10, 20, &piece, NULL), ESP_OK);
    assert_int_equal(store_piece_read(&piece, &error), ESP_NOT_FOUND);
    assert_non_null(strstr(error.text, "damaged"));
    store_pin_area_done(rig.store, pin, &piece, false);
    store_release(rig.store, pin, false);
    assert_int_equal(counts().damaged, 1);
    assert_int_equal(counts().data, 0);
    assert_int_equal(counts().disk_bytes, 0);
    assert_int_equal(store_open_reader(rig.store, &rig_alice, &id, &pin, &error), ESP_NOT_FOUND);
    assert_non_null(strstr(error.text, "damaged"));
}

static void who_reads_goes_on_when_it_is_deleted(void **state)
{
    (void)state;
    struct datum_id id = put_large();
    struct store_pin *pin;
    struct store_piece piece;
    assert_int_equal(store_open_reader(rig.store, &rig_alice, &id, &pin, NULL), ESP_OK);
    assert_int_equal(store_pin_area(pin, 0, 1000, &piece, NULL), ESP_OK);
    assert_int_equal(store_piece_read(&piece, NULL), ESP_OK);
    assert_int_equal(store_delete(rig.store, &rig_alice, &id, NULL), ESP_OK);
    store_pin_area_done(rig.store, pin, &piece, true);
    store_release(rig.store, pin, false);
    assert_int_equal(counts().data, 0);
    assert_null(disk_name(rig.disk, 2)); /* the lock and the marker */
}

static void a_transfer_that_is_given_up_leaves_no_file(void **state)
{
    (void)state;
    struct store_new new_datum = rig_new(LARGE, DATUM_STICKY, 0);
    struct datum_id id;
    struct store_piece piece;
    assert_int_equal(rig_begin(&rig, &rig_alice, &new_datum, &id, NULL), ESP_OK);
    assert_int_equal(store_area(rig.store, &rig_alice, id.key, 0, 4096, &piece, NULL), ESP_OK);
    assert_int_equal(store_abort(rig.store, &rig_alice, id.key, NULL), ESP_OK);
    memset(piece.memory, 'x', 4096);
    assert_int_equal(store_piece_write(&piece, NULL), ESP_OK); /* the file stays as long as a piece moves */
    assert_int_equal(store_area_done(rig.store, id.key, &piece, true, NULL), ESP_NOT_FOUND);
    assert_int_equal(counts().disk_bytes, 0);
    assert_null(disk_name(rig.disk, 2));
}

/* After a failure of the disk at the commit what was written may be lost: all of it is asked for again. */
static void a_commit_that_failed_asks_for_all_again(void **state)
{
    (void)state;
    struct store_new new_datum = rig_new(LARGE, DATUM_PERSISTENT, 0);
    struct datum_id id;
    struct range gap;
    assert_int_equal(rig_begin(&rig, &rig_alice, &new_datum, &id, NULL), ESP_OK);
    assert_int_equal(rig_fill(&rig, &rig_alice, &id, LARGE, NULL), ESP_OK);
    disk_fail_some(rig.disk, 0, 1000);
    assert_int_equal(rig_commit(&rig, &rig_alice, &id, NULL), ESP_SYSTEM);
    disk_fail_some(rig.disk, 0, 0);
    assert_int_equal(store_missing(rig.store, &rig_alice, id.key, 0, &gap, NULL), ESP_OK);
    assert_int_equal(gap.to - gap.from, LARGE);
    assert_int_equal(rig_fill(&rig, &rig_alice, &id, LARGE, NULL), ESP_OK);
    assert_int_equal(rig_commit(&rig, &rig_alice, &id, NULL), ESP_OK);
    disk_power_cut(rig.disk);
    rig_close(&rig);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_int_equal(rig_check_pieces(&rig, &rig_alice, &id, 1 << 20, NULL), ESP_OK);
}

static void a_full_disk_is_told_with_the_piece(void **state)
{
    (void)state;
    struct store_new new_datum = rig_new(LARGE, DATUM_PERSISTENT, 0);
    struct datum_id id;
    assert_int_equal(rig_begin(&rig, &rig_alice, &new_datum, &id, NULL), ESP_OK);
    disk_fail_some(rig.disk, 1000, 0);
    assert_int_equal(rig_fill(&rig, &rig_alice, &id, LARGE, NULL), ESP_NO_MEMORY);
    disk_fail_some(rig.disk, 0, 0);
    assert_int_equal(store_abort(rig.store, &rig_alice, id.key, NULL), ESP_OK);
    assert_int_equal(counts().disk_bytes, 0);
}

/* With real files, who computes maps the file of a datum that is too large for the memory. */
static void a_call_maps_what_is_larger_than_the_memory(void **state)
{
    (void)state;
    char folder[] = "/tmp/espalier-stream-XXXXXX", command[128];
    struct files *files;
    struct rig own = rig;
    struct store_options options = rig.options;
    struct datum_id id;
    struct store_pin *pin;
    int fd;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(files_posix_create(folder, &files, NULL), ESP_OK);
    options.files = files;
    assert_int_equal(store_create(&options, &own.store, NULL), ESP_OK);
    assert_int_equal(rig_put(&own, &rig_alice, LARGE, DATUM_PERSISTENT, 0, &id, NULL), ESP_OK);
    assert_int_equal(rig_pin(&own, &rig_alice, &id, &pin, NULL), ESP_OK);
    const struct store_memory *memory = store_pin_memory(pin);
    assert_true(rig_is_content(&id, memory->data, LARGE));
    assert_int_equal(store_pin_reader(pin, false, &fd, NULL), ESP_OK);
    uint8_t bytes[100];
    assert_int_equal(pread(fd, bytes, sizeof bytes, (off_t)memory->offset), sizeof bytes);
    assert_memory_equal(bytes, memory->data, sizeof bytes);
    assert_int_equal(write(fd, bytes, 1), -1);
    close(fd);
    store_release(own.store, pin, false);
    /* A wrong byte is found before anybody maps it. */
    snprintf(command, sizeof command, "for f in %s/*.datum; do printf X >>$f; done", folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(rig_pin(&own, &rig_alice, &id, &pin, NULL), ESP_NOT_FOUND);
    store_destroy(own.store);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

/* ---- replicas ---- */

static struct datum_id put_replica(enum datum_mode mode)
{
    struct datum_id id;
    struct esp_error error;
    if (rig_put(&rig, &rig_alice, LARGE, mode, DATUM_REPLICA, &id, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return id;
}

static const char *temporary(const struct datum_id *id)
{
    static char name[DATUM_FILE_NAME];
    return datum_file_name(id->key, false, name);
}

static enum esp_status promote(const struct datum_id *id, struct esp_error *error)
{
    struct store_work *work;
    enum esp_status status = store_promote(rig.store, &rig_alice, id->key, &work, error);
    if (!work)
        return status;
    store_work_do(work);
    return store_work_end(rig.store, work, error);
}

static void a_replica_may_be_larger_than_the_memory_too(void **state)
{
    (void)state;
    struct store_entry entry;
    for (enum datum_mode mode = DATUM_VOLATILE; mode <= DATUM_PERSISTENT; mode++) {
        struct datum_id id = put_replica(mode);
        assert_int_equal(counts().memory_bytes, 0);
        assert_int_equal(counts().disk_bytes, datum_file_bytes(LARGE));
        assert_int_equal(rig_check_pieces(&rig, &rig_alice, &id, 4 << 20, NULL), ESP_OK);
        assert_int_equal(rig_check_pieces(&rig, &rig_alice, &id, 300001, NULL), ESP_OK);
        assert_int_equal(store_look(rig.store, &rig_alice, &id, &entry, NULL), ESP_OK);
        assert_true(entry.on_disk && !entry.in_memory && entry.flags & DATUM_REPLICA);
        rig_close(&rig); /* it goes with the process */
        assert_null(disk_name(rig.disk, 2));
        assert_int_equal(rig_open(&rig, NULL), ESP_OK);
        assert_int_equal(counts().data, 0);
    }
    put_replica(DATUM_PERSISTENT);
    disk_power_cut(rig.disk); /* or at the next start */
    rig_close(&rig);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_int_equal(counts().data, 0);
    assert_int_equal(counts().disk_bytes, 0);
    assert_null(disk_name(rig.disk, 2));
}

static void a_replica_in_a_file_becomes_the_original_for_good(void **state)
{
    (void)state;
    struct store_entry entry;
    struct esp_error error;
    struct datum_id id = put_replica(DATUM_STICKY);
    struct store_pin *pin;
    assert_int_equal(store_open_reader(rig.store, &rig_alice, &id, &pin, NULL), ESP_OK);
    if (promote(&id, &error) != ESP_OK)
        fail_msg("%s", error.text);
    store_release(rig.store, pin, false); /* a reader does no harm meanwhile */
    assert_int_equal(counts().disk_bytes, datum_file_bytes(LARGE));
    disk_power_cut(rig.disk);
    rig_close(&rig);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_int_equal(store_look(rig.store, &rig_alice, &id, &entry, NULL), ESP_OK);
    assert_int_equal(entry.mode, DATUM_STICKY);
    assert_int_equal(entry.flags, 0);
    assert_int_equal(rig_check_pieces(&rig, &rig_alice, &id, 1 << 20, NULL), ESP_OK);
}

/* Nobody has read it since it came: the disk has turned a bit over meanwhile. */
static void a_damaged_replica_never_becomes_the_original(void **state)
{
    (void)state;
    for (enum datum_mode mode = DATUM_VOLATILE; mode <= DATUM_PERSISTENT; mode++) {
        struct esp_error error;
        struct datum_id id = put_replica(mode);
        assert_true(disk_flip(rig.disk, temporary(&id), datum_header_bytes(LARGE) + 2 * DATUM_FILE_BLOCK));
        assert_int_equal(promote(&id, &error), ESP_NOT_FOUND);
        assert_non_null(strstr(error.text, "damaged"));
        assert_false(store_has(rig.store, id.key));
        assert_int_equal(rig.damaged, 0); /* of an original */
        assert_int_equal(counts().damaged, 1);
        assert_int_equal(counts().disk_bytes, 0);
        rig_close(&rig);
        assert_int_equal(rig_open(&rig, NULL), ESP_OK);
        assert_int_equal(counts().data, 0);
    }
}

static void a_promotion_that_the_disk_fails_leaves_the_replica(void **state)
{
    (void)state;
    struct datum_id id = put_replica(DATUM_PERSISTENT);
    struct store_entry entry;
    disk_fail_some(rig.disk, 0, 1000);
    assert_int_equal(promote(&id, NULL), ESP_SYSTEM);
    disk_fail_some(rig.disk, 0, 0);
    assert_int_equal(store_look(rig.store, &rig_alice, &id, &entry, NULL), ESP_OK);
    assert_int_equal(entry.flags, DATUM_REPLICA);
    assert_int_equal(counts().disk_bytes, datum_file_bytes(LARGE));
    assert_int_equal(rig_check_pieces(&rig, &rig_alice, &id, 1 << 20, NULL), ESP_OK);
}

static void a_replica_makes_room_on_a_disk_that_is_full(void **state)
{
    (void)state;
    struct datum_id replica = put_replica(DATUM_PERSISTENT), id;
    struct store_new small = rig_new(LARGE - 1, DATUM_PERSISTENT, 0),
                     large = rig_new(2 * LARGE, DATUM_PERSISTENT, 0);
    disk_say_left(rig.disk, 5000);
    assert_int_equal(rig_begin(&rig, &rig_alice, &large, &id, NULL), ESP_NO_MEMORY);
    assert_true(store_has(rig.store, replica.key)); /* it would not help */
    assert_int_equal(rig_begin(&rig, &rig_alice, &small, &id, NULL), ESP_OK);
    assert_false(store_has(rig.store, replica.key));
}

/* The limit is that of 64 MiB: the replica used longest ago goes first, what is read stays. */
static void replicas_make_room_on_the_disk(void **state)
{
    (void)state;
    struct datum_id replicas[32];
    struct store_pin *pin;
    struct esp_error error;
    const uint64_t each = datum_file_bytes(LARGE), most = (64 << 20) / each;
    for (uint64_t i = 0; i < most; i++)
        replicas[i] = put_replica(DATUM_PERSISTENT);
    assert_int_equal(store_open_reader(rig.store, &rig_alice, &replicas[0], &pin, NULL), ESP_OK);
    struct datum_id datum = put_large();
    assert_true(store_has(rig.store, replicas[0].key));
    assert_false(store_has(rig.store, replicas[1].key));
    assert_true(store_has(rig.store, replicas[2].key));
    assert_int_equal(counts().dropped, 1);
    assert_int_equal(promote(&replicas[3], NULL), ESP_OK); /* which has its place already */
    assert_int_equal(counts().dropped, 1);
    for (uint64_t i = 3; i < most; i++)
        put_large();
    assert_int_equal(rig_put(&rig, &rig_alice, LARGE, DATUM_PERSISTENT, 0, &datum, &error), ESP_LIMIT);
    assert_non_null(strstr(error.text, "store_disk"));
    assert_true(store_has(rig.store, replicas[0].key)); /* is being read */
    assert_true(store_has(rig.store, replicas[3].key)); /* an original */
    assert_int_equal(counts().data, most);
    store_release(rig.store, pin, false);
}

static void a_reader_of_a_dropped_replica_goes_on_beside_a_new_one(void **state)
{
    (void)state;
    struct datum_id id = put_replica(DATUM_PERSISTENT);
    struct store_new again = rig_new(LARGE, DATUM_PERSISTENT, DATUM_REPLICA);
    struct store_pin *pin;
    struct store_piece piece;
    uint8_t first[64];
    assert_int_equal(store_open_reader(rig.store, &rig_alice, &id, &pin, NULL), ESP_OK);
    assert_int_equal(store_pin_area(pin, 0, sizeof first, &piece, NULL), ESP_OK);
    assert_int_equal(store_piece_read(&piece, NULL), ESP_OK);
    memcpy(first, piece.memory, sizeof first);
    store_pin_area_done(rig.store, pin, &piece, true);
    assert_int_equal(store_depart(rig.store, &rig_alice, &id, NULL, NULL), ESP_OK);
    again.id = &id;
    assert_int_equal(rig_begin(&rig, &rig_alice, &again, &id, NULL), ESP_OK);
    assert_int_equal(store_pin_area(pin, 0, sizeof first, &piece, NULL), ESP_OK);
    assert_int_equal(store_piece_read(&piece, NULL), ESP_OK);
    assert_memory_equal(first, piece.memory, sizeof first);
    store_pin_area_done(rig.store, pin, &piece, true);
    store_release(rig.store, pin, false); /* and takes nothing of the new one along */
    assert_int_equal(rig_fill(&rig, &rig_alice, &id, LARGE, NULL), ESP_OK);
    assert_int_equal(rig_commit(&rig, &rig_alice, &id, NULL), ESP_OK);
    assert_int_equal(promote(&id, NULL), ESP_OK);
    assert_int_equal(rig_check_pieces(&rig, &rig_alice, &id, 1 << 20, NULL), ESP_OK);
}

static void passing_replicas_in_files_go_when_they_have_rested(void **state)
{
    (void)state;
    struct store_new new_datum = rig_new(LARGE, DATUM_PERSISTENT, DATUM_REPLICA);
    struct datum_id id;
    rig_close(&rig);
    rig.options.passing_ns = 10 * NS_PER_S;
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    new_datum.passing = true;
    assert_int_equal(rig_begin(&rig, &rig_alice, &new_datum, &id, NULL), ESP_OK);
    assert_int_equal(rig_fill(&rig, &rig_alice, &id, LARGE, NULL), ESP_OK);
    assert_int_equal(rig_commit(&rig, &rig_alice, &id, NULL), ESP_OK);
    rig.clock.time_ns += 9 * NS_PER_S;
    store_tick(rig.store);
    assert_true(store_has(rig.store, id.key));
    rig.clock.time_ns += 2 * NS_PER_S;
    store_tick(rig.store);
    assert_false(store_has(rig.store, id.key));
    assert_int_equal(counts().disk_bytes, 0);
    assert_null(disk_name(rig.disk, 2));
}

/* ---- results ---- */

/* With real files: who writes all of a durable datum writes to its file. */
static void a_worker_writes_what_is_larger_than_the_memory(void **state)
{
    (void)state;
    char folder[] = "/tmp/espalier-stream-XXXXXX", command[128];
    struct files *files;
    struct rig own = rig;
    struct store_options options = rig.options;
    struct store_memory memory;
    assert_non_null(mkdtemp(folder));
    for (int small = 0; small < 2; small++) { /* or where there is no memory for it beside others */
        const uint64_t bytes = small ? 5000 : LARGE;
        struct store_new new_datum = rig_new(bytes, DATUM_PERSISTENT, 0);
        struct datum_id id;
        new_datum.streamed = small;
        assert_int_equal(files_posix_create(folder, &files, NULL), ESP_OK);
        options.files = files;
        assert_int_equal(store_create(&options, &own.store, NULL), ESP_OK);
        for (int given_up = 1; given_up >= 0; given_up--) {
            assert_int_equal(rig_begin(&own, &rig_alice, &new_datum, &id, NULL), ESP_OK);
            assert_int_equal(store_put_memory(own.store, &rig_alice, id.key, &memory, NULL), ESP_OK);
            assert_int_equal(memory.bytes, bytes);
            assert_int_equal(memory.offset % RIG_PAGE, 0); /* where a worker can map it */
            rig_fill_memory(&id, memory.data, bytes);
            assert_int_equal(store_put_filled(own.store, id.key, !given_up, NULL), ESP_OK);
            if (given_up)
                assert_int_equal(store_abort(own.store, &rig_alice, id.key, NULL), ESP_OK);
        }
        assert_int_equal(rig_commit(&own, &rig_alice, &id, NULL), ESP_OK);
        struct store_counts now;
        store_count(own.store, &now);
        assert_int_equal(now.memory_bytes, 0);
        assert_int_equal(now.unfinished, 0);
        store_destroy(own.store);
        assert_int_equal(files_posix_create(folder, &files, NULL), ESP_OK);
        options.files = files;
        assert_int_equal(store_create(&options, &own.store, NULL), ESP_OK);
        assert_int_equal(rig_check_pieces(&own, &rig_alice, &id, 300001, NULL), ESP_OK);
        store_destroy(own.store);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    struct log_options quiet = {.node = "test", .path = "/dev/null", .level = LOG_ERROR_LEVEL};
    log_open(&quiet, NULL);
#define RIG_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_durable_datum_may_be_larger_than_the_memory),
        RIG_TEST(a_reader_takes_no_memory_and_others_still_load),
        RIG_TEST(a_damaged_block_is_never_served),
        RIG_TEST(who_reads_goes_on_when_it_is_deleted),
        RIG_TEST(a_transfer_that_is_given_up_leaves_no_file),
        RIG_TEST(a_commit_that_failed_asks_for_all_again),
        RIG_TEST(a_full_disk_is_told_with_the_piece),
        RIG_TEST(a_call_maps_what_is_larger_than_the_memory),
        RIG_TEST(a_replica_may_be_larger_than_the_memory_too),
        RIG_TEST(a_replica_in_a_file_becomes_the_original_for_good),
        RIG_TEST(a_damaged_replica_never_becomes_the_original),
        RIG_TEST(a_promotion_that_the_disk_fails_leaves_the_replica),
        RIG_TEST(a_replica_makes_room_on_a_disk_that_is_full),
        RIG_TEST(replicas_make_room_on_the_disk),
        RIG_TEST(a_reader_of_a_dropped_replica_goes_on_beside_a_new_one),
        RIG_TEST(passing_replicas_in_files_go_when_they_have_rested),
        RIG_TEST(a_worker_writes_what_is_larger_than_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
