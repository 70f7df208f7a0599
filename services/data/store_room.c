/* SPDX-License-Identifier: Apache-2.0
 *
 * Room: what goes when memory is short, in which order, and what cannot.
 */
#include "services/data/store_state.h"
#include "util/bytes.h"

#include <string.h>

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

/* Of files whose replicas may go. */
static uint64_t droppable(const struct store *store)
{
    const struct datum *datum;
    uint64_t bytes = 0;
    DL_FOREACH(store->lines[LINE_BORNE], datum)
    bytes += datum_file_bytes(datum->shape.bytes);
    return bytes;
}

/* Whether the disk itself takes so much more: not known is yes. */
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
            break; /* store_check_memory() has said that it goes */
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
    if (status != ESP_OK) { /* what is kept for later may be what is missing */
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
