/* SPDX-License-Identifier: Apache-2.0
 *
 * The store against a model of a hundred lines, over random operations: after each one both have the same
 * data, in the same places, with the same bytes in use.
 */
#include "tests/unit/unit.h"
#include "tests/unit/store_rig.h"

#include "services/data/datum_file.h"
#include "util/log.h"
#include "util/random.h"

#include <stdio.h>

#define MOST  24
#define PAGES 40
#define DISK  (60 * RIG_PAGE)
#define PINS  3

enum stage { STAGE_NONE, STAGE_PUTTING, STAGE_VISIBLE, STAGE_GONE };

struct item {
    enum stage stage;
    struct datum_id id;
    uint64_t bytes;
    bool durable, in_memory;
    uint64_t stamp; /* when it came to the end of its line */
    struct store_pin *pins[PINS];
    unsigned n_pins;
};

struct model {
    struct rig rig;
    struct random random;
    struct item items[MOST];
    uint64_t now, refused_busy, refused_disk, dropped, read_again;
};

static uint64_t below(struct model *model, uint64_t bound)
{
    return random_below(&model->random, bound);
}

static uint64_t pages(uint64_t bytes)
{
    return (bytes + RIG_PAGE - 1) / RIG_PAGE;
}

/* ---- what the store should do ---- */

static bool movable(const struct item *item)
{
    return item->stage == STAGE_VISIBLE && item->n_pins == 0 && item->in_memory && item->bytes > 0;
}

static uint64_t memory_pages(const struct model *model, bool only_fixed)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < MOST; i++)
        if (model->items[i].in_memory && !(only_fixed && movable(&model->items[i])))
            sum += pages(model->items[i].bytes);
    return sum;
}

static uint64_t disk_bytes(const struct model *model)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < MOST; i++) {
        const struct item *item = &model->items[i];
        if (item->durable && (item->stage == STAGE_PUTTING || item->stage == STAGE_VISIBLE))
            sum += datum_file_bytes(item->bytes);
    }
    return sum;
}

static void settle(struct item *item)
{
    if (item->stage == STAGE_GONE && item->n_pins == 0)
        *item = (struct item){.stage = STAGE_NONE};
}

static struct item *first_to_go(struct model *model, bool durable)
{
    struct item *first = NULL;
    for (size_t i = 0; i < MOST; i++) {
        struct item *item = &model->items[i];
        if (movable(item) && item->durable == durable && (!first || item->stamp < first->stamp))
            first = item;
    }
    return first;
}

static enum esp_status expect_room(struct model *model, uint64_t bytes)
{
    if (pages(bytes) > PAGES)
        return ESP_NO_MEMORY;
    if (pages(bytes) > PAGES - memory_pages(model, true)) {
        model->refused_busy++;
        return ESP_BUSY;
    }
    return ESP_OK;
}

static bool is_streamed(bool durable, uint64_t bytes)
{
    return durable && pages(bytes) > PAGES;
}

static void make_room(struct model *model, uint64_t bytes)
{
    while (memory_pages(model, false) + pages(bytes) > PAGES) {
        struct item *item = first_to_go(model, false);
        if (item) {
            model->dropped++;
            *item = (struct item){.stage = STAGE_NONE};
        } else {
            first_to_go(model, true)->in_memory = false;
        }
    }
}

static void compare(struct model *model)
{
    struct store_counts counts;
    struct store_entry entry;
    uint32_t visible = 0;
    store_count(model->rig.store, &counts);
    assert_int_equal(counts.memory_bytes, memory_pages(model, false) * RIG_PAGE);
    assert_int_equal(counts.pinned_bytes, memory_pages(model, true) * RIG_PAGE);
    assert_int_equal(counts.disk_bytes, disk_bytes(model));
    for (size_t i = 0; i < MOST; i++) {
        const struct item *item = &model->items[i];
        if (item->stage == STAGE_NONE)
            continue;
        assert_int_equal(store_has(model->rig.store, item->id.key), item->stage == STAGE_VISIBLE);
        if (item->stage != STAGE_VISIBLE)
            continue;
        visible++;
        assert_int_equal(store_look(model->rig.store, &rig_alice, &item->id, &entry, NULL), ESP_OK);
        assert_int_equal(entry.in_memory, item->in_memory || item->bytes == 0);
        assert_int_equal(entry.on_disk, item->durable);
        assert_int_equal(entry.pins, item->n_pins);
    }
    assert_int_equal(counts.data, visible);
}

/* ---- operations on both ---- */

static struct item *some(struct model *model, enum stage stage)
{
    struct item *item = &model->items[below(model, MOST)];
    return item->stage == stage ? item : NULL;
}

static void begin(struct model *model)
{
    struct item *item = some(model, STAGE_NONE);
    if (!item)
        return;
    uint64_t bytes = below(model, 20) == 0 ? below(model, 50 * RIG_PAGE) : below(model, 10 * RIG_PAGE);
    bool durable = below(model, 2);
    struct store_new new_datum = rig_new(bytes, durable ? DATUM_PERSISTENT : DATUM_VOLATILE, 0);
    enum esp_status expected = ESP_OK;
    if (durable && disk_bytes(model) + datum_file_bytes(bytes) > DISK) {
        model->refused_disk++;
        expected = ESP_LIMIT;
    } else if (!is_streamed(durable, bytes)) {
        expected = expect_room(model, bytes);
    }
    struct datum_id id;
    assert_int_equal(rig_begin(&model->rig, &rig_alice, &new_datum, &id, NULL), expected);
    if (expected != ESP_OK)
        return;
    if (!is_streamed(durable, bytes))
        make_room(model, bytes);
    *item = (struct item){STAGE_PUTTING, id, bytes, durable, !is_streamed(durable, bytes), 0, {NULL}, 0};
}

static void commit(struct model *model)
{
    struct item *item = some(model, STAGE_PUTTING);
    if (!item)
        return;
    assert_int_equal(rig_fill(&model->rig, &rig_alice, &item->id, item->bytes, NULL), ESP_OK);
    assert_int_equal(rig_commit(&model->rig, &rig_alice, &item->id, NULL), ESP_OK);
    item->stage = STAGE_VISIBLE;
    item->stamp = ++model->now;
}

static void give_up(struct model *model)
{
    struct item *item = some(model, STAGE_PUTTING);
    if (!item)
        return;
    assert_int_equal(store_abort(model->rig.store, &rig_alice, item->id.key, NULL), ESP_OK);
    *item = (struct item){.stage = STAGE_NONE};
}

static void pin(struct model *model)
{
    struct item *item = some(model, STAGE_VISIBLE);
    if (!item || item->n_pins == PINS)
        return;
    bool load = !item->in_memory && item->bytes > 0;
    enum esp_status expected = load ? expect_room(model, item->bytes) : ESP_OK;
    assert_int_equal(rig_pin(&model->rig, &rig_alice, &item->id, &item->pins[item->n_pins], NULL), expected);
    if (expected != ESP_OK)
        return;
    if (load) {
        make_room(model, item->bytes);
        model->read_again++;
    }
    item->in_memory = true;
    item->n_pins++;
}

static void unpin(struct model *model)
{
    struct item *item = some(model, below(model, 2) ? STAGE_VISIBLE : STAGE_GONE);
    if (!item || item->n_pins == 0)
        return;
    struct store_pin *last = item->pins[--item->n_pins];
    const struct store_memory *memory = store_pin_memory(last);
    assert_int_equal(memory->bytes, item->bytes);
    assert_true(rig_is_content(&item->id, memory->data, item->bytes)); /* also of what was deleted */
    store_release(model->rig.store, last, false);
    if (item->n_pins == 0)
        item->stamp = ++model->now;
    settle(item);
}

static void delete_it(struct model *model)
{
    struct item *item = some(model, STAGE_VISIBLE);
    if (!item || below(model, 3))
        return;
    assert_int_equal(store_delete(model->rig.store, &rig_alice, &item->id, NULL), ESP_OK);
    item->stage = STAGE_GONE;
    item->durable = false;
    settle(item);
}

static void restart(struct model *model)
{
    if (below(model, 40))
        return;
    for (size_t i = 0; i < MOST; i++) {
        struct item *item = &model->items[i];
        while (item->n_pins > 0)
            store_release(model->rig.store, item->pins[--item->n_pins], false);
        if (item->stage != STAGE_VISIBLE || !item->durable)
            *item = (struct item){.stage = STAGE_NONE};
        item->in_memory = false;
    }
    rig_close(&model->rig);
    assert_int_equal(rig_open(&model->rig, NULL), ESP_OK);
}

static void (*const operations[])(struct model *) = {begin, begin, commit, commit,    commit, give_up,
                                                     pin,   pin,   pin,    unpin,     unpin,  unpin,
                                                     unpin, unpin, unpin,  delete_it, restart};

static void the_store_does_what_the_model_does(void **state)
{
    static struct model model;
    uint64_t busy = 0, disk = 0, dropped = 0, read_again = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        model = (struct model){.now = 0};
        random_seed(&model.random, seed);
        rig_create(&model.rig, seed, PAGES, DISK);
        model.rig.options.client_lease_ns = 0;
        for (int i = 0; i < 1500; i++) {
            operations[below(&model, sizeof operations / sizeof *operations)](&model);
            compare(&model);
        }
        for (size_t i = 0; i < MOST; i++)
            while (model.items[i].n_pins > 0)
                store_release(model.rig.store, model.items[i].pins[--model.items[i].n_pins], false);
        rig_destroy(&model.rig);
        busy += model.refused_busy;
        disk += model.refused_disk;
        dropped += model.dropped;
        read_again += model.read_again;
    }
    /* The walk came everywhere. */
    assert_true(busy > 100 && disk > 100 && dropped > 100 && read_again > 100);
}

int main(void)
{
    struct log_options quiet = {.node = "test", .path = "/dev/null", .level = LOG_ERROR_LEVEL};
    log_open(&quiet, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_store_does_what_the_model_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
