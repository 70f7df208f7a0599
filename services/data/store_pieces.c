/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of data that move: into unfinished ones, out of pinned ones, through memory of their own where the
 * datum is streamed.
 */
#include "services/data/store_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

/* Its bytes pass through memory of their own. */
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

/* One piece less is out; frees what was given up meanwhile. */
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

/* The file itself, where a worker writes all of it. */
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
