/* SPDX-License-Identifier: Apache-2.0
 *
 * The disk's part of commits, opens and checks: prepared and ended with the owner's lock, done without it.
 * A datum is held meanwhile, so that what the work uses does not go.
 */
#include "services/data/store_state.h"

#include <stdlib.h>

struct store_work *store_make_work(struct store *store, struct datum *datum, enum work_kind kind)
{
    struct store_work *work = calloc(1, sizeof *work);
    struct store_memory memory;
    if (!work)
        return NULL;
    store_fill_memory(datum, &memory);
    work->kind = kind;
    work->files = store->options.files;
    work->datum = datum;
    work->data = kind == WORK_CHECK ? NULL : memory.data;
    work->status = ESP_INTERNAL; /* until it is done */
    store_fill_record(datum, &work->record);
    datum->held++;
    store_line_up(store, datum);
    return work;
}

void store_drop_work(struct store *store, struct store_work *work)
{
    work->datum->held--;
    store_line_up(store, work->datum);
    free(work);
}

bool store_make_latch(struct store_work *work)
{
    struct latch *latch = calloc(1, sizeof *latch);
    if (!latch)
        return false;
    pthread_mutex_init(&latch->lock, NULL);
    pthread_cond_init(&latch->opened, NULL);
    latch->users = 1;
    work->latch = latch;
    return true;
}

static void leave_latch(struct latch *latch)
{
    if (!latch || --latch->users > 0)
        return;
    pthread_cond_destroy(&latch->opened);
    pthread_mutex_destroy(&latch->lock);
    free(latch);
}

static void open_latch(struct latch *latch, const struct store_work *work)
{
    pthread_mutex_lock(&latch->lock);
    latch->open = true;
    latch->status = work->status;
    latch->error = work->error;
    pthread_cond_broadcast(&latch->opened);
    pthread_mutex_unlock(&latch->lock);
}

static void wait_for_latch(struct latch *latch, struct store_work *work)
{
    pthread_mutex_lock(&latch->lock);
    while (!latch->open)
        pthread_cond_wait(&latch->opened, &latch->lock);
    work->status = latch->status;
    work->error = latch->error;
    pthread_mutex_unlock(&latch->lock);
}

/* Its stream stays while it is written, and that of a pin with the pin. */
static enum esp_status do_it(struct store_work *work, struct esp_error *error)
{
    struct datum_stream *stream = work->datum->stream;
    switch (work->kind) {
    case WORK_WRITE:
        return stream ? datum_stream_finish(stream, &work->record, error)
                      : datum_file_write(work->files, &work->record, work->data, error);
    case WORK_SEAL:
        return datum_stream_seal(stream, error);
    case WORK_PROMOTE:
        return work->record.mode == DATUM_VOLATILE ? datum_stream_check(stream, error)
                                                   : datum_stream_promote(stream, &work->record, error);
    case WORK_MAP:
        return datum_stream_check(work->pin->stream, error);
    default:
        return datum_file_read(work->files, &work->record, work->data, error);
    }
}

void store_work_do(struct store_work *work)
{
    if (work->kind == WORK_JOIN)
        wait_for_latch(work->latch, work);
    else
        work->status = do_it(work, &work->error);
    if (work->kind == WORK_LOAD)
        open_latch(work->latch, work);
}

/* Never served again, by nobody. Those who have its bytes have them from before. */
void store_lose_damaged(struct store *store, struct datum *datum, const char *why)
{
    char name[DATUM_FILE_NAME];
    if (datum->gone)
        return;
    store_set_aside(store, datum_file_name(datum->key, !datum->stream, name), why);
    store_end(store, datum, END_DAMAGED);
}

enum esp_status store_tell_damaged(const struct store *store, const struct datum_id *id, const char *why,
                                   struct esp_error *error)
{
    char text[DATUM_TEXT];
    return error_set(
        error, ESP_NOT_FOUND,
        "server %.80s has lost datum %.120s: its file was damaged, and what is left of it is in damaged/: %s",
        store->node, datum_id_short(id, text), why);
}

static enum esp_status tell(const struct store *store, const struct store_work *work, bool gone,
                            struct esp_error *error)
{
    char text[DATUM_TEXT];
    if (work->status == ESP_OK && gone)
        return error_set(error, ESP_NOT_FOUND,
                         "server %.80s has no datum %.120s any more: it was deleted "
                         "while it was read from the disk",
                         store->node, datum_id_short(&work->record.id, text));
    if (work->status == ESP_OK)
        return ESP_OK;
    if (work->status == ESP_SYNTAX)
        return store_tell_damaged(store, &work->record.id, work->error.text, error);
    return error_set(error, work->status, "%s", work->error.text);
}

static void note_verified(struct store *store, struct datum *datum)
{
    if (datum->gone || datum->verified || !datum->on_disk)
        return;
    datum->verified = true;
    store->n_unverified--;
}

enum esp_status store_work_end(struct store *store, struct store_work *work, struct esp_error *error)
{
    struct datum *datum = work->datum;
    bool loads = work->kind == WORK_LOAD || work->kind == WORK_JOIN || work->kind == WORK_MAP;
    enum esp_status status = tell(store, work, datum->gone && loads, error);
    const bool writes = work_writes(work->kind);
    if (!writes && work->status == ESP_OK)
        note_verified(store, datum);
    if (work->kind != WORK_WRITE && work->kind != WORK_SEAL && work->status == ESP_SYNTAX)
        store_lose_damaged(store, datum, work->error.text);
    if (writes && work->status == ESP_OK) { /* as its file says */
        datum->mode = work->record.mode;
        datum->flags = work->record.flags;
    }
    if (writes && !datum->gone)
        store_written(store, datum, work->status == ESP_OK);
    else if (loads)
        store_loaded(store, work, status == ESP_OK);
    datum->held--;
    store_line_up(store, datum);
    store_settle(store, datum);
    leave_latch(work->latch);
    free(work);
    return status;
}

struct store_work *store_check_next(struct store *store)
{
    if (store->n_unverified == 0)
        return NULL;
    struct datum *datum = store->unverified ? store->unverified : store->data;
    for (; datum; datum = datum->hh.next) {
        if (datum->on_disk && !datum->verified && !datum->held && datum->state == DATUM_VISIBLE) {
            store->unverified = datum->hh.next;
            return store_make_work(store, datum, WORK_CHECK);
        }
    }
    store->unverified = NULL;
    return NULL;
}
