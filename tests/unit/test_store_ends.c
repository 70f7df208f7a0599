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
    assert_true(store_was_deleted(rig.store, id.key));
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
    assert_false(store_was_deleted(rig.store, coming.key)); /* it was never here */
}

static void what_has_moved_away_may_come_back(void **state)
{
    (void)state;
    struct datum_id id = put(DATUM_PERSISTENT, 0);
    struct esp_error error;
    assert_int_equal(store_depart(rig.store, &rig_alice, &id, "node9", NULL), ESP_OK);
    assert_int_equal(rig_check(&rig, &rig_alice, &id, &error), ESP_NOT_FOUND);
    assert_string_equal(store_moved_to(rig.store, id.key), "node9");
    assert_says(&error, "it was moved to server node9");
    assert_false(store_was_deleted(rig.store, id.key));
    assert_false(store_is_barred(rig.store, id.key, "alice", 0));
    rig_close(&rig);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_int_equal(rig_check(&rig, &rig_alice, &id, &error), ESP_NOT_FOUND);
    assert_says(&error, "it was moved to server node9"); /* also after a restart */
    assert_string_equal(store_moved_to(rig.store, id.key), "node9");
}

static void assert_places(struct datum_key key, const char *expected, size_t expected_bytes)
{
    size_t bytes;
    const char *places = store_places(rig.store, key, &bytes);
    assert_int_equal(bytes, expected_bytes);
    if (bytes > 0)
        assert_memory_equal(places, expected, bytes);
}

static enum esp_status note_places(const struct store_asker *asker, const struct datum_id *id,
                                   const char *names, size_t bytes)
{
    return store_note_places(rig.store, asker, id->key, names, bytes, NULL);
}

static void other_places_of_a_datum_are_remembered_as_long_as_it_is(void **state)
{
    (void)state;
    static const char two[] = "node8\0node9", more[] = "node9\0node10", all[] = "node8\0node9\0node10";
    struct datum_id durable = put(DATUM_PERSISTENT, 0), other = put(DATUM_VOLATILE, 0);
    const struct datum_id *both[] = {&durable, &other};
    for (int i = 0; i < 2; i++) {
        assert_places(both[i]->key, "", 0);
        assert_int_equal(note_places(&rig_bob, both[i], two, sizeof two), ESP_REFUSED);
        assert_int_equal(note_places(&rig_alice, both[i], two, sizeof two), ESP_OK);
        assert_int_equal(note_places(&rig_alice, both[i], more, sizeof more), ESP_OK);
        assert_places(both[i]->key, all, sizeof all);
    }
    assert_int_equal(note_places(&rig_alice, &durable, "node8", 5), ESP_PROTOCOL);
    assert_int_equal(note_places(&rig_alice, &durable, "no\nde", 6), ESP_PROTOCOL);
    rig_close(&rig);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_places(durable.key, all, sizeof all);
    assert_int_equal(note_places(&rig_alice, &other, two, sizeof two), ESP_NOT_FOUND);
}

/* The datum goes as a copy, or in a move back. */
static struct store_new coming_back(const struct datum_id *id, uint32_t flags)
{
    struct store_new coming = rig_new(5000, DATUM_PERSISTENT, flags);
    coming.id = id;
    coming.owner = "alice";
    return coming;
}

static void what_has_moved_away_is_known_while_it_comes_back_and_when_that_fails(void **state)
{
    (void)state;
    struct datum_id id = put(DATUM_PERSISTENT, 0), same;
    struct esp_error error;
    const struct store_new moving = coming_back(&id, 0);
    assert_int_equal(store_depart(rig.store, &rig_alice, &id, "node9", NULL), ESP_OK);
    assert_int_equal(rig_begin(&rig, &rig_alice, &moving, &same, &error), ESP_OK);
    assert_places(id.key, "node9", sizeof "node9");
    assert_int_equal(store_abort(rig.store, &rig_alice, id.key, &error), ESP_OK);
    assert_places(id.key, "node9", sizeof "node9");
    assert_int_equal(rig_check(&rig, &rig_alice, &id, &error), ESP_NOT_FOUND);
    assert_says(&error, "it was moved to server node9");
}

static void a_replica_of_what_has_moved_away_does_not_hide_where_it_is(void **state)
{
    (void)state;
    struct datum_id id = put(DATUM_PERSISTENT, 0), same;
    struct esp_error error;
    const struct store_new replica = coming_back(&id, DATUM_REPLICA);
    assert_int_equal(store_depart(rig.store, &rig_alice, &id, "node9", NULL), ESP_OK);
    assert_int_equal(rig_begin(&rig, &rig_alice, &replica, &same, &error), ESP_OK);
    assert_int_equal(rig_fill(&rig, &rig_alice, &id, 5000, &error), ESP_OK);
    assert_int_equal(rig_commit(&rig, &rig_alice, &id, &error), ESP_OK);
    assert_int_equal(rig_check(&rig, &rig_alice, &id, &error), ESP_OK);
    assert_places(id.key, "node9", sizeof "node9");
    assert_int_equal(store_delete(rig.store, &rig_alice, &id, &error), ESP_OK);
    assert_places(id.key, "node9", sizeof "node9");
    assert_int_equal(rig_check(&rig, &rig_alice, &id, &error), ESP_NOT_FOUND);
    assert_says(&error, "it was deleted");
}

/* The ends are kept until they have gone there, too, or nobody cares: a server that asks later gets them,
 * also after a restart. */
static void other_places_of_what_was_deleted_are_remembered_until_that_is_settled(void **state)
{
    (void)state;
    static const char two[] = "node8\0node9";
    struct datum_id id = put(DATUM_PERSISTENT, 0);
    assert_int_equal(note_places(&rig_alice, &id, two, sizeof two), ESP_OK);
    assert_int_equal(store_delete(rig.store, &rig_alice, &id, NULL), ESP_OK);
    for (int starts = 0; starts < 2; starts++) {
        assert_places(id.key, two, sizeof two);
        assert_true(store_was_deleted(rig.store, id.key));
        assert_true(store_is_barred(rig.store, id.key, "alice", 0));
        rig_close(&rig);
        assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    }
    store_settle_places(rig.store, &rig_bob, id.key, two, sizeof two);
    assert_places(id.key, two, sizeof two);
    store_settle_places(rig.store, &rig_alice, id.key, "node8", sizeof "node8");
    rig_close(&rig);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_places(id.key, "node9", sizeof "node9");
    store_settle_places(rig.store, &rig_server, id.key, "node9", sizeof "node9");
    assert_places(id.key, "", 0);
    rig_close(&rig);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_places(id.key, "", 0);
    assert_false(store_was_deleted(rig.store, id.key));
}

static void what_was_dropped_to_make_room_was_not_deleted(void **state)
{
    (void)state;
    struct datum_id first = put(DATUM_VOLATILE, 0);
    while (store_has(rig.store, first.key))
        put(DATUM_VOLATILE, 0);
    assert_false(store_was_deleted(rig.store, first.key));
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

static void note(void *arg, struct datum_key key)
{
    struct datum_key *seen = arg;
    assert_true(datum_key_is_none(*seen));
    *seen = key;
}

static struct datum_key set_aside(void)
{
    struct datum_key seen = {0};
    assert_int_equal(store_each_damaged(rig.store, note, &seen, NULL), ESP_OK);
    return seen;
}

/* A server that looks for a copy of it elsewhere learns of it then, and from the folder after each start. */
static void an_original_that_is_lost_is_told_of_as_such(void **state)
{
    (void)state;
    struct datum_id id = put(DATUM_PERSISTENT, 0), other = put(DATUM_PERSISTENT, 0);
    char name[DATUM_FILE_NAME];
    rig_close(&rig);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_true(datum_key_is_none(set_aside()));
    assert_true(disk_flip(rig.disk, datum_file_name(id.key, true, name), datum_header_bytes(5000) + 1));
    assert_int_equal(rig_check(&rig, &rig_alice, &id, NULL), ESP_NOT_FOUND);
    assert_int_equal(rig.damaged, 1);
    assert_true(datum_key_equal(rig.last_gone.key, id.key));
    assert_true(store_has_lost(rig.store, id.key));
    assert_int_equal(store_delete(rig.store, &rig_alice, &other, NULL), ESP_OK);
    assert_int_equal(rig.damaged, 1);
    assert_false(store_has_lost(rig.store, other.key));
    assert_true(datum_key_equal(set_aside(), id.key));
    rig_close(&rig);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_true(datum_key_equal(set_aside(), id.key));
}

static struct store_counts counted(void)
{
    struct store_counts counts;
    store_count(rig.store, &counts);
    return counts;
}

/* Damaged at these offsets while the store is closed, found when it is opened or read. */
static void damage(const struct datum_id *id, uint64_t offset)
{
    char name[DATUM_FILE_NAME];
    rig_close(&rig);
    assert_true(disk_flip(rig.disk, datum_file_name(id->key, true, name), offset));
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_int_equal(rig_check(&rig, &rig_alice, id, NULL), ESP_NOT_FOUND);
}

static void what_was_set_aside_is_listed_and_removed_by_its_owner(void **state)
{
    (void)state;
    struct datum_id ids[2] = {put(DATUM_PERSISTENT, 0), put(DATUM_STICKY, 0)};
    struct store_aside asides[4];
    struct esp_error error;
    const struct datum_key none = {0};
    for (int i = 0; i < 2; i++)
        damage(&ids[i], datum_header_bytes(5000) + 1);
    for (int starts = 0; starts < 2; starts++) {
        assert_int_equal(store_list_asides(rig.store, &rig_bob, none, asides, 4), 0);
        assert_int_equal(store_list_asides(rig.store, &rig_alice, none, asides, 4), 2);
        assert_int_equal(counted().aside, 2);
        assert_int_equal(counted().aside_bytes, 2 * datum_file_bytes(5000));
        rig_close(&rig);
        assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    }
    assert_true(asides[0].readable && asides[0].shape.bytes == 5000);
    assert_int_equal(asides[0].file_bytes, datum_file_bytes(5000));
    assert_int_equal(store_list_asides(rig.store, &rig_alice, asides[0].id.key, asides + 2, 2), 1);
    assert_true(datum_key_equal(asides[1].id.key, asides[2].id.key));
    assert_int_equal(store_remove_aside(rig.store, &rig_bob, &ids[0], &error), ESP_REFUSED);
    assert_says(&error, "belongs to alice");
    assert_int_equal(store_remove_aside(rig.store, &rig_alice, &ids[0], NULL), ESP_OK);
    assert_int_equal(store_remove_aside(rig.store, &rig_alice, &ids[0], NULL), ESP_NOT_FOUND);
    assert_int_equal(rig_check(&rig, &rig_alice, &ids[0], &error), ESP_NOT_FOUND);
    assert_says(&error, "its file was damaged, and was removed");
    rig_close(&rig);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_int_equal(store_list_asides(rig.store, &rig_alice, none, asides, 4), 1);
    assert_true(datum_key_equal(asides[0].id.key, ids[1].key));
    assert_int_equal(counted().aside, 1);
}

static void a_file_of_which_nobody_knows_whose_it_was_is_for_who_is_trusted(void **state)
{
    (void)state;
    struct datum_id id = put(DATUM_PERSISTENT, 0);
    struct store_aside aside;
    const struct datum_key none = {0};
    damage(&id, 20); /* in the header */
    assert_int_equal(store_list_asides(rig.store, &rig_alice, none, &aside, 1), 0);
    assert_int_equal(store_remove_aside(rig.store, &rig_alice, &id, NULL), ESP_REFUSED);
    assert_int_equal(store_list_asides(rig.store, &rig_server, none, &aside, 1), 1);
    assert_false(aside.readable);
    assert_int_equal(aside.file_bytes, datum_file_bytes(5000));
    assert_int_equal(store_remove_aside(rig.store, &rig_server, &id, NULL), ESP_OK);
    assert_int_equal(counted().aside_bytes, 0);
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
        RIG_TEST(other_places_of_a_datum_are_remembered_as_long_as_it_is),
        RIG_TEST(what_has_moved_away_is_known_while_it_comes_back_and_when_that_fails),
        RIG_TEST(a_replica_of_what_has_moved_away_does_not_hide_where_it_is),
        RIG_TEST(other_places_of_what_was_deleted_are_remembered_until_that_is_settled),
        RIG_TEST(what_was_dropped_to_make_room_was_not_deleted),
        RIG_TEST(a_file_found_damaged_at_the_start_is_told_of),
        RIG_TEST(an_original_that_is_lost_is_told_of_as_such),
        RIG_TEST(what_was_set_aside_is_listed_and_removed_by_its_owner),
        RIG_TEST(a_file_of_which_nobody_knows_whose_it_was_is_for_who_is_trusted),
        RIG_TEST(what_is_volatile_can_be_kept_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
