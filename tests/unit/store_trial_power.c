/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "tests/unit/store_rig.h"
#include "tests/unit/store_trials.h"

#include "services/data/datum_file.h"
#include "util/random.h"

#define MOST  40  /* data at a time */
#define STEPS 60  /* operations of the store between two crashes, at most */
#define PAGES 600 /* of memory */

/* The promise made about a datum. */
enum promise { PROMISE_NONE, PROMISE_KEPT, PROMISE_EITHER, PROMISE_GONE };

struct item {
    struct datum_id id;
    uint64_t bytes;
    enum promise promise;
};

struct life {
    struct rig rig;
    struct random random;
    struct item items[MOST];
    struct trial *trial;
    uint64_t ends;
};

static uint64_t below(struct life *life, uint64_t bound)
{
    return random_below(&life->random, bound);
}

static struct item *free_item(struct life *life)
{
    for (size_t i = 0; i < MOST; i++)
        if (life->items[i].promise == PROMISE_NONE)
            return &life->items[i];
    return NULL;
}

static struct item *some_item(struct life *life)
{
    struct item *item = &life->items[below(life, MOST)];
    return item->promise == PROMISE_KEPT ? item : NULL;
}

static uint64_t some_size(struct life *life)
{
    switch (below(life, 40)) {
    case 2: /* more than the memory: streamed */
        return PAGES * RIG_PAGE + below(life, DATUM_FILE_BLOCK);
    case 0:
        return DATUM_FILE_BLOCK + below(life, 5000); /* two blocks */
    case 1:
        return 0;
    default:
        return 1 + below(life, 3 * RIG_PAGE);
    }
}

static void put_one(struct life *life)
{
    struct item *item = free_item(life);
    if (!item)
        return;
    static const enum datum_mode modes[] = {DATUM_PERSISTENT, DATUM_PERSISTENT_RETURN, DATUM_STICKY,
                                            DATUM_STICKY_RETURN};
    struct store_new new_datum = rig_new(some_size(life), modes[below(life, 4)], 0);
    item->bytes = new_datum.shape.bytes;
    if (rig_begin(&life->rig, &rig_alice, &new_datum, &item->id, NULL) != ESP_OK)
        return;
    if (below(life, 10) == 0) { /* a client that goes away */
        store_abort(life->rig.store, &rig_alice, item->id.key, NULL);
        return;
    }
    rig_fill(&life->rig, &rig_alice, &item->id, item->bytes, NULL);
    item->promise = PROMISE_EITHER;
    enum esp_status status = rig_commit(&life->rig, &rig_alice, &item->id, NULL);
    if (status != ESP_OK && below(life, 2))
        status = rig_commit(&life->rig, &rig_alice, &item->id, NULL); /* once more */
    if (status == ESP_OK)
        item->promise = PROMISE_KEPT;
    else
        store_abort(life->rig.store, &rig_alice, item->id.key, NULL);
}

static void delete_one(struct life *life)
{
    struct item *item = some_item(life);
    if (!item)
        return;
    enum esp_status status = store_delete(life->rig.store, &rig_alice, &item->id, NULL);
    if (status == ESP_OK)
        item->promise = PROMISE_GONE;
    else if (disk_crashed(life->rig.disk) || !store_has(life->rig.store, item->id.key))
        item->promise = PROMISE_EITHER;
}

static void check_one(struct life *life, struct item *item)
{
    bool in_pieces = item->bytes > PAGES * RIG_PAGE || below(life, 4) == 0;
    enum esp_status status =
        in_pieces ? rig_check_pieces(&life->rig, &rig_alice, &item->id, 1 + below(life, 1 << 21), NULL)
                  : rig_check(&life->rig, &rig_alice, &item->id, NULL);
    struct trial *trial = life->trial;
    if (disk_crashed(life->rig.disk))
        return;
    trial->kept += item->promise == PROMISE_KEPT;
    trial->wrong += status == ESP_FAILED;
    trial->lost += item->promise == PROMISE_KEPT && status != ESP_OK;
    trial->risen += item->promise == PROMISE_GONE && status == ESP_OK;
    trial->strange += status != ESP_OK && status != ESP_NOT_FOUND;
}

/* Until the power goes, or enough was done. */
static void live(struct life *life)
{
    for (int i = 0; i < STEPS && !disk_crashed(life->rig.disk); i++) {
        uint64_t what = below(life, 10);
        struct item *item = some_item(life);
        if (what < 5)
            put_one(life);
        else if (what < 7)
            delete_one(life);
        else if (item)
            check_one(life, item);
    }
}

/* After the start, what may be there is there or not, and that stays so. */
static void judge(struct life *life)
{
    struct store_counts counts;
    store_count(life->rig.store, &counts);
    uint32_t n = 0;
    for (size_t i = 0; i < MOST; i++) {
        struct item *item = &life->items[i];
        if (item->promise == PROMISE_NONE)
            continue;
        check_one(life, item);
        bool there = store_has(life->rig.store, item->id.key);
        if (item->promise == PROMISE_EITHER)
            item->promise = there ? PROMISE_KEPT : PROMISE_GONE;
        else if (item->promise == PROMISE_GONE && below(life, 2))
            item->promise = PROMISE_NONE; /* room for others */
        n += there;
    }
    life->trial->strange += counts.damaged + (counts.data != n);
}

/* The start itself may be interrupted, again and again. */
static void start(struct life *life)
{
    if (below(life, 3) == 0)
        disk_crash_at(life->rig.disk, 1 + below(life, 40));
    while (rig_open(&life->rig, NULL) != ESP_OK) {
        life->trial->strange += !disk_crashed(life->rig.disk);
        disk_power_cut(life->rig.disk);
        life->ends++;
        if (below(life, 3) == 0)
            disk_crash_at(life->rig.disk, 1 + below(life, 40));
    }
    disk_crash_at(life->rig.disk, 0);
    judge(life);
}

void trial_power_cuts(uint64_t seed, unsigned ends, unsigned faults_per_mille, struct trial *trial)
{
    static struct life life;
    life = (struct life){.trial = trial};
    random_seed(&life.random, seed);
    rig_create(&life.rig, seed, PAGES, 64 << 20);
    life.rig.options.verify_bytes = seed % 2 ? UINT64_MAX : 0;
    while (life.ends < ends) {
        disk_crash_at(life.rig.disk, 1 + below(&life, 200));
        disk_fail_some(life.rig.disk, faults_per_mille, faults_per_mille);
        live(&life);
        rig_close(&life.rig);
        disk_fail_some(life.rig.disk, 0, 0);
        disk_power_cut(life.rig.disk);
        life.ends++;
        start(&life);
    }
    rig_destroy(&life.rig);
    trial->ends += life.ends;
}
