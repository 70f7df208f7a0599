/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that have gone from a store: what is said of them, and which may come back.
 */
#include "tests/unit/unit.h"
#include "tests/unit/store_rig.h"

#include "services/data/datum_file.h"
#include "util/log.h"

static struct rig rig;

static int set_up(void **state)
{
    (void)state;
    rig_create(&rig, 1, 16, 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rig_destroy(&rig);
    return 0;
}

static struct datum_id put(enum datum_mode mode, uint32_t flags)
{
    struct datum_id id;
    struct esp_error error;
    if (rig_put(&rig, &rig_alice, 5000, mode, flags, &id, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return id;
}

static void what_was_deleted_is_taken_from_nobody(void **state)
{
    (void)state;
    struct datum_id id = put(DATUM_PERSISTENT, 0);
    assert_false(store_is_barred(rig.store, id.key, "alice", 0));
    assert_int_equal(store_delete(rig.store, &rig_alice, &id, NULL), ESP_OK);
    assert_true(store_is_barred(rig.store, id.key, "alice", 0));
    assert_true(store_let_go(rig.store, id.key));
}

static void who_may_not_delete_a_datum_keeps_nobody_from_it(void **state)
{
    (void)state;
    const struct datum_id coming = {{5, 6}, "node8"};
    store_bar(rig.store, &rig_bob, coming.key);
    assert_false(store_is_barred(rig.store, coming.key, "alice", 0));
    assert_true(store_is_barred(rig.store, coming.key, "alice", DATUM_SHARED));
    store_bar(rig.store, &rig_alice, coming.key);
    assert_true(store_is_barred(rig.store, coming.key, "alice", 0));
}

static void what_has_moved_away_may_come_back(void **state)
{
    (void)state;
    struct datum_id id = put(DATUM_PERSISTENT, 0);
    struct esp_error error;
    assert_int_equal(store_depart(rig.store, &rig_alice, &id, NULL), ESP_OK);
    assert_int_equal(rig_check(&rig, &rig_alice, &id, &error), ESP_NOT_FOUND);
    assert_says(&error, "it was moved to another server");
    assert_true(store_let_go(rig.store, id.key));
    assert_false(store_is_barred(rig.store, id.key, "alice", 0));
    rig_close(&rig);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_int_equal(rig_check(&rig, &rig_alice, &id, NULL), ESP_NOT_FOUND);
}

static void what_was_dropped_to_make_room_was_not_let_go(void **state)
{
    (void)state;
    struct datum_id first = put(DATUM_VOLATILE, 0);
    while (store_has(rig.store, first.key))
        put(DATUM_VOLATILE, 0);
    assert_false(store_let_go(rig.store, first.key));
    assert_false(store_is_barred(rig.store, first.key, "alice", 0));
}

static void a_file_found_damaged_at_the_start_is_told_of(void **state)
{
    (void)state;
    struct datum_id id = put(DATUM_PERSISTENT, 0);
    struct esp_error error;
    char name[DATUM_FILE_NAME];
    rig.options.verify_bytes = 0;
    rig_close(&rig);
    assert_true(disk_flip(rig.disk, datum_file_name(id.key, true, name), 20)); /* in the header */
    for (int starts = 0; starts < 2; starts++) {                               /* and after the next, too */
        assert_int_equal(rig_open(&rig, NULL), ESP_OK);
        assert_int_equal(rig_check(&rig, &rig_alice, &id, &error), ESP_NOT_FOUND);
        assert_says(&error, "its file was damaged, and is set aside");
        rig_close(&rig);
    }
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
}

static void keep(const struct datum_id *id, enum datum_mode mode, enum esp_status expected)
{
    struct store_work *work;
    struct esp_error error;
    assert_int_equal(store_keep(rig.store, &rig_alice, id->key, mode, 0, &work, &error), expected);
    if (!work)
        return;
    store_work_do(work);
    assert_int_equal(store_work_end(rig.store, work, &error), ESP_OK);
}

static void what_is_volatile_can_be_kept_for_good(void **state)
{
    (void)state;
    struct datum_id id = put(DATUM_VOLATILE, DATUM_STRICT);
    struct store_entry entry;
    keep(&id, DATUM_STICKY, ESP_OK);
    assert_int_equal(store_look(rig.store, &rig_alice, &id, &entry, NULL), ESP_OK);
    assert_int_equal(entry.mode, DATUM_STICKY);
    assert_int_equal(entry.flags, 0);
    assert_true(entry.on_disk);
    keep(&id, DATUM_STICKY, ESP_OK); /* it is so already */
    keep(&id, DATUM_VOLATILE, ESP_OK);
    keep(&id, DATUM_PERSISTENT, ESP_REFUSED);
    rig_close(&rig);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_int_equal(store_look(rig.store, &rig_alice, &id, &entry, NULL), ESP_OK);
    assert_int_equal(entry.mode, DATUM_STICKY);
    assert_int_equal(rig_check(&rig, &rig_alice, &id, NULL), ESP_OK);
}

int main(void)
{
    struct log_options quiet = {.node = "test", .path = "/dev/null", .level = LOG_ERROR_LEVEL};
    log_open(&quiet, NULL);
#define RIG_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        RIG_TEST(what_was_deleted_is_taken_from_nobody),
        RIG_TEST(who_may_not_delete_a_datum_keeps_nobody_from_it),
        RIG_TEST(what_has_moved_away_may_come_back),
        RIG_TEST(what_was_dropped_to_make_room_was_not_let_go),
        RIG_TEST(a_file_found_damaged_at_the_start_is_told_of),
        RIG_TEST(what_is_volatile_can_be_kept_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
