/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data/store_state.h"

int store_compare_keys(struct datum_key a, struct datum_key b)
{
    if (a.high != b.high)
        return a.high < b.high ? -1 : 1;
    return a.low < b.low ? -1 : a.low > b.low;
}

static int compare(const struct datum *a, const struct datum *b)
{
    return store_compare_keys(a->key, b->key);
}

static void fill_entry(const struct store *store, const struct datum *datum, struct store_entry *entry)
{
    struct datum_header record;
    store_fill_record(datum, &record);
    *entry = (struct store_entry){.id = record.id,
                                  .shape = record.shape,
                                  .mode = record.mode,
                                  .flags = record.flags,
                                  .created_s = record.created_s,
                                  .in_memory = datum_in_memory(datum) && !datum->loading,
                                  .on_disk = datum->on_disk || datum->stream,
                                  .pins = datum->pins,
                                  .puts = datum->puts,
                                  .gets = datum->gets,
                                  .bytes_in = datum->bytes_in,
                                  .bytes_out = datum->bytes_out,
                                  .disk_reads = datum->disk_reads,
                                  .idle_s = (double)(store_now(store) - datum->used_ns) / 1e9};
    memcpy(entry->owner, record.owner, sizeof entry->owner);
}

enum esp_status store_look(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                           struct store_entry *entry, struct esp_error *error)
{
    struct datum *datum;
    enum esp_status status = store_find_visible(store, asker, id, &datum, error);
    if (status == ESP_OK)
        fill_entry(store, datum, entry);
    return status;
}

bool store_has(const struct store *store, struct datum_key key)
{
    const struct datum *datum = store_find(store, key);
    return datum && datum->state == DATUM_VISIBLE;
}

/* Pages of a long list cost one sort and no more: what is added is sorted in by the next one. */
static struct datum *behind(struct store *store, struct datum_key after)
{
    if (!store->sorted) {
        HASH_SORT(store->data, compare);
        store->sorted = true;
        store->unverified = NULL;
    }
    struct datum *datum = datum_key_is_none(after) ? NULL : store_find(store, after);
    if (datum)
        return datum->hh.next;
    for (datum = store->data; datum && store_compare_keys(datum->key, after) <= 0;)
        datum = datum->hh.next;
    return datum;
}

size_t store_list(struct store *store, const struct store_asker *asker, struct datum_key after,
                  struct store_entry *entries, size_t capacity)
{
    size_t n = 0;
    for (struct datum *datum = behind(store, after); datum && n < capacity; datum = datum->hh.next)
        if (datum->state == DATUM_VISIBLE && store_check_owner(asker, datum, NULL) == ESP_OK)
            fill_entry(store, datum, &entries[n++]);
    return n;
}

void store_each(const struct store *store,
                void (*visit)(void *arg, const struct datum_id *id, uint64_t bytes), void *arg)
{
    struct datum_id id;
    for (const struct datum *datum = store->data; datum; datum = datum->hh.next) {
        if (datum->state != DATUM_VISIBLE)
            continue;
        store_fill_id(datum, &id);
        visit(arg, &id, datum->shape.bytes);
    }
}

void store_count(const struct store *store, struct store_counts *counts)
{
    *counts = store->counts;
    counts->pinned_bytes = counts->memory_bytes - store->movable_bytes;
}
