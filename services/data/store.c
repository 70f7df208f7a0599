/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data/store_state.h"

#include "util/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static char nobody[] = "";

struct datum *store_find(const struct store *store, struct datum_key key)
{
    struct datum *datum;
    HASH_FIND(hh, store->data, &key, sizeof key, datum);
    return datum;
}

bool store_add(struct store *store, struct datum *datum)
{
    HASH_ADD(hh, store->data, key, sizeof datum->key, datum);
    store->sorted = false;
    return datum->hh.tbl != NULL;
}

/* Most data are made here and have owners with names as short as "". */
static char *keep_name(struct store *store, const char *name)
{
    if (strcmp(name, store->node) == 0)
        return store->node;
    return name[0] ? strdup(name) : nobody;
}

static void drop_name(const struct store *store, char *name)
{
    if (name != store->node && name != nobody)
        free(name);
}

struct datum *store_make_entry(struct store *store, const struct datum_header *record)
{
    struct datum *datum = calloc(1, sizeof *datum);
    if (!datum)
        return NULL;
    datum->key = record->id.key;
    datum->shape = record->shape;
    datum->mode = record->mode;
    datum->flags = record->flags;
    datum->created_s = record->created_s;
    datum->used_ns = store_now(store);
    datum->segment_owner[0] = record->id.key.high; /* unless a client is known */
    datum->segment_owner[1] = record->id.key.low;
    datum->origin = keep_name(store, record->id.origin);
    datum->owner = keep_name(store, record->owner);
    if (datum->origin && datum->owner)
        return datum;
    store_free_entry(store, datum);
    return NULL;
}

void store_free_entry(struct store *store, struct datum *datum)
{
    drop_name(store, datum->origin);
    drop_name(store, datum->owner);
    ranges_clear(&datum->arrived);
    store_sums_clear(&datum->sums);
    free(datum->places);
    free(datum);
}

void store_fill_id(const struct datum *datum, struct datum_id *id)
{
    *id = (struct datum_id){datum->key, ""};
    memcpy(id->origin, datum->origin, strlen(datum->origin));
}

void store_fill_record(const struct datum *datum, struct datum_header *record)
{
    *record = (struct datum_header){
        .shape = datum->shape, .mode = datum->mode, .flags = datum->flags, .created_s = datum->created_s};
    store_fill_id(datum, &record->id);
    memcpy(record->owner, datum->owner, strlen(datum->owner));
}

enum esp_status store_busy(struct store *store, struct esp_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_vset(error, ESP_BUSY, format, arguments);
    va_end(arguments);
    store->refused_busy = true;
    return ESP_BUSY;
}

void store_changed(struct store *store)
{
    if (!store->refused_busy)
        return;
    store->refused_busy = false;
    if (store->options.changed)
        store->options.changed(store->options.arg);
}

enum esp_status store_check_owner(const struct store_asker *asker, const struct datum *datum,
                                  struct esp_error *error)
{
    const char *identity = asker->identity ? asker->identity : "";
    if (asker->trusted || datum->flags & DATUM_SHARED || strcmp(identity, datum->owner) == 0)
        return ESP_OK;
    return error_set(error, ESP_REFUSED,
                     "the datum belongs to %s, and is not shared: \"%.80s\" may not use it",
                     datum->owner[0] ? datum->owner : "clients without a certificate", identity);
}

enum esp_status store_find_visible(struct store *store, const struct store_asker *asker,
                                   const struct datum_id *id, struct datum **result, struct esp_error *error)
{
    char text[DATUM_TEXT], why[STORE_EPITAPH_TEXT];
    struct datum *datum = store_find(store, id->key);
    if (!datum || datum->state == DATUM_LEAVING)
        return error_set(error, ESP_NOT_FOUND, "server %.80s has no datum %.120s: %s", store->node,
                         datum_id_short(id, text), store_epitaph(store, id, why));
    if (datum->state != DATUM_VISIBLE)
        return error_set(error, ESP_NOT_FOUND, "server %.80s has no datum %.120s yet: it is still being put",
                         store->node, datum_id_short(id, text));
    enum esp_status status = store_check_owner(asker, datum, error);
    if (status == ESP_OK)
        *result = datum;
    return status;
}

/* ---- the end of a datum ---- */

static void count_end(struct store *store, const struct datum *datum, enum store_end end)
{
    switch (end) {
    case END_DROPPED:
    case END_PASSED:
        store->counts.dropped++;
        break;
    case END_EXPIRED:
        store->counts.expired++;
        break;
    case END_DAMAGED: /* counted when the file is set aside */
        break;
    default:
        store->counts.deleted += datum->state == DATUM_VISIBLE;
    }
}

void store_settle(struct store *store, struct datum *datum)
{
    if (!datum->gone || datum->pins || datum->held || datum->areas)
        return;
    store_give_memory(store, datum);
    datum_stream_close(datum->stream);
    store_free_entry(store, datum);
}

static void forget_on_disk(struct store *store, struct datum *datum)
{
    store_give_disk(store, datum);
    if (datum->on_disk && !datum->verified)
        store->n_unverified--;
    datum->on_disk = false;
}

/* Out of the hash. */
static void take_out(struct store *store, struct datum *datum)
{
    if (store->unverified == datum)
        store->unverified = datum->hh.next;
    HASH_DEL(store->data, datum);
    datum->gone = true;
    store_settle(store, datum);
}

void store_end(struct store *store, struct datum *datum, enum store_end end)
{
    const bool visible = datum->state == DATUM_VISIBLE, replica = datum->flags & DATUM_REPLICA;
    struct datum_id id;
    uint64_t bytes = datum->shape.bytes;
    store_fill_id(datum, &id);
    store_note_end(store, datum->key, datum->owner, end);
    count_end(store, datum, end);
    store_leave_client(store, datum);
    forget_on_disk(store, datum);
    store_stay(store, datum->key);
    store_spare_no_more(store, datum);
    store_forget_untaken(store, datum);
    if (visible && datum->stream)
        datum_stream_unlink(datum->stream); /* those who read it may outlive a new one of its name */
    if (visible) {
        store->counts.data--;
    } else {
        store->counts.unfinished--;
        DL_DELETE(store->unfinished, datum);
    }
    datum->state = DATUM_LEAVING;
    store_line_up(store, datum);
    if (datum->areas == 0)
        take_out(store, datum);
    if (visible && store->options.news)
        store->options.news(store->options.arg, &id, bytes,
                            end == END_DAMAGED && !replica ? STORE_DAMAGED : STORE_GONE);
    store_changed(store);
}

/* ---- the store ---- */

enum esp_status store_create(const struct store_options *options, struct store **result,
                             struct esp_error *error)
{
    struct store *store = calloc(1, sizeof *store);
    enum esp_status status = ESP_OK;
    if (!store) {
        status = error_no_memory(error, "the store");
    } else {
        store->options = *options;
        if (store->options.most_data == 0)
            store->options.most_data = STORE_MOST_DATA;
        snprintf(store->node, sizeof store->node, "%s", options->node);
        store->counts.memory_limit = options->memory_bytes;
        store->counts.disk_limit = options->disk_bytes;
        if (options->files)
            status = store_recover(store, error);
    }
    if (status != ESP_OK) {
        if (store)
            store_destroy(store);
        else if (options->files)
            options->files->ops->destroy(options->files);
        return status;
    }
    *result = store;
    return ESP_OK;
}

void store_destroy(struct store *store)
{
    if (!store)
        return;
    struct datum *datum, *next;
    HASH_ITER(hh, store->data, datum, next)
    {
        store_leave_client(store, datum);
        HASH_DEL(store->data, datum);
        segments_give(store->options.segments, datum->segment);
        datum_stream_close(datum->stream);
        store_free_entry(store, datum);
    }
    if (store->options.files)
        store->options.files->ops->destroy(store->options.files);
    store_forget_traces(store);
    store_forget_asides(store);
    free(store);
}
