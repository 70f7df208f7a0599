/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data/store_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- begin ---- */

static enum esp_status check_new(const struct store *store, const struct store_new *new_datum,
                                 struct esp_error *error)
{
    uint32_t flags = new_datum->flags;
    if ((unsigned)new_datum->mode >= DATUM_N_MODES || flags & ~DATUM_ALL_FLAGS)
        return error_set(error, ESP_INVALID,
                         "expected a persistence mode from 0 to %d, found %d, flags %" PRIx32,
                         DATUM_N_MODES - 1, (int)new_datum->mode, flags);
    if (flags & DATUM_REPLICA && flags & DATUM_UNIQUE)
        return error_set(error, ESP_INVALID, "a unique datum has no replicas");
    if (flags & DATUM_STRICT && new_datum->mode != DATUM_VOLATILE)
        return error_set(error, ESP_INVALID, "expected a strict datum to be volatile, found %s",
                         datum_mode_name(new_datum->mode));
    if (new_datum->owner && strlen(new_datum->owner) > CAP_NAME)
        return error_set(error, ESP_INVALID, "expected an owner's name of at most %d bytes", CAP_NAME);
    if (HASH_COUNT(store->data) >= store->options.most_data)
        return error_set(error, ESP_LIMIT, "this store has %" PRIu32 " data, as many as it may have",
                         store->options.most_data);
    return datum_shape_check(&new_datum->shape, error);
}

static enum esp_status check_identity(struct store *store, const struct datum_id *id, struct esp_error *error)
{
    char text[DATUM_TEXT];
    const struct datum *there = store_find(store, id->key);
    if (datum_key_is_none(id->key))
        return error_set(error, ESP_INVALID, "expected the identity of a datum, found key 0");
    if (!there)
        return ESP_OK;
    if (there->state == DATUM_LEAVING)
        return store_busy(store, error, "a transfer of datum %.120s that was given up still moves",
                          datum_id_short(id, text));
    return error_set(error, ESP_REFUSED, "datum %.120s is %s server %.80s already", datum_id_short(id, text),
                     there->state == DATUM_VISIBLE ? "on" : "being put on", store->node);
}

static enum esp_status name_it(struct store *store, const struct store_new *new_datum, struct datum_id *id,
                               struct esp_error *error)
{
    if (!new_datum->id)
        return datum_id_draw(store->node, id, error);
    *id = *new_datum->id;
    return check_identity(store, id, error);
}

static struct datum *make_entry(struct store *store, const struct store_asker *asker,
                                const struct store_new *new_datum, const struct datum_id *id)
{
    const char *owner = new_datum->owner ? new_datum->owner : asker->identity ? asker->identity : "";
    struct datum_header record = {.id = *id,
                                  .shape = new_datum->shape,
                                  .mode = new_datum->mode,
                                  .flags = new_datum->flags,
                                  .created_s = new_datum->created_s};
    memcpy(record.owner, owner, strnlen(owner, CAP_NAME));
    struct datum *datum = store_make_entry(store, &record);
    if (datum && (asker->client[0] || asker->client[1]))
        memcpy(datum->segment_owner, asker->client, sizeof datum->segment_owner);
    return datum;
}

/* Memory for all of it, or a file, or both. Nothing goes for it before both are sure. */
static enum esp_status take_place(struct store *store, struct datum *datum, bool streamed,
                                  struct esp_error *error)
{
    struct datum_header record;
    const uint64_t bytes = datum->shape.bytes;
    const bool on_disk = streamed || datum_is_durable(datum->mode, datum->flags);
    enum esp_status status = on_disk ? store_check_disk(store, bytes, error) : ESP_OK;
    if (status == ESP_OK && !streamed)
        status = store_check_memory(store, bytes, error);
    if (status == ESP_OK && on_disk)
        status = store_take_disk(store, datum, error);
    if (status != ESP_OK || !streamed)
        return status == ESP_OK ? store_take_memory(store, datum, error) : status;
    store_fill_record(datum, &record);
    return datum_stream_create(store->options.files, &record, &datum->stream, error);
}

enum esp_status store_begin(struct store *store, const struct store_asker *asker,
                            const struct store_new *new_datum, struct datum_id *id, struct esp_error *error)
{
    struct datum_id name;
    enum esp_status status = check_new(store, new_datum, error);
    if (status == ESP_OK)
        status = name_it(store, new_datum, &name, error);
    if (status != ESP_OK)
        return status;
    const bool streamed = store_is_streamed(store, new_datum->shape.bytes, new_datum->mode, new_datum->flags,
                                            new_datum->streamed);
    struct datum *datum = make_entry(store, asker, new_datum, &name);
    if (!datum)
        return error_no_memory(error, "a datum");
    if ((status = take_place(store, datum, streamed, error)) == ESP_OK && !store_add(store, datum))
        status = error_no_memory(error, "a datum");
    if (status != ESP_OK) {
        store_give_memory(store, datum);
        store_give_disk(store, datum);
        datum_stream_close(datum->stream);
        store_free_entry(store, datum);
        return status;
    }
    DL_APPEND(store->unfinished, datum);
    store->counts.unfinished++;
    datum->passing = new_datum->passing && new_datum->flags & DATUM_REPLICA;
    store->n_passing += datum->passing;
    if (datum->mode == DATUM_VOLATILE && !(datum->flags & DATUM_REPLICA))
        store_join_client(store, datum, asker->client);
    *id = name;
    return ESP_OK;
}

/* ---- commit ---- */

static enum esp_status check_whole(struct store *store, const struct datum *datum, struct esp_error *error)
{
    struct range gap = store_first_gap(datum, 0);
    if (datum->state == DATUM_COMMITTING)
        return store_busy(store, error, "the datum is being written to the disk already");
    if (datum->areas > 0)
        return store_busy(store, error, "%" PRIu32 " pieces of the datum are still moving", datum->areas);
    if (gap.from == gap.to)
        return ESP_OK;
    return error_set(error, ESP_INVALID,
                     "expected all %" PRIu64 " bytes before the commit, found none from byte %" PRIu64
                     " to %" PRIu64,
                     datum->shape.bytes, gap.from, gap.to);
}

static void make_visible(struct store *store, struct datum *datum)
{
    struct datum_id id;
    DL_DELETE(store->unfinished, datum);
    store->counts.unfinished--;
    store->counts.data++;
    store->counts.committed++;
    datum->state = DATUM_VISIBLE;
    datum->used_ns = store_now(store);
    ranges_clear(&datum->arrived);
    store_line_up(store, datum);
    store_fill_id(datum, &id);
    if (!(datum->flags & DATUM_REPLICA))
        store_forget_trace(store, datum->key);
    if (store->options.news)
        store->options.news(store->options.arg, &id, datum->shape.bytes, STORE_ARRIVED);
    store_changed(store);
}

enum esp_status store_commit(struct store *store, const struct store_asker *asker, struct datum_key key,
                             struct store_work **work, struct esp_error *error)
{
    struct datum *datum = store_find(store, key);
    *work = NULL;
    if (datum && datum->state == DATUM_VISIBLE)
        return store_check_owner(asker, datum, error);
    enum esp_status status = store_find_unfinished(store, asker, key, &datum, error);
    if (status == ESP_OK)
        status = check_whole(store, datum, error);
    if (status != ESP_OK)
        return status;
    const bool durable = datum_is_durable(datum->mode, datum->flags);
    if (!durable && !datum->stream) {
        make_visible(store, datum);
        return ESP_OK;
    }
    if (!(*work = store_make_work(store, datum, durable ? WORK_WRITE : WORK_SEAL)))
        return error_no_memory(error, "writing a datum");
    datum->writing = *work;
    datum->state = DATUM_COMMITTING;
    return ESP_OK;
}

/* Its file has its name, and nobody needs what it was written with any more. */
static void note_on_disk(struct datum *datum)
{
    datum->on_disk = datum->verified = true;
    datum_stream_close(datum->stream);
    datum->stream = NULL;
}

void store_written(struct store *store, struct datum *datum, bool well)
{
    datum->writing = NULL;
    if (well && datum_is_durable(datum->mode, datum->flags))
        note_on_disk(datum);
    if (datum->state == DATUM_VISIBLE) { /* promoted */
        if (!well && !datum->stream)
            store_give_disk(store, datum);
        if (!(datum->flags & DATUM_REPLICA))
            store_forget_trace(store, datum->key);
        store_line_up(store, datum);
        return;
    }
    datum->used_ns = store_now(store);
    datum->state = DATUM_PUTTING;
    if (!well && datum->stream) /* what was written may be lost */
        ranges_clear(&datum->arrived);
    if (well)
        make_visible(store, datum);
    else
        store_changed(store);
}

/* What is durable has its mode in its file. */
static enum esp_status check_keeping(const struct datum *datum, enum datum_mode mode, struct esp_error *error)
{
    char text[DATUM_TEXT];
    struct datum_id id = store_id_of(datum->key);
    if (mode == DATUM_VOLATILE || datum->mode == mode)
        return ESP_OK;
    return error_set(error, ESP_REFUSED,
                     "datum %.120s is kept here as %s: to have it here as %s, delete this copy first",
                     datum_id_short(&id, text), datum_mode_name(datum->mode), datum_mode_name(mode));
}

enum esp_status store_keep(struct store *store, const struct store_asker *asker, struct datum_key key,
                           enum datum_mode mode, uint32_t flags, struct store_work **work,
                           struct esp_error *error)
{
    struct datum *datum;
    struct datum_id id = store_id_of(key);
    *work = NULL;
    enum esp_status status = store_find_visible(store, asker, &id, &datum, error);
    if (status != ESP_OK)
        return status;
    store_stay(store, key);
    if (datum->writing)
        return store_busy(store, error, "the datum is being written to the disk already");
    if (datum->on_disk)
        return check_keeping(datum, mode, error);
    if (mode == DATUM_VOLATILE && !datum->stream) {
        datum->flags &= ~(uint32_t)DATUM_REPLICA;
        store_forget_trace(store, key);
        return ESP_OK;
    }
    /* It is held by the work from now on: what makes room on the disk does not drop it. */
    if (!(*work = store_make_work(store, datum, datum->stream ? WORK_PROMOTE : WORK_WRITE)))
        return error_no_memory(error, "writing a datum");
    if ((status = store_take_disk(store, datum, error)) != ESP_OK) {
        store_drop_work(store, *work);
        *work = NULL;
        return status;
    }
    (*work)->record.mode = mode;
    (*work)->record.flags |= flags;
    (*work)->record.flags &=
        ~(uint32_t)(mode == DATUM_VOLATILE ? DATUM_REPLICA : DATUM_REPLICA | DATUM_STRICT);
    datum->writing = *work;
    store_leave_client(store, datum);
    store_spare_no_more(store, datum);
    store_line_up(store, datum);
    return ESP_OK;
}

enum esp_status store_promote(struct store *store, const struct store_asker *asker, struct datum_key key,
                              struct store_work **work, struct esp_error *error)
{
    struct datum *datum;
    struct datum_id id = store_id_of(key);
    *work = NULL;
    enum esp_status status = store_find_visible(store, asker, &id, &datum, error);
    if (status != ESP_OK || !(datum->flags & DATUM_REPLICA))
        return status;
    return store_keep(store, asker, key, datum->mode, 0, work, error);
}

enum esp_status store_abort(struct store *store, const struct store_asker *asker, struct datum_key key,
                            struct esp_error *error)
{
    struct datum *datum;
    enum esp_status status = store_find_unfinished(store, asker, key, &datum, error);
    if (status == ESP_OK && datum->state == DATUM_COMMITTING)
        status = store_busy(store, error, "the datum is being written to the disk");
    if (status == ESP_OK)
        store_end(store, datum, END_ABORTED);
    return status;
}
