/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that nobody knows yet do not outlive the process that made them; others do, whenever the power goes.
 */
#include "tests/unit/unit.h"
#include "tests/unit/store_rig.h"

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

static void start_again(void)
{
    struct esp_error error;
    rig_close(&rig);
    disk_power_cut(rig.disk);
    if (rig_open(&rig, &error) != ESP_OK)
        fail_msg("%s", error.text);
}

static bool is_marked(void)
{
    for (size_t i = 0; disk_name(rig.disk, i); i++)
        if (strstr(disk_name(rig.disk, i), ".untaken"))
            return true;
    return false;
}

/* All of it is there, and not committed. */
static struct datum_id fill(enum datum_mode mode)
{
    struct datum_id id;
    const struct store_new new_datum = rig_new(5000, mode, 0);
    assert_int_equal(rig_begin(&rig, &rig_alice, &new_datum, &id, NULL), ESP_OK);
    assert_int_equal(rig_fill(&rig, &rig_alice, &id, 5000, NULL), ESP_OK);
    return id;
}

static enum esp_status make(const struct datum_id *id)
{
    const enum esp_status status = store_note_untaken(rig.store, id->key, NULL);
    return status == ESP_OK ? rig_commit(&rig, &rig_alice, id, NULL) : status;
}

static void what_nobody_knows_goes_whenever_the_power_does(void **state)
{
    (void)state;
    bool crashed = true;
    for (uint64_t n = 1; crashed; n++) {
        const struct datum_id id = fill(DATUM_PERSISTENT);
        disk_crash_at(rig.disk, n);
        const enum esp_status status = make(&id);
        crashed = disk_crashed(rig.disk);
        assert_true(crashed || status == ESP_OK);
        start_again();
        assert_false(store_has(rig.store, id.key));
        assert_false(is_marked());
    }
}

static void what_is_known_stays_whenever_the_power_goes(void **state)
{
    (void)state;
    bool crashed = true;
    for (uint64_t n = 1; crashed; n++) {
        const struct datum_id id = fill(DATUM_PERSISTENT);
        assert_int_equal(make(&id), ESP_OK);
        disk_crash_at(rig.disk, n);
        const bool known = store_note_taken(rig.store, id.key, NULL) == ESP_OK;
        crashed = disk_crashed(rig.disk);
        start_again();
        assert_false(is_marked());
        assert_true(!known || store_has(rig.store, id.key));
        assert_true(crashed || known);
        if (known)
            assert_int_equal(rig_check(&rig, &rig_alice, &id, NULL), ESP_OK);
    }
}

static void it_may_be_said_twice(void **state)
{
    (void)state;
    const struct datum_id id = fill(DATUM_PERSISTENT);
    assert_int_equal(store_note_untaken(rig.store, id.key, NULL), ESP_OK);
    assert_int_equal(make(&id), ESP_OK);
    assert_int_equal(store_note_taken(rig.store, id.key, NULL), ESP_OK);
    assert_int_equal(store_note_taken(rig.store, id.key, NULL), ESP_OK);
    assert_int_equal(store_note_untaken(rig.store, id.key, NULL), ESP_OK); /* it is there: that is late */
    assert_false(is_marked());
}

static void with_the_datum_goes_its_mark(void **state)
{
    (void)state;
    struct datum_id id = fill(DATUM_PERSISTENT);
    assert_int_equal(make(&id), ESP_OK);
    assert_true(is_marked());
    assert_int_equal(store_delete(rig.store, &rig_alice, &id, NULL), ESP_OK);
    assert_false(is_marked());
    id = fill(DATUM_PERSISTENT);
    assert_int_equal(store_note_untaken(rig.store, id.key, NULL), ESP_OK);
    assert_int_equal(store_abort(rig.store, &rig_alice, id.key, NULL), ESP_OK);
    assert_false(is_marked());
}

static void what_does_not_outlive_its_process_needs_none(void **state)
{
    (void)state;
    const struct datum_id id = fill(DATUM_VOLATILE);
    assert_int_equal(make(&id), ESP_OK);
    assert_false(is_marked());
    assert_true(store_has(rig.store, id.key));
}

static void what_the_disk_does_not_note_is_not_made(void **state)
{
    (void)state;
    const struct datum_id id = fill(DATUM_PERSISTENT);
    disk_fail_some(rig.disk, 1000, 0);
    assert_int_equal(store_note_untaken(rig.store, id.key, NULL), ESP_NO_MEMORY);
    disk_fail_some(rig.disk, 0, 0);
    assert_false(is_marked());
    assert_int_equal(make(&id), ESP_OK);
    assert_true(is_marked());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_nobody_knows_goes_whenever_the_power_does, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_known_stays_whenever_the_power_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_may_be_said_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(with_the_datum_goes_its_mark, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_does_not_outlive_its_process_needs_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_the_disk_does_not_note_is_not_made, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
