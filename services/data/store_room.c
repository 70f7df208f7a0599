/* SPDX-License-Identifier: Apache-2.0
 *
 * Room: what goes when memory is short, in which order, and what cannot.
 */
#include "services/data/store_state.h"

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
    if (datum->state != DATUM_VISIBLE || datum->pins || datum->held || !datum->segment)
        return LINE_NONE;
    return datum->on_disk ? LINE_LET_GO : LINE_DROP;
}

void store_line_up(struct store *store, struct datum *datum)
{
    if (datum->line != LINE_NONE) {
        DL_DELETE(store->lines[datum->line], datum);
        store->movable_bytes -= pages(datum->shape.bytes);
    }
    datum->line = line_of(datum);
    if (datum->line == LINE_NONE)
        return;
    DL_APPEND(store->lines[datum->line], datum);
    store->movable_bytes += pages(datum->shape.bytes);
    store_changed(store);
}

enum esp_status store_check_memory(struct store *store, uint64_t bytes, struct esp_error *error)
{
    char size[DATUM_BYTES_TEXT], limit[DATUM_BYTES_TEXT], stays[DATUM_BYTES_TEXT];
    uint64_t most = store->counts.memory_limit;
    if (bytes > most || pages(bytes) > most)
        return error_set(error, ESP_NO_MEMORY,
                         "a datum of %s can never fit the memory of this store, which is limited to %s "
                         "(store_memory)",
                         datum_bytes_text(bytes, size), datum_bytes_text(most, limit));
    uint64_t stays_bytes = store->counts.memory_bytes - store->movable_bytes;
    if (stays_bytes > most || pages(bytes) > most - stays_bytes)
        return store_busy(store, error,
                          "no memory for a datum of %s now: of the store's %s, %s are used by running "
                          "sessions and transfers (try again when they have ended)",
                          datum_bytes_text(bytes, size), datum_bytes_text(most, limit),
                          datum_bytes_text(stays_bytes, stays));
    return ESP_OK;
}

bool store_is_streamed(const struct store *store, uint64_t bytes, enum datum_mode mode, uint32_t flags)
{
    uint64_t most = store->counts.memory_limit;
    return store->options.files && datum_is_durable(mode, flags) && (bytes > most || pages(bytes) > most);
}

enum esp_status store_check_disk(const struct store *store, uint64_t bytes, struct esp_error *error)
{
    char size[DATUM_BYTES_TEXT], used[DATUM_BYTES_TEXT], limit[DATUM_BYTES_TEXT];
    uint64_t most = store->counts.disk_limit, used_bytes = store->counts.disk_bytes;
    if (!store->options.files)
        return error_set(error, ESP_REFUSED,
                         "server %.80s keeps no durable data: it has no state folder (state); put the datum "
                         "as volatile, or elsewhere",
                         store->node);
    if (bytes <= most && used_bytes <= most && datum_file_bytes(bytes) <= most - used_bytes)
        return ESP_OK;
    return error_set(error, ESP_LIMIT,
                     "no disk for a durable datum of %s: data have %s of the %s that this store may use "
                     "(store_disk); delete some, or put it elsewhere",
                     datum_bytes_text(bytes, size), datum_bytes_text(used_bytes, used),
                     datum_bytes_text(most, limit));
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
