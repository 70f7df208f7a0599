/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes room when memory is short: which data are freed, in which order, and which cannot be. */
#include "services/data/store_state.h"
#include "util/bytes.h"
#include "util/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t pages(uint64_t bytes)
{
    return (bytes + SEGMENT_PAGE - 1) / SEGMENT_PAGE * SEGMENT_PAGE;
}

uint64_t store_memory_of(uint64_t bytes)
{
    return pages(bytes);
}

static enum datum_line line_of(const struct datum *datum)
{
    if (datum->state != DATUM_VISIBLE || datum->pins || datum->held || datum->spared_until_ns)
        return LINE_NONE;
    if (datum->stream)
        return LINE_BORNE;
    return !datum->segment ? LINE_NONE : datum->on_disk ? LINE_LET_GO : LINE_DROP;
}

void store_line_up(struct store *store, struct datum *datum)
{
    if (datum->line != LINE_NONE)
        DL_DELETE(store->lines[datum->line], datum);
    if (datum->line == LINE_DROP || datum->line == LINE_LET_GO)
        store->movable_bytes -= pages(datum->shape.bytes);
    datum->line = line_of(datum);
    if (datum->line == LINE_NONE)
        return;
    DL_APPEND(store->lines[datum->line], datum);
    if (datum->line != LINE_BORNE)
        store->movable_bytes += pages(datum->shape.bytes);
    store_changed(store);
}

enum esp_status store_check_memory(struct store *store, uint64_t bytes, struct esp_error *error)
{
    char size[BYTES_TEXT], limit[BYTES_TEXT], stays[BYTES_TEXT];
    uint64_t most = store->counts.memory_limit;
    if (bytes > most || pages(bytes) > most)
        return error_set(error, ESP_NO_MEMORY,
                         "a datum of %s can never fit the memory for data on server %.80s, which is limited "
                         "to %s (store_memory): put it elsewhere%s",
                         bytes_text(bytes, size), store->node, bytes_text(most, limit),
                         store->options.files ? ", or for good, on its disk (persistent)" : "");
    uint64_t stays_bytes = store->counts.memory_bytes - store->movable_bytes;
    if (stays_bytes > most || pages(bytes) > most - stays_bytes)
        return store_busy(store, error,
                          "no memory for a datum of %s now: of the store's %s, %s are used by running "
                          "sessions and transfers (try again when they have ended)",
                          bytes_text(bytes, size), bytes_text(most, limit), bytes_text(stays_bytes, stays));
    return ESP_OK;
}

bool store_is_streamed(const struct store *store, uint64_t bytes, enum datum_mode mode, uint32_t flags,
                       bool wanted)
{
    uint64_t most = store->counts.memory_limit;
    return store->options.files && (datum_is_durable(mode, flags) || flags & DATUM_REPLICA) &&
           (wanted || bytes > most || pages(bytes) > most);
}

/* Returns the bytes of files of deletable replicas. */
static uint64_t droppable(const struct store *store)
{
    const struct datum *datum;
    uint64_t bytes = 0;
    DL_FOREACH(store->lines[LINE_BORNE], datum)
    bytes += datum_file_bytes(datum->shape.bytes);
    return bytes;
}

/* Whether the disk has that much free space; true if unknown. */
static bool is_room_on_disk(const struct store *store, uint64_t bytes, uint64_t *free_bytes)
{
    struct files *files = store->options.files;
    return !files->ops->free_bytes || !files->ops->free_bytes(files, free_bytes) || *free_bytes >= bytes;
}

enum esp_status store_check_disk(const struct store *store, uint64_t bytes, struct esp_error *error)
{
    char size[BYTES_TEXT], used[BYTES_TEXT], limit[BYTES_TEXT];
    const uint64_t may_go = droppable(store), most = store->counts.disk_limit;
    uint64_t used_bytes = store->counts.disk_bytes - may_go, free_bytes = 0;
    if (!store->options.files)
        return error_set(error, ESP_REFUSED,
                         "server %.80s keeps no durable data: it has no state folder (state); put the datum "
                         "as volatile, or elsewhere",
                         store->node);
    if (bytes > most || used_bytes > most || datum_file_bytes(bytes) > most - used_bytes)
        return error_set(
            error, ESP_LIMIT,
            "no disk for a datum of %s: data have %s of the %s that server %.80s may use (store_disk); "
            "delete some, or put it elsewhere",
            bytes_text(bytes, size), bytes_text(used_bytes, used), bytes_text(most, limit), store->node);
    const uint64_t needed = datum_file_bytes(bytes);
    if (needed <= may_go || is_room_on_disk(store, needed - may_go, &free_bytes))
        return ESP_OK;
    return error_set(error, ESP_NO_MEMORY,
                     "no disk for a datum of %s: the disk is full but for %s (%s); delete some data, or put "
                     "it elsewhere",
                     bytes_text(bytes, size), bytes_text(free_bytes + may_go, used),
                     store->options.files->where);
}

enum esp_status store_take_disk(struct store *store, struct datum *datum, struct esp_error *error)
{
    const uint64_t bytes = datum_file_bytes(datum->shape.bytes);
    uint64_t free_bytes;
    if (datum->charged)
        return ESP_OK;
    enum esp_status status = store_check_disk(store, datum->shape.bytes, error);
    if (status != ESP_OK)
        return status;
    while (store->lines[LINE_BORNE] && (store->counts.disk_bytes + bytes > store->counts.disk_limit ||
                                        !is_room_on_disk(store, bytes, &free_bytes)))
        store_end(store, store->lines[LINE_BORNE], END_DROPPED);
    store->counts.disk_bytes += bytes;
    datum->charged = true;
    return ESP_OK;
}

void store_give_disk(struct store *store, struct datum *datum)
{
    if (datum->charged)
        store->counts.disk_bytes -= datum_file_bytes(datum->shape.bytes);
    datum->charged = false;
}

static void make_room(struct store *store, uint64_t bytes)
{
    struct datum *datum;
    while (store->counts.memory_bytes + pages(bytes) > store->counts.memory_limit) {
        if ((datum = store->lines[LINE_DROP]))
            store_end(store, datum, END_DROPPED);
        else if ((datum = store->lines[LINE_LET_GO]))
            store_give_memory(store, datum);
        else
            break; /* store_check_memory() has said that it fits */
    }
}

enum esp_status store_take_memory(struct store *store, struct datum *datum, struct esp_error *error)
{
    uint64_t bytes = datum->shape.bytes, end = 0;
    enum esp_status status = store_check_memory(store, bytes, error);
    if (status != ESP_OK || bytes == 0)
        return status;
    make_room(store, bytes);
    status =
        segments_take(store->options.segments, pages(bytes), datum->segment_owner, &datum->segment, error);
    if (status != ESP_OK) { /* memory of unused segments may be what is missing */
        segments_trim(store->options.segments);
        status = segments_take(store->options.segments, pages(bytes), datum->segment_owner, &datum->segment,
                               error);
    }
    if (status != ESP_OK)
        return status;
    datum->place = segment_place(&end, bytes);
    memset(datum->segment->data, 0, datum->place); /* a worker's mapping begins there */
    store->counts.memory_bytes += pages(bytes);
    return ESP_OK;
}

void store_give_memory(struct store *store, struct datum *datum)
{
    if (!datum->segment)
        return;
    if (datum->exposed)
        segments_drop(store->options.segments, datum->segment);
    else
        segments_give(store->options.segments, datum->segment);
    datum->segment = NULL;
    datum->exposed = false;
    store_line_up(store, datum);
    store->counts.memory_bytes -= pages(datum->shape.bytes);
    store_changed(store);
}

void store_fill_memory(const struct datum *datum, struct store_memory *memory)
{
    static uint8_t nothing[1];
    *memory = (struct store_memory){-1, 0, datum->shape.bytes, nothing};
    if (!datum->segment)
        return;
    memory->fd = datum->segment->fd;
    memory->offset = datum->place;
    memory->data = datum->segment->data + datum->place;
}

/* Damaged files: moved to damaged/, and listed as long as they exist. */

#define PATH_BYTES  (sizeof DAMAGED_FOLDER + 1 + 256)
#define MOST_ASIDES 10000u /* most damaged files listed; further ones are only on the disk */

static const char *path_of(const char *name, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, DAMAGED_FOLDER "/%.255s", name);
    return path;
}

static const char *aside_path(const struct store_aside *aside, char path[PATH_BYTES])
{
    char name[DATUM_FILE_NAME];
    return path_of(datum_file_name(aside->id.key, aside->finished, name), path);
}

/* Returns the position of that file in the list, or where to insert it. */
static uint32_t place_of(const struct store *store, struct datum_key key, bool finished)
{
    uint32_t from = 0, to = store->n_asides;
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        const struct store_aside *aside = store->asides[middle];
        const int order = store_compare_keys(aside->id.key, key);
        if (order < 0 || (order == 0 && aside->finished < finished))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct store_aside *at(const struct store *store, uint32_t place, struct datum_key key)
{
    struct store_aside *aside = place < store->n_asides ? store->asides[place] : NULL;
    return aside && datum_key_equal(aside->id.key, key) ? aside : NULL;
}

static void forget(struct store *store, uint32_t place)
{
    struct store_aside *aside = store->asides[place];
    store->counts.aside--;
    store->counts.aside_bytes -= aside->file_bytes;
    store->n_asides--;
    memmove(&store->asides[place], &store->asides[place + 1],
            (store->n_asides - place) * sizeof(struct store_aside *));
    free(aside);
}

/* Reads its header, if that is intact. */
static bool look_at(struct store *store, const char *path, struct store_aside *aside)
{
    struct files *files = store->options.files;
    struct datum_header record;
    struct file *file;
    if (files->ops->open(files, path, &file, &aside->file_bytes, NULL) != ESP_OK)
        return false;
    files->ops->close(file);
    aside->readable = datum_file_head(files, path, &record, NULL) == ESP_OK &&
                      datum_key_equal(record.id.key, aside->id.key);
    if (!aside->readable) {
        memcpy(aside->id.origin, store->node, sizeof store->node);
        return true;
    }
    aside->id = record.id;
    aside->shape = record.shape;
    aside->mode = record.mode;
    aside->created_s = record.created_s;
    memcpy(aside->owner, record.owner, sizeof aside->owner);
    return true;
}

static void note(struct store *store, const char *name)
{
    char path[PATH_BYTES];
    struct store_aside *aside = calloc(1, sizeof *aside);
    if (!aside || store->n_asides == MOST_ASIDES || !datum_file_key(name, &aside->id.key) ||
        !datum_file_is_one(name, &aside->finished) || !look_at(store, path_of(name, path), aside)) {
        free(aside);
        return;
    }
    const uint32_t place = place_of(store, aside->id.key, aside->finished);
    const struct store_aside *known = at(store, place, aside->id.key);
    if (known && known->finished == aside->finished) /* which it has replaced */
        forget(store, place);
    if (store->n_asides == store->asides_capacity) {
        const uint32_t capacity = store->asides_capacity ? 2 * store->asides_capacity : 16;
        void *more = realloc(store->asides, capacity * sizeof(struct store_aside *));
        if (!more) {
            free(aside);
            return;
        }
        store->asides = more;
        store->asides_capacity = capacity;
    }
    memmove(&store->asides[place + 1], &store->asides[place],
            (store->n_asides - place) * sizeof(struct store_aside *));
    store->asides[place] = aside;
    store->n_asides++;
    store->counts.aside++;
    store->counts.aside_bytes += aside->file_bytes;
}

void store_set_aside(struct store *store, const char *name, const char *why)
{
    struct files *files = store->options.files;
    char to[PATH_BYTES];
    struct esp_error error = {.text = ""};
    enum esp_status status = files->ops->rename(files, name, path_of(name, to), &error);
    if (status == ESP_OK)
        note(store, name);
    if (status == ESP_OK)
        status = files->ops->sync_folder(files, DAMAGED_FOLDER, &error);
    if (status == ESP_OK)
        status = files->ops->sync_folder(files, "", &error);
    store->counts.damaged++;
    log_error("data: %s: set aside in %s/" DAMAGED_FOLDER "%s%s", why, files->where,
              status == ESP_OK ? "" : ", which failed: ", status == ESP_OK ? "" : error.text);
}

bool store_is_set_aside(const struct store *store, struct datum_key key)
{
    struct files *files = store->options.files;
    char name[DATUM_FILE_NAME], path[PATH_BYTES];
    struct file *file;
    uint64_t bytes;
    path_of(datum_file_name(key, true, name), path);
    if (!files || files->ops->open(files, path, &file, &bytes, NULL) != ESP_OK)
        return false;
    files->ops->close(file);
    return true;
}

static enum esp_status note_file(void *arg, const char *name, const char *kind, struct esp_error *error)
{
    (void)error;
    if (!kind)
        note(arg, name);
    return ESP_OK;
}

enum esp_status store_recover_asides(struct store *store, struct esp_error *error)
{
    struct files *files = store->options.files;
    return files->ops->list(files, DAMAGED_FOLDER, note_file, store, error);
}

void store_forget_asides(struct store *store)
{
    while (store->n_asides > 0)
        forget(store, store->n_asides - 1);
    free(store->asides);
}

/* A file with a damaged header, length or name has an unknown owner. */
static bool may(const struct store_asker *asker, const struct store_aside *aside)
{
    return asker->trusted || strcmp(asker->identity ? asker->identity : "", aside->owner) == 0;
}

size_t store_list_asides(const struct store *store, const struct store_asker *asker, struct datum_key after,
                         struct store_aside *asides, size_t capacity)
{
    size_t n = 0;
    uint32_t place = datum_key_is_none(after) ? 0 : place_of(store, after, true);
    if (!datum_key_is_none(after) && at(store, place, after))
        place++;
    for (; place < store->n_asides && n < capacity; place++)
        if (may(asker, store->asides[place]))
            asides[n++] = *store->asides[place];
    return n;
}

static enum esp_status remove_file(struct store *store, uint32_t place, struct esp_error *error)
{
    struct files *files = store->options.files;
    char path[PATH_BYTES];
    enum esp_status status = files->ops->remove(files, aside_path(store->asides[place], path), error);
    if (status != ESP_OK && status != ESP_NOT_FOUND) /* it was removed by hand */
        return status;
    forget(store, place);
    return files->ops->sync_folder(files, DAMAGED_FOLDER, error);
}

enum esp_status store_remove_aside(struct store *store, const struct store_asker *asker,
                                   const struct datum_id *id, struct esp_error *error)
{
    char text[DATUM_TEXT];
    const struct store_aside *aside;
    const uint32_t place = place_of(store, id->key, false);
    enum esp_status status = ESP_NOT_FOUND;
    while ((aside = at(store, place, id->key))) {
        if (!may(asker, aside))
            return error_set(
                error, ESP_REFUSED,
                "the damaged file belongs to %s: \"%.80s\" may not remove it (administrators may)",
                aside->owner[0]   ? aside->owner
                : aside->readable ? "clients without a certificate"
                                  : "nobody knows whom, as its header, length or name is wrong",
                asker->identity ? asker->identity : "");
        status = remove_file(store, place, error);
        if (status != ESP_OK)
            return status;
        store_note_end(store, id->key, "", END_REMOVED);
    }
    return status == ESP_OK
               ? ESP_OK
               : error_set(error, ESP_NOT_FOUND, "server %.80s has no damaged file of datum %.120s",
                           store->node, datum_id_short(id, text));
}

/* The disk operations of commits, opens and checks: prepared and ended with the owner's lock, done without
 * it. The work holds the datum meanwhile, so that what it uses is not freed. */

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

/* The stream of a written datum stays until the work ends, that of a pin as long as the pin. */
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

/* The damaged datum is never served again; present readers read it before the damage. */
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

/* Pieces of data: written to unfinished data, read from pinned ones, through their own memory if the datum
 * is streamed. */

struct datum_id store_id_of(struct datum_key key)
{
    return (struct datum_id){key, ""};
}

enum esp_status store_find_unfinished(struct store *store, const struct store_asker *asker,
                                      struct datum_key key, struct datum **datum, struct esp_error *error)
{
    char text[DATUM_TEXT];
    struct datum_id id = store_id_of(key);
    struct datum *found = store_find(store, key);
    if (!found || found->state == DATUM_LEAVING)
        return error_set(error, ESP_NOT_FOUND,
                         "server %.80s is not being sent datum %.120s (any more): begin again", store->node,
                         datum_id_short(&id, text));
    if (found->state == DATUM_VISIBLE)
        return error_set(error, ESP_NOT_FOUND, "datum %.120s is complete on server %.80s: data never change",
                         datum_id_short(&id, text), store->node);
    enum esp_status status = store_check_owner(asker, found, error);
    if (status == ESP_OK)
        *datum = found;
    return status;
}

static enum esp_status check_piece(const struct datum *datum, uint64_t offset, uint64_t bytes,
                                   struct esp_error *error)
{
    if (datum->state != DATUM_PUTTING || datum->whole_out)
        return error_set(error, ESP_INVALID, "a piece came while the datum was %s",
                         datum->whole_out ? "being written by a worker" : "on its way to the disk");
    if (offset <= datum->shape.bytes && bytes <= datum->shape.bytes - offset)
        return ESP_OK;
    return error_set(error, ESP_INVALID,
                     "expected a piece within the datum's %" PRIu64 " bytes, found %" PRIu64
                     " bytes at %" PRIu64,
                     datum->shape.bytes, bytes, offset);
}

/* Allocates memory for a streamed piece. */
static enum esp_status stream_piece(struct store_piece *piece, struct datum_stream *stream, uint64_t room,
                                    struct esp_error *error)
{
    if (!(piece->room = malloc(room ? room : 1)))
        return error_no_memory(error, "a piece of a datum");
    piece->memory = piece->room;
    piece->stream = stream;
    return ESP_OK;
}

enum esp_status store_area(struct store *store, const struct store_asker *asker, struct datum_key key,
                           uint64_t offset, uint64_t bytes, struct store_piece *piece,
                           struct esp_error *error)
{
    struct datum *datum;
    struct store_memory whole;
    enum esp_status status = store_find_unfinished(store, asker, key, &datum, error);
    *piece = (struct store_piece){.offset = offset, .bytes = bytes};
    if (status == ESP_OK)
        status = check_piece(datum, offset, bytes, error);
    if (status == ESP_OK && datum->stream)
        status = stream_piece(piece, datum->stream, bytes, error);
    if (status != ESP_OK)
        return status;
    datum->areas++;
    datum->used_ns = store_now(store);
    if (!piece->stream) {
        store_fill_memory(datum, &whole);
        store_sums_forget(&datum->sums, offset, bytes);
        piece->memory = whole.data + offset;
        piece->fresh = datum->segment && datum->segment->fresh;
    }
    return ESP_OK;
}

enum esp_status store_piece_write(struct store_piece *piece, struct esp_error *error)
{
    return piece->stream
               ? datum_stream_write(piece->stream, piece->offset, piece->memory, piece->bytes, error)
               : ESP_OK;
}

static void note_sum(struct datum *datum, const struct store_piece *piece)
{
    if (piece->summed && !piece->stream)
        store_sums_note(&datum->sums, piece->offset, piece->bytes, piece->crc32c);
}

/* Counts a returned piece; frees a given-up datum with its last piece. */
static bool piece_back(struct store *store, struct datum *datum)
{
    datum->areas--;
    datum->used_ns = store_now(store);
    if (datum->state != DATUM_LEAVING)
        return true;
    if (datum->areas == 0) {
        HASH_DEL(store->data, datum);
        datum->gone = true;
        store_settle(store, datum);
    }
    return false;
}

enum esp_status store_area_done(struct store *store, struct datum_key key, struct store_piece *piece,
                                bool whole, struct esp_error *error)
{
    struct datum *datum = store_find(store, key);
    free(piece->room);
    piece->room = NULL;
    if (!datum || datum->areas == 0)
        return error_set(error, ESP_INTERNAL, "a piece came back that was not out");
    if (!piece_back(store, datum))
        return error_set(error, ESP_NOT_FOUND, "the datum was given up while a piece of it came");
    if (!whole)
        return ESP_OK;
    enum esp_status status = ranges_add(&datum->arrived, piece->offset, piece->offset + piece->bytes, error);
    if (status == ESP_OK) {
        note_sum(datum, piece);
        datum->puts++;
        datum->bytes_in += piece->bytes;
    }
    return status;
}

enum esp_status store_write(struct store *store, const struct store_asker *asker, struct datum_key key,
                            uint64_t offset, const void *data, uint64_t bytes, struct esp_error *error)
{
    struct store_piece piece;
    enum esp_status status = store_area(store, asker, key, offset, bytes, &piece, error);
    if (status != ESP_OK)
        return status;
    if (bytes > 0)
        memcpy(piece.memory, data, bytes);
    status = store_piece_write(&piece, error);
    enum esp_status done =
        store_area_done(store, key, &piece, status == ESP_OK, status == ESP_OK ? error : NULL);
    return status == ESP_OK ? done : status;
}

struct range store_first_gap(const struct datum *datum, uint64_t from)
{
    const struct ranges *arrived = &datum->arrived;
    struct range gap = {from, datum->shape.bytes};
    for (uint32_t i = 0; i < arrived->n; i++) {
        if (arrived->items[i].to <= gap.from)
            continue;
        if (arrived->items[i].from > gap.from) {
            gap.to = arrived->items[i].from;
            break;
        }
        gap.from = arrived->items[i].to;
    }
    if (gap.from > datum->shape.bytes)
        gap.from = datum->shape.bytes;
    if (gap.to < gap.from)
        gap.to = gap.from;
    return gap;
}

enum esp_status store_missing(struct store *store, const struct store_asker *asker, struct datum_key key,
                              uint64_t from, struct range *gap, struct esp_error *error)
{
    struct datum *datum;
    enum esp_status status = store_find_unfinished(store, asker, key, &datum, error);
    if (status != ESP_OK)
        return status;
    datum->used_ns = store_now(store);
    *gap = store_first_gap(datum, from);
    return ESP_OK;
}

/* Maps the file itself when a worker writes all of it. */
static enum esp_status map_file(struct datum *datum, struct store_memory *memory, struct esp_error *error)
{
    uint64_t offset;
    enum esp_status status = datum_stream_reserve(datum->stream, error);
    if (status != ESP_OK)
        return status;
    const int fd = datum_stream_descriptor(datum->stream, &offset);
    const size_t bytes = offset + datum->shape.bytes;
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (mapped == MAP_FAILED)
        return error_errno(error, "cannot map a datum's file");
    datum->filling = mapped;
    datum->filling_bytes = bytes;
    *memory = (struct store_memory){fd, offset, datum->shape.bytes, (uint8_t *)mapped + offset};
    return ESP_OK;
}

static void unmap_file(struct datum *datum)
{
    if (datum->filling)
        munmap(datum->filling, datum->filling_bytes);
    datum->filling = NULL;
}

enum esp_status store_put_memory(struct store *store, const struct store_asker *asker, struct datum_key key,
                                 struct store_memory *memory, struct esp_error *error)
{
    struct datum *datum;
    enum esp_status status = store_find_unfinished(store, asker, key, &datum, error);
    if (status == ESP_OK && datum->areas > 0)
        status = store_busy(store, error, "pieces of the datum are still moving");
    if (status == ESP_OK)
        status = check_piece(datum, 0, datum->shape.bytes, error);
    if (status == ESP_OK && !datum->stream)
        store_fill_memory(datum, memory);
    else if (status == ESP_OK)
        status = map_file(datum, memory, error);
    if (status != ESP_OK)
        return status;
    store_sums_clear(&datum->sums);
    datum->areas++;
    datum->whole_out = true;
    return ESP_OK;
}

enum esp_status store_put_filled(struct store *store, struct datum_key key, bool whole,
                                 struct esp_error *error)
{
    struct datum *datum = store_find(store, key);
    if (!datum || !datum->whole_out)
        return error_set(error, ESP_INTERNAL, "a datum's memory came back that was not out");
    struct store_piece all = {.bytes = datum->shape.bytes};
    datum->whole_out = false;
    unmap_file(datum);
    return store_area_done(store, key, &all, whole, error);
}

enum esp_status store_put_shape(struct store *store, const struct store_asker *asker, struct datum_key key,
                                const struct datum_shape *shape, struct esp_error *error)
{
    struct datum *datum;
    enum esp_status status = store_find_unfinished(store, asker, key, &datum, error);
    if (status != ESP_OK)
        return status;
    const struct datum_shape before = datum_shape_joined(&datum->shape), after = datum_shape_joined(shape);
    status = datum_shape_check(shape, error);
    if (status == ESP_OK)
        status = datum_shape_fits(&before, &after, "a datum that is laid out anew", error);
    if (status == ESP_OK)
        datum->shape = *shape;
    return status;
}

/* ---- reading ---- */

enum esp_status store_pin_area(struct store_pin *pin, uint64_t offset, uint64_t bytes,
                               struct store_piece *piece, struct esp_error *error)
{
    *piece = (struct store_piece){.offset = offset, .bytes = bytes};
    if (pin->stream)
        return stream_piece(piece, pin->stream, datum_stream_room(pin->stream, offset, bytes), error);
    piece->memory = pin->memory.data + offset;
    piece->summed = !pin->mapped && store_sums_find(&pin->datum->sums, offset, bytes, &piece->crc32c);
    return ESP_OK;
}

enum esp_status store_piece_read(struct store_piece *piece, struct esp_error *error)
{
    uint8_t *at;
    if (!piece->stream || piece->bytes == 0)
        return ESP_OK;
    enum esp_status status =
        datum_stream_read(piece->stream, piece->offset, piece->bytes, piece->room, &at, error);
    piece->memory = at;
    if (status != ESP_SYNTAX)
        return status;
    piece->damage = strdup(error->text);
    return error_prefix(error, "the datum's file was damaged, and is set aside"),
           error->status = ESP_NOT_FOUND;
}

void store_pin_area_done(struct store *store, struct store_pin *pin, struct store_piece *piece, bool whole)
{
    if (piece->damage)
        store_lose_damaged(store, pin->datum, piece->damage);
    free(piece->damage);
    free(piece->room);
    piece->damage = piece->room = NULL;
    if (whole && !pin->mapped)
        note_sum(pin->datum, piece);
    pin->datum->bytes_out += whole ? piece->bytes : 0;
}

/* Places: other servers with permanent copies of a datum. A server that is down may be known only here: a
 * client that deletes the datum learns that this server will be back. For a durable datum the names are in
 * a file beside its own. */

#define PLACES_MOST  64 /* of one datum */
#define PLACES_BYTES (PLACES_MOST * (CAP_NAME + 1))
#define HEAD         "espalier places 1\n"
#define NEW          "places.new"
#define ENDING       ".places"

static const char *file_name(struct datum_key key, char name[STORE_BESIDE_NAME])
{
    return store_beside_name(key, ENDING, name);
}

static bool is_among(const char *names, size_t bytes, const char *name)
{
    for (size_t at = 0; at < bytes; at += strlen(names + at) + 1)
        if (strcmp(names + at, name) == 0)
            return true;
    return false;
}

/* Checks names of nodes (services/node_name.h), each with its NUL. */
static enum esp_status check(const char *names, size_t bytes, struct esp_error *error)
{
    if (bytes > 0 && names[bytes - 1] != 0)
        return error_set(error, ESP_PROTOCOL, "expected names of servers, found one without an end");
    for (size_t at = 0; at < bytes; at += strlen(names + at) + 1) {
        if (!names[at] || strlen(names + at) > CAP_NAME)
            return error_set(error, ESP_PROTOCOL,
                             "expected names of servers of 1 to %d bytes, found one of %zu", CAP_NAME,
                             strlen(names + at));
        for (const char *c = names + at; *c; c++)
            if ((unsigned char)*c <= ' ' || *c == 0x7f)
                return error_set(error, ESP_PROTOCOL,
                                 "expected a name without blanks and control characters, found code %d",
                                 (unsigned char)*c);
    }
    return ESP_OK;
}

enum esp_status store_write_places(struct store *store, struct datum_key key, const char *head,
                                   const char *names, size_t bytes, struct esp_error *error)
{
    struct files *files = store->options.files;
    const size_t before = strlen(head);
    char name[STORE_BESIDE_NAME], text[PLACES_HEAD_BYTES + PLACES_BYTES];
    struct file *file;
    if (bytes > PLACES_BYTES)
        return error_set(error, ESP_LIMIT, "expected at most %d bytes of names of servers, found %zu",
                         PLACES_BYTES, bytes);
    memcpy(text, head, before);
    memcpy(text + before, names, bytes);
    for (size_t at = before; at < before + bytes; at++)
        if (!text[at])
            text[at] = '\n';
    enum esp_status status = files->ops->create(files, NEW, &file, error);
    if (status != ESP_OK)
        return status;
    status = files->ops->write(file, text, before + bytes, 0, error);
    if (status == ESP_OK)
        status = files->ops->sync(file, error);
    files->ops->close(file);
    if (status == ESP_OK)
        status = files->ops->rename(files, NEW, file_name(key, name), error);
    return status == ESP_OK ? files->ops->sync_folder(files, "", error) : status;
}

/* Merges the datum's list with the new names, without the store's own node. */
static enum esp_status merge(const struct store *store, const struct datum *datum, const char *names,
                             size_t bytes, char *all, size_t *all_bytes, struct esp_error *error)
{
    size_t used = datum->places_bytes;
    if (used > 0)
        memcpy(all, datum->places, used);
    for (size_t at = 0; at < bytes; at += strlen(names + at) + 1) {
        const size_t length = strlen(names + at) + 1;
        if (strcmp(names + at, store->node) == 0 || is_among(all, used, names + at))
            continue;
        if (used + length > PLACES_BYTES)
            return error_set(error, ESP_LIMIT,
                             "server %.80s notes %d bytes of names of other servers that keep a datum, and "
                             "no more: keep it on fewer",
                             store->node, PLACES_BYTES);
        memcpy(all + used, names + at, length);
        used += length;
    }
    *all_bytes = used;
    return ESP_OK;
}

enum esp_status store_note_places(struct store *store, const struct store_asker *asker, struct datum_key key,
                                  const char *names, size_t bytes, struct esp_error *error)
{
    char all[PLACES_BYTES];
    struct datum *datum;
    struct datum_id id = store_id_of(key);
    size_t all_bytes = 0;
    enum esp_status status = store_find_visible(store, asker, &id, &datum, error);
    if (status == ESP_OK)
        status = check(names, bytes, error);
    if (status == ESP_OK && datum->writing)
        status = store_busy(store, error, "the datum is being written to the disk");
    if (status == ESP_OK)
        status = merge(store, datum, names, bytes, all, &all_bytes, error);
    if (status != ESP_OK || all_bytes == 0 ||
        (all_bytes == datum->places_bytes && datum->places_on_disk == datum->on_disk))
        return status;
    char *copy = malloc(all_bytes);
    if (!copy)
        return error_no_memory(error, "names of servers");
    memcpy(copy, all, all_bytes);
    if (datum->on_disk && (status = store_write_places(store, key, HEAD, all, all_bytes, error)) != ESP_OK) {
        free(copy);
        return status;
    }
    free(datum->places);
    datum->places = copy;
    datum->places_bytes = all_bytes;
    datum->places_on_disk = datum->on_disk;
    return ESP_OK;
}

const char *store_places(const struct store *store, struct datum_key key, size_t *bytes)
{
    const struct datum *datum = store_find(store, key);
    /* While there is a trace, the datum here is a replica, or not complete. */
    const struct store_trace *trace = store_find_trace(store, key);
    const char *names = trace ? trace->names : datum ? datum->places : NULL;
    *bytes = trace ? trace->bytes : datum ? datum->places_bytes : 0;
    return *bytes > 0 ? names : NULL;
}

void store_remove_places(struct store *store, struct datum_key key)
{
    struct files *files = store->options.files;
    char name[STORE_BESIDE_NAME];
    files->ops->remove(files, file_name(key, name), NULL);
}

/* A file that stays behind is removed at the next start. */
void store_forget_places(struct store *store, const struct datum *datum)
{
    if (datum->places_on_disk)
        store_remove_places(store, datum->key);
}

/* ---- at the start ---- */

/* Contents of a file of places. */
struct told {
    char text[PLACES_HEAD_BYTES + PLACES_BYTES + 1];
    const char *names; /* in the text, each with its NUL */
    size_t bytes;
    bool is_trace;
    struct store_trace trace; /* then: its kind */
};

static enum esp_status read_file(struct files *files, const char *name, struct told *told,
                                 struct esp_error *error)
{
    struct file *file;
    uint64_t length;
    enum esp_status status = files->ops->open(files, name, &file, &length, error);
    if (status != ESP_OK)
        return status;
    const bool fits = length < sizeof told->text;
    if (fits)
        status = files->ops->read(file, told->text, length, 0, error);
    files->ops->close(file);
    if (status != ESP_OK)
        return status;
    told->text[fits ? length : 0] = 0;
    const char *end = strchr(told->text, '\n');
    told->trace = (struct store_trace){.on_disk = true};
    told->is_trace = store_trace_head(told->text, &told->trace);
    if (!end || (!told->is_trace && strncmp(told->text, HEAD, strlen(HEAD)) != 0))
        return error_set(error, ESP_SYNTAX,
                         "expected \"espalier places 1\" and names of servers, found something else");
    told->names = end + 1;
    told->bytes = length - (size_t)(told->names - told->text);
    for (size_t i = (size_t)(told->names - told->text); i < length; i++)
        if (told->text[i] == '\n')
            told->text[i] = 0;
    return check(told->names, told->bytes, error);
}

static void recover_places(struct datum *datum, const struct told *told)
{
    if (told->bytes == 0 || !(datum->places = malloc(told->bytes)))
        return;
    memcpy(datum->places, told->names, told->bytes);
    datum->places_bytes = told->bytes;
    datum->places_on_disk = true;
}

static void recover_trace(struct store *store, struct datum_key key, const struct told *told)
{
    struct store_trace *trace = malloc(sizeof *trace);
    char *names = malloc(told->bytes);
    if (!trace || !names) {
        free(trace);
        free(names);
        return; /* the next start will find it */
    }
    *trace = told->trace;
    trace->key = key;
    trace->names = memcpy(names, told->names, told->bytes);
    trace->bytes = told->bytes;
    store_add_trace(store, trace);
}

/* A trace beside its datum belongs to a deletion, or a move, that was not finished: its names are places. */
static void recover_one(struct store *store, struct datum_key key)
{
    struct files *files = store->options.files;
    struct datum *datum = store_find(store, key);
    char name[STORE_BESIDE_NAME];
    struct told told;
    struct esp_error error;
    file_name(key, name);
    const enum esp_status status = read_file(files, name, &told, &error);
    if (datum && status == ESP_OK)
        recover_places(datum, &told);
    else if (datum)
        log_error("data: %s/%s: %s: the names of other servers with that datum are lost, and a client that "
                  "deletes it will not learn them",
                  files->where, name, error.text);
    else if (status == ESP_OK && told.is_trace && told.bytes > 0)
        recover_trace(store, key, &told);
    else if (!store_is_set_aside(store, key))
        files->ops->remove(files, name, NULL);
}

enum esp_status store_recover_places(struct store *store, struct esp_error *error)
{
    struct store_keys found;
    enum esp_status status = store_list_beside(store->options.files, ENDING, &found, error);
    for (size_t i = 0; status == ESP_OK && i < found.n; i++)
        recover_one(store, found.items[i]);
    free(found.items);
    return status;
}
