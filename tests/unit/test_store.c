/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "tests/unit/store_rig.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MB (1 << 20)

/* Every test gets a rig: 16 pages of memory, a disk of 1 MB. */
static int set_up(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_create(rig, 1, 16, MB);
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    rig_destroy(*state);
    free(*state);
    return 0;
}

static struct store_counts counts_of(const struct rig *rig)
{
    struct store_counts counts;
    store_count(rig->store, &counts);
    return counts;
}

/* ---- putting ---- */

static void a_datum_is_seen_only_when_it_is_committed(void **state)
{
    struct rig *rig = *state;
    struct store_new new_datum = rig_new(10000, DATUM_VOLATILE, 0);
    struct datum_id id;
    struct esp_error error;
    assert_int_equal(rig_begin(rig, &rig_alice, &new_datum, &id, NULL), ESP_OK);
    assert_string_equal(id.origin, "node7");
    assert_int_equal(rig_fill(rig, &rig_alice, &id, 10000, NULL), ESP_OK);
    assert_false(store_has(rig->store, id.key));
    assert_int_equal(rig_check(rig, &rig_alice, &id, &error), ESP_NOT_FOUND);
    assert_says(&error, "still being put");
    assert_int_equal(rig->arrived, 0);
    assert_int_equal(rig_commit(rig, &rig_alice, &id, NULL), ESP_OK);
    assert_true(store_has(rig->store, id.key));
    assert_int_equal(rig->arrived, 1);
    assert_int_equal(rig_check(rig, &rig_alice, &id, NULL), ESP_OK);
    assert_int_equal(rig_commit(rig, &rig_alice, &id, NULL), ESP_OK); /* said twice */
    assert_int_equal(rig->arrived, 1);
}

static void a_durable_datum_is_seen_only_when_it_is_written(void **state)
{
    struct rig *rig = *state;
    struct store_new new_datum = rig_new(10000, DATUM_PERSISTENT, 0);
    struct datum_id id;
    struct store_work *work, *second;
    assert_int_equal(rig_begin(rig, &rig_alice, &new_datum, &id, NULL), ESP_OK);
    assert_int_equal(rig_fill(rig, &rig_alice, &id, 10000, NULL), ESP_OK);
    assert_int_equal(store_commit(rig->store, &rig_alice, id.key, &work, NULL), ESP_OK);
    assert_non_null(work);
    assert_int_equal(store_commit(rig->store, &rig_alice, id.key, &second, NULL), ESP_BUSY);
    assert_int_equal(store_abort(rig->store, &rig_alice, id.key, NULL), ESP_BUSY);
    assert_int_equal(store_write(rig->store, &rig_alice, id.key, 0, "x", 1, NULL), ESP_INVALID);
    store_work_do(work);
    assert_false(store_has(rig->store, id.key));
    assert_int_equal(store_work_end(rig->store, work, NULL), ESP_OK);
    assert_true(store_has(rig->store, id.key));
}

static void a_commit_tells_what_is_missing(void **state)
{
    struct rig *rig = *state;
    struct store_new new_datum = rig_new(100, DATUM_VOLATILE, 0);
    struct datum_id id;
    struct esp_error error;
    struct range gap;
    assert_int_equal(rig_begin(rig, &rig_alice, &new_datum, &id, NULL), ESP_OK);
    store_write(rig->store, &rig_alice, id.key, 0, "0123456789", 10, NULL);
    store_write(rig->store, &rig_alice, id.key, 50, "0123456789", 10, NULL);
    assert_int_equal(rig_commit(rig, &rig_alice, &id, &error), ESP_INVALID);
    assert_says(&error, "from byte 10 to 50");
    assert_int_equal(store_missing(rig->store, &rig_alice, id.key, 20, &gap, NULL), ESP_OK);
    assert_int_equal(gap.from, 20);
    assert_int_equal(gap.to, 50);
    assert_int_equal(store_missing(rig->store, &rig_alice, id.key, 55, &gap, NULL), ESP_OK);
    assert_int_equal(gap.from, 60);
    assert_int_equal(gap.to, 100);
    assert_int_equal(rig_fill(rig, &rig_alice, &id, 100, NULL), ESP_OK); /* resumed */
    assert_int_equal(store_missing(rig->store, &rig_alice, id.key, 0, &gap, NULL), ESP_OK);
    assert_int_equal(gap.from, gap.to);
    assert_int_equal(rig_commit(rig, &rig_alice, &id, NULL), ESP_OK);
    assert_int_equal(rig_check(rig, &rig_alice, &id, NULL), ESP_OK);
}

static void pieces_that_do_not_fit_are_refused(void **state)
{
    struct rig *rig = *state;
    struct store_new new_datum = rig_new(100, DATUM_VOLATILE, 0);
    struct datum_id id, other = {{7, 7}, "node7"};
    struct esp_error error;
    rig_begin(rig, &rig_alice, &new_datum, &id, NULL);
    assert_int_equal(store_write(rig->store, &rig_alice, id.key, 99, "ab", 2, &error), ESP_INVALID);
    assert_says(&error, "within the datum's 100 bytes, found 2 bytes at 99");
    assert_int_equal(store_write(rig->store, &rig_alice, id.key, UINT64_MAX, "ab", 2, NULL), ESP_INVALID);
    assert_int_equal(store_write(rig->store, &rig_bob, id.key, 0, "ab", 2, NULL), ESP_REFUSED);
    assert_int_equal(store_write(rig->store, &rig_alice, other.key, 0, "ab", 2, &error), ESP_NOT_FOUND);
    assert_says(&error, "begin again");
    assert_int_equal(rig_fill(rig, &rig_alice, &id, 100, NULL), ESP_OK);
    assert_int_equal(rig_commit(rig, &rig_alice, &id, NULL), ESP_OK);
    assert_int_equal(store_write(rig->store, &rig_alice, id.key, 0, "ab", 2, &error), ESP_NOT_FOUND);
    assert_says(&error, "data never change");
    assert_int_equal(rig_check(rig, &rig_alice, &id, NULL), ESP_OK);
}

static void a_piece_that_did_not_come_whole_does_not_count(void **state)
{
    struct rig *rig = *state;
    struct store_new new_datum = rig_new(100, DATUM_VOLATILE, 0);
    struct datum_id id;
    struct range gap;
    struct store_piece memory;
    rig_begin(rig, &rig_alice, &new_datum, &id, NULL);
    assert_int_equal(store_area(rig->store, &rig_alice, id.key, 0, 100, &memory, NULL), ESP_OK);
    memset(memory.memory, 'x', 50);
    assert_int_equal(rig_commit(rig, &rig_alice, &id, NULL), ESP_BUSY); /* it is still moving */
    assert_int_equal(store_area_done(rig->store, id.key, &memory, false, NULL), ESP_OK);
    assert_int_equal(store_missing(rig->store, &rig_alice, id.key, 0, &gap, NULL), ESP_OK);
    assert_int_equal(gap.to - gap.from, 100);
}

static void memory_stays_while_a_piece_moves_into_it(void **state)
{
    struct rig *rig = *state;
    struct store_new new_datum = rig_new(10 * RIG_PAGE, DATUM_VOLATILE, 0);
    struct datum_id id, again;
    struct store_piece first, second;
    struct esp_error error;
    rig_begin(rig, &rig_alice, &new_datum, &id, NULL);
    store_area(rig->store, &rig_alice, id.key, 0, 4096, &first, NULL);
    store_area(rig->store, &rig_alice, id.key, 4096, 4096, &second, NULL);
    assert_int_equal(store_abort(rig->store, &rig_alice, id.key, NULL), ESP_OK);
    assert_int_equal(store_abort(rig->store, &rig_alice, id.key, NULL), ESP_NOT_FOUND);
    memset(first.memory, 'x', 8192); /* a sanitizer would see it */
    assert_int_equal(counts_of(rig).memory_bytes, 10 * RIG_PAGE);
    new_datum.id = &id;
    assert_int_equal(rig_begin(rig, &rig_alice, &new_datum, &again, NULL), ESP_BUSY);
    assert_int_equal(store_area_done(rig->store, id.key, &first, true, &error), ESP_NOT_FOUND);
    assert_says(&error, "given up");
    assert_int_equal(counts_of(rig).memory_bytes, 10 * RIG_PAGE);
    store_area_done(rig->store, id.key, &second, true, NULL);
    assert_int_equal(counts_of(rig).memory_bytes, 0);
    assert_true(rig->changed > 0);
    assert_int_equal(rig_begin(rig, &rig_alice, &new_datum, &again, NULL), ESP_OK);
}

static void a_worker_may_fill_a_datum_by_itself(void **state)
{
    struct rig *rig = *state;
    struct store_new new_datum = rig_new(5000, DATUM_VOLATILE, 0);
    struct datum_id id;
    struct store_memory memory;
    struct store_pin *pin;
    rig_begin(rig, &rig_alice, &new_datum, &id, NULL);
    assert_int_equal(store_put_memory(rig->store, &rig_alice, id.key, &memory, NULL), ESP_OK);
    assert_int_equal((memory.offset + memory.bytes) % SEGMENT_PAGE, 0); /* a guard page can follow */
    assert_int_equal(store_write(rig->store, &rig_alice, id.key, 0, "x", 1, NULL), ESP_INVALID);
    uint8_t *mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    memset(mapped + memory.offset, 'w', 5000);
    munmap(mapped, 8192);
    assert_int_equal(store_put_filled(rig->store, id.key, true, NULL), ESP_OK);
    assert_int_equal(rig_commit(rig, &rig_alice, &id, NULL), ESP_OK);
    assert_int_equal(rig_pin(rig, &rig_alice, &id, &pin, NULL), ESP_OK);
    assert_int_equal(store_pin_memory(pin)->data[4999], 'w');
    store_release(rig->store, pin, false);
}

static void an_empty_datum_is_a_datum(void **state)
{
    struct rig *rig = *state;
    struct datum_id id;
    assert_int_equal(rig_put(rig, &rig_alice, 0, DATUM_PERSISTENT, 0, &id, NULL), ESP_OK);
    assert_int_equal(rig_check(rig, &rig_alice, &id, NULL), ESP_OK);
    rig_close(rig);
    assert_int_equal(rig_open(rig, NULL), ESP_OK);
    assert_int_equal(rig_check(rig, &rig_alice, &id, NULL), ESP_OK);
}

static void what_makes_no_sense_is_not_begun(void **state)
{
    struct rig *rig = *state;
    struct datum_id id, none = {{0, 0}, "node8"};
    struct store_new rows[] = {rig_new(10, (enum datum_mode)9, 0),
                               rig_new(10, DATUM_VOLATILE, 0x100),
                               rig_new(10, DATUM_PERSISTENT, DATUM_STRICT),
                               rig_new(10, DATUM_VOLATILE, DATUM_REPLICA | DATUM_UNIQUE),
                               rig_new(10, DATUM_VOLATILE, 0),
                               rig_new(10, DATUM_VOLATILE, 0)};
    rows[4].shape.bytes = 11;
    rows[5].id = &none;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(rig_begin(rig, &rig_alice, &rows[i], &id, NULL), ESP_INVALID);
    assert_int_equal(counts_of(rig).memory_bytes, 0);
}

static void the_same_datum_is_not_put_twice(void **state)
{
    struct rig *rig = *state;
    struct datum_id id, replica = {{5, 6}, "node8"};
    struct store_new new_datum = rig_new(10, DATUM_PERSISTENT, DATUM_REPLICA);
    struct esp_error error;
    new_datum.id = &replica;
    new_datum.owner = "alice";
    assert_int_equal(rig_begin(rig, &rig_server, &new_datum, &id, NULL), ESP_OK);
    assert_int_equal(rig_begin(rig, &rig_server, &new_datum, &id, &error), ESP_REFUSED);
    assert_says(&error, "being put");
    assert_int_equal(rig_fill(rig, &rig_server, &replica, 10, NULL), ESP_OK);
    assert_int_equal(rig_commit(rig, &rig_server, &replica, NULL), ESP_OK);
    assert_int_equal(rig_begin(rig, &rig_server, &new_datum, &id, &error), ESP_REFUSED);
    assert_says(&error, "already");
    assert_int_equal(rig_check(rig, &rig_alice, &replica, NULL), ESP_OK); /* the owner's, wherever it is */
    assert_int_equal(rig_check(rig, &rig_bob, &replica, NULL), ESP_REFUSED);
}

static void the_number_of_data_is_limited(void **state)
{
    struct rig *rig = *state;
    struct datum_id id;
    struct esp_error error;
    rig_close(rig);
    rig->options.most_data = 2;
    assert_int_equal(rig_open(rig, NULL), ESP_OK);
    assert_int_equal(rig_put(rig, &rig_alice, 1, DATUM_VOLATILE, 0, &id, NULL), ESP_OK);
    assert_int_equal(rig_put(rig, &rig_alice, 1, DATUM_VOLATILE, 0, &id, NULL), ESP_OK);
    assert_int_equal(rig_put(rig, &rig_alice, 1, DATUM_VOLATILE, 0, &id, &error), ESP_LIMIT);
    assert_says(&error, "2 data");
}

/* ---- limits ---- */

static void what_can_never_fit_is_told_from_what_must_wait(void **state)
{
    struct rig *rig = *state;
    struct datum_id a, b, c;
    struct store_pin *pin;
    struct esp_error error;
    assert_int_equal(rig_put(rig, &rig_alice, 17 * RIG_PAGE, DATUM_VOLATILE, 0, &a, &error), ESP_NO_MEMORY);
    assert_says(&error, "can never fit");
    assert_int_equal(rig_put(rig, &rig_alice, 10 * RIG_PAGE, DATUM_VOLATILE, 0, &a, NULL), ESP_OK);
    assert_int_equal(rig_pin(rig, &rig_alice, &a, &pin, NULL), ESP_OK);
    assert_int_equal(rig_put(rig, &rig_alice, 4 * RIG_PAGE, DATUM_VOLATILE, 0, &b, NULL), ESP_OK);
    assert_int_equal(rig_put(rig, &rig_alice, 7 * RIG_PAGE, DATUM_VOLATILE, 0, &c, &error), ESP_BUSY);
    assert_says(&error, "running sessions");
    assert_true(store_has(rig->store, b.key)); /* it was not dropped for nothing */
    assert_int_equal(rig->changed, 0);
    store_release(rig->store, pin, false);
    assert_int_equal(rig->changed, 1);
    assert_int_equal(rig_put(rig, &rig_alice, 7 * RIG_PAGE, DATUM_VOLATILE, 0, &c, NULL), ESP_OK);
    assert_true(counts_of(rig).memory_bytes <= 16 * RIG_PAGE);
}

static void unfinished_data_are_never_dropped(void **state)
{
    struct rig *rig = *state;
    struct store_new new_datum = rig_new(10 * RIG_PAGE, DATUM_VOLATILE, 0);
    struct datum_id a, b;
    assert_int_equal(rig_begin(rig, &rig_alice, &new_datum, &a, NULL), ESP_OK);
    assert_int_equal(rig_begin(rig, &rig_alice, &new_datum, &b, NULL), ESP_BUSY);
    assert_int_equal(store_abort(rig->store, &rig_alice, a.key, NULL), ESP_OK);
    assert_int_equal(rig->changed, 1);
    assert_int_equal(rig_begin(rig, &rig_alice, &new_datum, &b, NULL), ESP_OK);
}

static void replicas_and_volatile_data_go_first_least_recently_used_first(void **state)
{
    struct rig *rig = *state;
    struct datum_id durable, old, used, newest, more, elsewhere = {{5, 6}, "node8"};
    struct store_new replica = rig_new(4 * RIG_PAGE, DATUM_PERSISTENT, DATUM_REPLICA);
    struct esp_error error;
    struct store_entry entry;
    replica.id = &elsewhere;
    assert_int_equal(rig_put(rig, &rig_alice, 4 * RIG_PAGE, DATUM_STICKY, 0, &durable, NULL), ESP_OK);
    assert_int_equal(rig_put(rig, &rig_alice, 4 * RIG_PAGE, DATUM_VOLATILE, 0, &used, NULL), ESP_OK);
    rig_begin(rig, &rig_server, &replica, &old, NULL);
    rig_fill(rig, &rig_server, &old, 4 * RIG_PAGE, NULL);
    assert_int_equal(rig_commit(rig, &rig_server, &old, NULL), ESP_OK);
    assert_int_equal(rig_put(rig, &rig_alice, 4 * RIG_PAGE, DATUM_VOLATILE, 0, &newest, NULL), ESP_OK);
    assert_int_equal(rig_check(rig, &rig_alice, &used, NULL), ESP_OK);
    assert_int_equal(rig_put(rig, &rig_alice, 1, DATUM_VOLATILE, 0, &more, NULL), ESP_OK);
    assert_false(store_has(rig->store, old.key));
    assert_true(datum_key_equal(rig->last_gone.key, old.key));
    assert_int_equal(rig_check(rig, &rig_server, &old, &error), ESP_NOT_FOUND);
    assert_says(&error, "dropped to make room");
    assert_true(store_has(rig->store, used.key));
    assert_true(store_has(rig->store, newest.key));
    /* All that may go does, and the durable one only leaves the memory. */
    assert_int_equal(rig_put(rig, &rig_alice, 16 * RIG_PAGE, DATUM_VOLATILE, 0, &more, NULL), ESP_OK);
    assert_int_equal(counts_of(rig).dropped, 4);
    assert_int_equal(store_look(rig->store, &rig_alice, &durable, &entry, NULL), ESP_OK);
    assert_false(entry.in_memory);
    assert_true(entry.on_disk);
    assert_int_equal(rig_check(rig, &rig_alice, &durable, NULL), ESP_OK); /* drops the last volatile one */
    assert_int_equal(store_look(rig->store, &rig_alice, &durable, &entry, NULL), ESP_OK);
    assert_true(entry.in_memory);
    assert_int_equal(entry.disk_reads, 1);
    assert_int_equal(entry.bytes_out, 4 * RIG_PAGE);
    assert_int_equal(entry.gets, 1);
}

static void the_disk_has_a_limit(void **state)
{
    struct rig *rig = *state;
    struct datum_id a, b;
    struct esp_error error;
    rig_close(rig);
    rig->options.disk_bytes = 10 * RIG_PAGE;
    assert_int_equal(rig_open(rig, NULL), ESP_OK);
    assert_int_equal(rig_put(rig, &rig_alice, 5 * RIG_PAGE, DATUM_PERSISTENT, 0, &a, NULL), ESP_OK);
    assert_int_equal(rig_put(rig, &rig_alice, 5 * RIG_PAGE, DATUM_PERSISTENT, 0, &b, &error), ESP_LIMIT);
    assert_says(&error, "store_disk");
    assert_int_equal(rig_put(rig, &rig_alice, 5 * RIG_PAGE, DATUM_VOLATILE, 0, &b, NULL), ESP_OK);
    assert_int_equal(store_delete(rig->store, &rig_alice, &a, NULL), ESP_OK);
    assert_int_equal(counts_of(rig).disk_bytes, 0);
    assert_int_equal(rig_put(rig, &rig_alice, 5 * RIG_PAGE, DATUM_PERSISTENT, 0, &b, NULL), ESP_OK);
}

static void a_full_disk_loses_nothing(void **state)
{
    struct rig *rig = *state;
    struct datum_id a, b;
    struct esp_error error;
    assert_int_equal(rig_put(rig, &rig_alice, 5000, DATUM_PERSISTENT, 0, &a, NULL), ESP_OK);
    disk_fail_some(rig->disk, 1000, 0);
    assert_int_equal(rig_put(rig, &rig_alice, 5000, DATUM_PERSISTENT, 0, &b, &error), ESP_NO_MEMORY);
    assert_says(&error, "the disk is full");
    assert_false(store_has(rig->store, b.key));
    assert_int_equal(store_delete(rig->store, &rig_alice, &a, &error), ESP_SYSTEM);
    assert_true(store_has(rig->store, a.key));
    disk_fail_some(rig->disk, 0, 0);
    assert_int_equal(rig_commit(rig, &rig_alice, &b, NULL), ESP_OK); /* there is room again */
    disk_power_cut(rig->disk);
    rig_close(rig);
    assert_int_equal(rig_open(rig, NULL), ESP_OK);
    assert_int_equal(rig_check(rig, &rig_alice, &a, NULL), ESP_OK);
    assert_int_equal(rig_check(rig, &rig_alice, &b, NULL), ESP_OK);
}

static void a_disk_known_to_be_full_takes_nothing_and_nothing_goes_for_it(void **state)
{
    struct rig *rig = *state;
    struct datum_id volatile_one, durable;
    struct esp_error error;
    disk_say_left(rig->disk, 8 * RIG_PAGE);
    assert_int_equal(rig_put(rig, &rig_alice, 9 * RIG_PAGE, DATUM_VOLATILE, 0, &volatile_one, NULL), ESP_OK);
    assert_int_equal(rig_put(rig, &rig_alice, 9 * RIG_PAGE, DATUM_PERSISTENT, 0, &durable, &error),
                     ESP_NO_MEMORY);
    assert_says(&error, "no disk for a datum of 36.9 kB: the disk is full but for 32.8 kB (");
    assert_true(store_has(rig->store, volatile_one.key));
    assert_int_equal(counts_of(rig).unfinished, 0);
    assert_int_equal(counts_of(rig).disk_bytes, 0);
    disk_say_left(rig->disk, 10 * RIG_PAGE); /* with its header */
    assert_int_equal(rig_put(rig, &rig_alice, 9 * RIG_PAGE, DATUM_PERSISTENT, 0, &durable, NULL), ESP_OK);
}

static void without_a_folder_nothing_is_durable(void **state)
{
    struct rig rig;
    struct datum_id id;
    struct esp_error error;
    (void)state;
    rig_create(&rig, 1, 16, 0);
    assert_int_equal(rig_put(&rig, &rig_alice, 10, DATUM_PERSISTENT, 0, &id, &error), ESP_REFUSED);
    assert_says(&error, "no state folder");
    assert_int_equal(rig_put(&rig, &rig_alice, 10, DATUM_VOLATILE, 0, &id, NULL), ESP_OK);
    rig_destroy(&rig);
}

/* ---- using ---- */

static void only_the_owner_uses_what_is_not_shared(void **state)
{
    struct rig *rig = *state;
    struct datum_id own, shared;
    struct store_entry entries[4];
    struct esp_error error;
    assert_int_equal(rig_put(rig, &rig_alice, 10, DATUM_PERSISTENT, 0, &own, NULL), ESP_OK);
    assert_int_equal(rig_put(rig, &rig_alice, 10, DATUM_PERSISTENT, DATUM_SHARED, &shared, NULL), ESP_OK);
    for (int restart = 0; restart < 2; restart++) {
        assert_int_equal(rig_check(rig, &rig_bob, &own, &error), ESP_REFUSED);
        assert_says(&error, "belongs to alice");
        assert_int_equal(store_delete(rig->store, &rig_bob, &own, NULL), ESP_REFUSED);
        assert_int_equal(store_look(rig->store, &rig_bob, &own, entries, NULL), ESP_REFUSED);
        assert_int_equal(rig_check(rig, &rig_bob, &shared, NULL), ESP_OK);
        assert_int_equal(rig_check(rig, &rig_server, &own, NULL), ESP_OK);
        assert_int_equal(store_list(rig->store, &rig_bob, (struct datum_key){0, 0}, entries, 4), 1);
        assert_int_equal(store_list(rig->store, &rig_alice, (struct datum_key){0, 0}, entries, 4), 2);
        assert_string_equal(entries[0].owner, "alice");
        rig_close(rig);
        assert_int_equal(rig_open(rig, NULL), ESP_OK);
    }
}

static void a_deleted_datum_lives_as_long_as_it_is_pinned(void **state)
{
    struct rig *rig = *state;
    struct datum_id id;
    struct store_pin *pin;
    struct esp_error error;
    assert_int_equal(rig_put(rig, &rig_alice, 5000, DATUM_PERSISTENT, 0, &id, NULL), ESP_OK);
    assert_int_equal(rig_pin(rig, &rig_alice, &id, &pin, NULL), ESP_OK);
    assert_int_equal(store_delete(rig->store, &rig_alice, &id, NULL), ESP_OK);
    assert_int_equal(rig_check(rig, &rig_alice, &id, &error), ESP_NOT_FOUND);
    assert_says(&error, "it was deleted");
    assert_true(rig_is_content(&id, store_pin_memory(pin)->data, 5000));
    assert_int_equal(counts_of(rig).memory_bytes, 2 * RIG_PAGE);
    store_release(rig->store, pin, false);
    assert_int_equal(counts_of(rig).memory_bytes, 0);
    assert_int_equal(counts_of(rig).disk_bytes, 0);
    rig_close(rig);
    assert_int_equal(rig_open(rig, NULL), ESP_OK);
    assert_false(store_has(rig->store, id.key));
}

static void a_datum_deleted_while_it_is_read_is_not_served(void **state)
{
    struct rig *rig = *state;
    struct datum_id id;
    struct store_pin *pin;
    struct store_work *work;
    struct esp_error error;
    assert_int_equal(rig_put(rig, &rig_alice, 5000, DATUM_PERSISTENT, 0, &id, NULL), ESP_OK);
    rig_close(rig);
    assert_int_equal(rig_open(rig, NULL), ESP_OK);
    assert_int_equal(store_open(rig->store, &rig_alice, &id, &pin, &work, NULL), ESP_OK);
    assert_non_null(work);
    assert_int_equal(store_delete(rig->store, &rig_alice, &id, NULL), ESP_OK);
    store_work_do(work);
    assert_int_equal(store_work_end(rig->store, work, &error), ESP_NOT_FOUND);
    assert_int_equal(counts_of(rig).memory_bytes, 0);
    assert_int_equal(counts_of(rig).pinned, 0);
}

/* Puts a durable datum, and forgets its memory. */
static void put_on_disk(struct rig *rig, struct datum_id *id)
{
    assert_int_equal(rig_put(rig, &rig_alice, 5000, DATUM_PERSISTENT, 0, id, NULL), ESP_OK);
    rig_close(rig);
    assert_int_equal(rig_open(rig, NULL), ESP_OK);
}

static void those_who_open_what_is_being_read_share_it(void **state)
{
    struct rig *rig = *state;
    struct datum_id id;
    struct store_pin *pins[3];
    struct store_work *works[3];
    put_on_disk(rig, &id);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(store_open(rig->store, &rig_alice, &id, &pins[i], &works[i], NULL), ESP_OK);
        assert_non_null(works[i]);
    }
    for (int i = 0; i < 3; i++)
        store_work_do(works[i]);
    assert_int_equal(store_work_end(rig->store, works[1], NULL), ESP_OK); /* before who read it */
    assert_true(rig_is_content(&id, store_pin_memory(pins[1])->data, 5000));
    assert_int_equal(store_delete(rig->store, &rig_alice, &id, NULL), ESP_OK);
    assert_int_equal(store_work_end(rig->store, works[0], NULL), ESP_NOT_FOUND);
    assert_int_equal(store_work_end(rig->store, works[2], NULL), ESP_NOT_FOUND);
    assert_true(rig_is_content(&id, store_pin_memory(pins[1])->data, 5000)); /* who had it has it */
    assert_int_equal(counts_of(rig).memory_bytes, 2 * RIG_PAGE);
    assert_int_equal(counts_of(rig).disk_reads, 1);
    store_release(rig->store, pins[1], false);
    assert_int_equal(counts_of(rig).memory_bytes, 0);
    assert_int_equal(counts_of(rig).pinned, 0);
}

static void those_who_share_a_damaged_file_all_hear_of_it(void **state)
{
    struct rig *rig = *state;
    struct datum_id id;
    struct store_pin *pins[2];
    struct store_work *works[2];
    put_on_disk(rig, &id);
    for (size_t i = 0; disk_name(rig->disk, i); i++)
        if (strstr(disk_name(rig->disk, i), ".datum"))
            disk_flip(rig->disk, disk_name(rig->disk, i), 5000);
    for (int i = 0; i < 2; i++)
        assert_int_equal(store_open(rig->store, &rig_alice, &id, &pins[i], &works[i], NULL), ESP_OK);
    for (int i = 0; i < 2; i++)
        store_work_do(works[i]);
    for (int i = 1; i >= 0; i--)
        assert_int_equal(store_work_end(rig->store, works[i], NULL), ESP_NOT_FOUND);
    assert_int_equal(counts_of(rig).damaged, 1);
    assert_int_equal(counts_of(rig).memory_bytes, 0);
    assert_int_equal(counts_of(rig).pinned, 0);
    assert_int_equal(rig->gone, 1);
}

static void readers_cannot_write(void **state)
{
    struct rig *rig = *state;
    struct datum_id id;
    struct store_pin *pin;
    int fd;
    assert_int_equal(rig_put(rig, &rig_alice, 5000, DATUM_VOLATILE, 0, &id, NULL), ESP_OK);
    assert_int_equal(rig_pin(rig, &rig_alice, &id, &pin, NULL), ESP_OK);
    assert_int_equal(store_pin_reader(pin, false, &fd, NULL), ESP_OK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(fd, "x", 1), -1);
    assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    uint8_t *mapped = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    assert_true(rig_is_content(&id, mapped + store_pin_memory(pin)->offset, 5000));
    munmap(mapped, 8192);
    close(fd);
    store_release(rig->store, pin, false);
}

static void memory_that_others_may_keep_is_not_used_again(void **state)
{
    struct rig *rig = *state;
    struct datum_id a, b;
    struct store_pin *pin;
    struct segments_counters counters;
    int fd;
    assert_int_equal(rig_put(rig, &rig_alice, 5000, DATUM_VOLATILE, 0, &a, NULL), ESP_OK);
    rig_pin(rig, &rig_alice, &a, &pin, NULL);
    assert_int_equal(store_pin_reader(pin, true, &fd, NULL), ESP_OK);
    store_release(rig->store, pin, false);
    store_delete(rig->store, &rig_alice, &a, NULL);
    assert_int_equal(rig_put(rig, &rig_alice, 5000, DATUM_VOLATILE, 0, &b, NULL), ESP_OK);
    segments_count(rig->segments, &counters);
    assert_int_equal(counters.recycled, 0);
    store_delete(rig->store, &rig_alice, &b, NULL);
    assert_int_equal(rig_put(rig, &rig_alice, 5000, DATUM_VOLATILE, 0, &b, NULL), ESP_OK);
    segments_count(rig->segments, &counters);
    assert_int_equal(counters.recycled, 1); /* as it is with memory that stayed here */
    close(fd);
}

static void strict_data_go_with_the_session_that_used_them(void **state)
{
    struct rig *rig = *state;
    struct datum_id id;
    struct store_pin *first, *second;
    struct esp_error error;
    assert_int_equal(rig_put(rig, &rig_alice, 100, DATUM_VOLATILE, DATUM_STRICT, &id, NULL), ESP_OK);
    assert_int_equal(rig_check(rig, &rig_alice, &id, NULL), ESP_OK); /* a look is no session */
    assert_int_equal(rig_pin(rig, &rig_alice, &id, &first, NULL), ESP_OK);
    assert_int_equal(rig_pin(rig, &rig_alice, &id, &second, NULL), ESP_OK);
    store_release(rig->store, first, true);
    assert_int_equal(rig_check(rig, &rig_alice, &id, &error), ESP_NOT_FOUND);
    assert_says(&error, "strictly volatile");
    assert_true(rig_is_content(&id, store_pin_memory(second)->data, 100));
    store_release(rig->store, second, true);
    assert_int_equal(counts_of(rig).memory_bytes, 0);
}

static void a_replica_can_become_the_original(void **state)
{
    struct rig *rig = *state;
    struct datum_id id = {{5, 6}, "node8"};
    struct store_new replica = rig_new(5000, DATUM_PERSISTENT, DATUM_REPLICA);
    struct store_work *work;
    struct store_entry entry;
    replica.id = &id;
    rig_begin(rig, &rig_server, &replica, &id, NULL);
    rig_fill(rig, &rig_server, &id, 5000, NULL);
    assert_int_equal(rig_commit(rig, &rig_server, &id, NULL), ESP_OK);
    assert_int_equal(counts_of(rig).disk_bytes, 0);
    assert_int_equal(store_promote(rig->store, &rig_server, id.key, &work, NULL), ESP_OK);
    assert_non_null(work);
    assert_int_equal(store_delete(rig->store, &rig_server, &id, NULL), ESP_BUSY);
    store_work_do(work);
    assert_int_equal(store_work_end(rig->store, work, NULL), ESP_OK);
    rig_close(rig);
    assert_int_equal(rig_open(rig, NULL), ESP_OK);
    assert_int_equal(rig_check(rig, &rig_server, &id, NULL), ESP_OK);
    assert_int_equal(store_look(rig->store, &rig_server, &id, &entry, NULL), ESP_OK);
    assert_int_equal(entry.flags & DATUM_REPLICA, 0);
    assert_string_equal(entry.id.origin, "node8");
}

static void a_spared_replica_stays_as_long_as_was_said(void **state)
{
    struct rig *rig = *state;
    struct datum_id id = {{5, 6}, "node8"}, more;
    struct store_new replica = rig_new(4 * RIG_PAGE, DATUM_PERSISTENT, DATUM_REPLICA);
    replica.id = &id;
    replica.passing = true;
    rig_begin(rig, &rig_server, &replica, &id, NULL);
    rig_fill(rig, &rig_server, &id, 4 * RIG_PAGE, NULL);
    assert_int_equal(rig_commit(rig, &rig_server, &id, NULL), ESP_OK);
    store_spare(rig->store, id.key, 60 * NS_PER_S);
    store_spare(rig->store, id.key, 100 * NS_PER_S);
    assert_int_equal(rig_put(rig, &rig_alice, 12 * RIG_PAGE, DATUM_VOLATILE, 0, &more, NULL), ESP_OK);
    assert_int_equal(rig_put(rig, &rig_alice, 12 * RIG_PAGE, DATUM_VOLATILE, 0, &more, NULL), ESP_OK);
    assert_true(store_has(rig->store, id.key));
    assert_int_equal(rig_put(rig, &rig_alice, 13 * RIG_PAGE, DATUM_VOLATILE, 0, &more, NULL), ESP_BUSY);
    assert_int_equal(rig_check(rig, &rig_server, &id, NULL), ESP_OK); /* also when it was pinned */
    rig->clock.time_ns += 99 * NS_PER_S;
    assert_true(store_tick(rig->store) <= rig->clock.time_ns + NS_PER_S);
    assert_int_equal(rig_put(rig, &rig_alice, 13 * RIG_PAGE, DATUM_VOLATILE, 0, &more, NULL), ESP_BUSY);
    rig->clock.time_ns += NS_PER_S;
    store_tick(rig->store);
    assert_int_equal(rig_put(rig, &rig_alice, 13 * RIG_PAGE, DATUM_VOLATILE, 0, &more, NULL), ESP_OK);
    assert_false(store_has(rig->store, id.key));
}

static void a_spared_replica_that_is_deleted_or_kept_is_as_others(void **state)
{
    struct rig *rig = *state;
    struct datum_id id = {{5, 6}, "node8"}, more;
    struct store_new replica = rig_new(4 * RIG_PAGE, DATUM_PERSISTENT, DATUM_REPLICA);
    struct store_work *work;
    replica.id = &id;
    for (int i = 0; i < 2; i++) {
        rig_begin(rig, &rig_server, &replica, &id, NULL);
        rig_fill(rig, &rig_server, &id, 4 * RIG_PAGE, NULL);
        assert_int_equal(rig_commit(rig, &rig_server, &id, NULL), ESP_OK);
        store_spare(rig->store, id.key, 100 * NS_PER_S);
        if (i == 0)
            assert_int_equal(store_depart(rig->store, &rig_server, &id, NULL, NULL), ESP_OK);
    }
    assert_int_equal(store_promote(rig->store, &rig_server, id.key, &work, NULL), ESP_OK);
    store_work_do(work);
    assert_int_equal(store_work_end(rig->store, work, NULL), ESP_OK);
    assert_int_equal(rig_put(rig, &rig_alice, 16 * RIG_PAGE, DATUM_VOLATILE, 0, &more, NULL), ESP_OK);
    assert_int_equal(rig_check(rig, &rig_server, &id, NULL), ESP_OK); /* from the disk */
    assert_int_equal(store_tick(rig->store), CLOCK_NEVER);
}

static void unknown_data_are_told_apart(void **state)
{
    struct rig *rig = *state;
    struct datum_id here = {{5, 6}, "node7"}, elsewhere = {{5, 6}, "node8"};
    struct esp_error error;
    assert_int_equal(rig_check(rig, &rig_alice, &here, &error), ESP_NOT_FOUND);
    assert_says(&error, "not known here");
    assert_int_equal(rig_check(rig, &rig_alice, &elsewhere, &error), ESP_NOT_FOUND);
    assert_says(&error, "another server");
}

/* ---- lists ---- */

static void long_lists_come_in_pages(void **state)
{
    struct rig *rig = *state;
    struct store_entry page[7];
    struct datum_key after = {0, 0};
    struct datum_id id, removed = {{0, 0}, ""};
    size_t n, seen = 0;
    for (int i = 0; i < 50; i++)
        assert_int_equal(rig_put(rig, &rig_alice, 0, DATUM_VOLATILE, 0, &id, NULL), ESP_OK);
    do {
        n = store_list(rig->store, &rig_alice, after, page, 7);
        for (size_t i = 0; i < n; i++) {
            assert_true(page[i].id.key.high > after.high); /* random: never equal */
            after = page[i].id.key;
        }
        seen += n;
        if (seen == 14) { /* what the list stands at goes, and more comes */
            removed.key = after;
            assert_int_equal(store_delete(rig->store, &rig_alice, &removed, NULL), ESP_OK);
            rig_put(rig, &rig_alice, 0, DATUM_VOLATILE, 0, &id, NULL);
            seen += id.key.high < after.high;
        }
    } while (n == 7);
    assert_int_equal(seen, 51);
}

static void count_one(void *arg, const struct datum_id *id, uint64_t bytes)
{
    assert_int_equal(bytes, 10);
    assert_string_equal(id->origin, "node7");
    ++*(int *)arg;
}

static void all_visible_data_are_visited(void **state)
{
    struct rig *rig = *state;
    struct store_new new_datum = rig_new(10, DATUM_VOLATILE, 0);
    struct datum_id id;
    int n = 0;
    rig_put(rig, &rig_alice, 10, DATUM_VOLATILE, 0, &id, NULL);
    rig_put(rig, &rig_alice, 10, DATUM_PERSISTENT, 0, &id, NULL);
    rig_begin(rig, &rig_alice, &new_datum, &id, NULL);
    store_each(rig->store, count_one, &n);
    assert_int_equal(n, 2);
}

/* ---- time ---- */

static void data_of_vanished_clients_go(void **state)
{
    struct rig *rig = *state;
    struct datum_id of_alice, of_bob, kept, pinned;
    struct store_pin *pin;
    struct esp_error error;
    assert_int_equal(store_tick(rig->store), CLOCK_NEVER);
    rig_put(rig, &rig_alice, 10, DATUM_VOLATILE, 0, &of_alice, NULL);
    rig_put(rig, &rig_alice, 10, DATUM_PERSISTENT, 0, &kept, NULL);
    rig_put(rig, &rig_bob, 10, DATUM_VOLATILE, 0, &of_bob, NULL);
    rig_put(rig, &rig_alice, 10, DATUM_VOLATILE, 0, &pinned, NULL);
    rig_pin(rig, &rig_alice, &pinned, &pin, NULL);
    rig->clock.time_ns += 50 * NS_PER_S;
    store_client_seen(rig->store, rig_bob.client);
    assert_int_equal(store_tick(rig->store), rig->clock.time_ns + 10 * NS_PER_S);
    rig->clock.time_ns += 10 * NS_PER_S;
    assert_int_equal(store_tick(rig->store), rig->clock.time_ns + 50 * NS_PER_S);
    assert_int_equal(rig_check(rig, &rig_alice, &of_alice, &error), ESP_NOT_FOUND);
    assert_says(&error, "lease");
    assert_true(store_has(rig->store, kept.key));
    assert_true(store_has(rig->store, of_bob.key));
    assert_true(rig_is_content(&pinned, store_pin_memory(pin)->data, 10)); /* a session works on it */
    store_release(rig->store, pin, false);
}

static void puts_that_nobody_goes_on_with_go(void **state)
{
    struct rig *rig = *state;
    struct store_new new_datum = rig_new(100, DATUM_VOLATILE, 0);
    struct datum_id idle, moving, resumed;
    struct esp_error error;
    struct store_piece memory;
    rig_begin(rig, &rig_server, &new_datum, &idle, NULL);
    rig_begin(rig, &rig_server, &new_datum, &moving, NULL);
    rig_begin(rig, &rig_server, &new_datum, &resumed, NULL);
    store_area(rig->store, &rig_server, moving.key, 0, 100, &memory, NULL);
    rig->clock.time_ns += 20 * NS_PER_S;
    store_write(rig->store, &rig_server, resumed.key, 0, "x", 1, NULL);
    rig->clock.time_ns += 10 * NS_PER_S;
    store_tick(rig->store);
    assert_int_equal(rig_fill(rig, &rig_server, &idle, 100, &error), ESP_NOT_FOUND);
    assert_says(&error, "begin again");
    assert_int_equal(rig_fill(rig, &rig_server, &resumed, 100, NULL), ESP_OK);
    assert_int_equal(store_area_done(rig->store, moving.key, &memory, true, NULL), ESP_OK);
}

int main(void)
{
#define RIG_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_datum_is_seen_only_when_it_is_committed),
        RIG_TEST(a_durable_datum_is_seen_only_when_it_is_written),
        RIG_TEST(a_commit_tells_what_is_missing),
        RIG_TEST(pieces_that_do_not_fit_are_refused),
        RIG_TEST(a_piece_that_did_not_come_whole_does_not_count),
        RIG_TEST(memory_stays_while_a_piece_moves_into_it),
        RIG_TEST(a_worker_may_fill_a_datum_by_itself),
        RIG_TEST(an_empty_datum_is_a_datum),
        RIG_TEST(what_makes_no_sense_is_not_begun),
        RIG_TEST(the_same_datum_is_not_put_twice),
        RIG_TEST(the_number_of_data_is_limited),
        RIG_TEST(what_can_never_fit_is_told_from_what_must_wait),
        RIG_TEST(unfinished_data_are_never_dropped),
        RIG_TEST(replicas_and_volatile_data_go_first_least_recently_used_first),
        RIG_TEST(the_disk_has_a_limit),
        RIG_TEST(a_full_disk_loses_nothing),
        RIG_TEST(a_disk_known_to_be_full_takes_nothing_and_nothing_goes_for_it),
        cmocka_unit_test(without_a_folder_nothing_is_durable),
        RIG_TEST(only_the_owner_uses_what_is_not_shared),
        RIG_TEST(a_deleted_datum_lives_as_long_as_it_is_pinned),
        RIG_TEST(a_datum_deleted_while_it_is_read_is_not_served),
        RIG_TEST(those_who_open_what_is_being_read_share_it),
        RIG_TEST(those_who_share_a_damaged_file_all_hear_of_it),
        RIG_TEST(readers_cannot_write),
        RIG_TEST(memory_that_others_may_keep_is_not_used_again),
        RIG_TEST(strict_data_go_with_the_session_that_used_them),
        RIG_TEST(a_replica_can_become_the_original),
        RIG_TEST(a_spared_replica_stays_as_long_as_was_said),
        RIG_TEST(a_spared_replica_that_is_deleted_or_kept_is_as_others),
        RIG_TEST(unknown_data_are_told_apart),
        RIG_TEST(long_lists_come_in_pages),
        RIG_TEST(all_visible_data_are_visited),
        RIG_TEST(data_of_vanished_clients_go),
        RIG_TEST(puts_that_nobody_goes_on_with_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
