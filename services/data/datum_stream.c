/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data/datum_stream.h"

#include "util/crc32c.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Written and not yet on the disk: little beside the memory of a machine, much beside what a disk caches. */
#define MOST_UNSYNCED (UINT64_C(256) << 20)

struct datum_stream {
    struct files *files;
    struct file *file;
    struct datum_header record;
    uint64_t file_bytes;
    unsigned users;
    bool writing;         /* its file has its temporary name */
    pthread_mutex_t lock; /* of what follows */
    uint64_t unsynced;
    uint32_t *crcs;  /* of blocks, written: */
    bool *known;     /* whether a block's is, as it came in one piece */
    uint8_t *header; /* read: NULL until the first piece */
};

static void free_stream(struct datum_stream *stream)
{
    pthread_mutex_destroy(&stream->lock);
    free(stream->crcs);
    free(stream->known);
    free(stream->header);
    free(stream);
}

static struct datum_stream *make(struct files *files, const struct datum_header *record, bool writing)
{
    struct datum_stream *stream = calloc(1, sizeof *stream);
    uint64_t n = datum_file_blocks(record->shape.bytes);
    if (!stream)
        return NULL;
    pthread_mutex_init(&stream->lock, NULL);
    stream->files = files;
    stream->record = *record;
    stream->writing = writing;
    stream->users = 1;
    if (writing) {
        stream->crcs = calloc(n + 1, sizeof *stream->crcs);
        stream->known = calloc(n + 1, sizeof *stream->known);
    }
    if (!writing || (stream->crcs && stream->known))
        return stream;
    free_stream(stream);
    return NULL;
}

struct datum_stream *datum_stream_share(struct datum_stream *stream)
{
    stream->users++;
    return stream;
}

void datum_stream_unlink(struct datum_stream *stream)
{
    char name[DATUM_FILE_NAME];
    if (stream->writing)
        stream->files->ops->remove(stream->files, datum_file_name(stream->record.id.key, false, name), NULL);
    stream->writing = false;
}

void datum_stream_close(struct datum_stream *stream)
{
    if (!stream || --stream->users > 0)
        return;
    stream->files->ops->close(stream->file);
    datum_stream_unlink(stream);
    free_stream(stream);
}

/* ---- writing ---- */

enum esp_status datum_stream_create(struct files *files, const struct datum_header *record,
                                    struct datum_stream **result, struct esp_error *error)
{
    char name[DATUM_FILE_NAME];
    struct datum_stream *stream = make(files, record, true);
    if (!stream)
        return error_no_memory(error, "the checksums of a datum");
    enum esp_status status =
        files->ops->create(files, datum_file_name(record->id.key, false, name), &stream->file, error);
    if (status == ESP_OK)
        *result = stream;
    else
        free_stream(stream);
    return status;
}

/* Of blocks of which only a part came the checksum is taken when all is there. */
static void note_blocks(struct datum_stream *stream, uint64_t offset, const uint8_t *data, uint64_t bytes)
{
    uint64_t end = offset + bytes, all = stream->record.shape.bytes;
    for (uint64_t i = offset / DATUM_FILE_BLOCK; i * DATUM_FILE_BLOCK < end; i++) {
        uint64_t from = i * DATUM_FILE_BLOCK, size = datum_file_block_bytes(all, i);
        bool whole = from >= offset && from + size <= end;
        uint32_t crc = whole ? crc32c(0, data + (from - offset), size) : 0;
        pthread_mutex_lock(&stream->lock);
        stream->crcs[i] = crc;
        stream->known[i] = whole;
        pthread_mutex_unlock(&stream->lock);
    }
}

static bool is_sync_due(struct datum_stream *stream, uint64_t bytes)
{
    pthread_mutex_lock(&stream->lock);
    stream->unsynced += bytes;
    bool due = stream->unsynced >= MOST_UNSYNCED;
    if (due)
        stream->unsynced = 0;
    pthread_mutex_unlock(&stream->lock);
    return due;
}

enum esp_status datum_stream_write(struct datum_stream *stream, uint64_t offset, const void *data,
                                   uint64_t bytes, struct esp_error *error)
{
    const struct files_ops *ops = stream->files->ops;
    uint64_t start = datum_header_bytes(stream->record.shape.bytes);
    enum esp_status status = ops->write(stream->file, data, bytes, start + offset, error);
    if (status != ESP_OK)
        return status;
    note_blocks(stream, offset, data, bytes);
    return is_sync_due(stream, bytes) ? ops->sync(stream->file, error) : ESP_OK;
}

/* Of blocks that came in several pieces, or through a mapping. */
static enum esp_status fill_checksums(struct datum_stream *stream, struct esp_error *error)
{
    const struct files_ops *ops = stream->files->ops;
    uint64_t all = stream->record.shape.bytes, start = datum_header_bytes(all);
    uint8_t *block = malloc(DATUM_FILE_BLOCK);
    enum esp_status status = block ? ESP_OK : error_no_memory(error, "a block");
    for (uint64_t i = 0; status == ESP_OK && i < datum_file_blocks(all); i++) {
        size_t size = datum_file_block_bytes(all, i);
        if (stream->known[i])
            continue;
        status = ops->read(stream->file, block, size, start + i * DATUM_FILE_BLOCK, error);
        if (status == ESP_OK)
            stream->crcs[i] = crc32c(0, block, size);
        stream->known[i] = status == ESP_OK;
    }
    free(block);
    return status;
}

enum esp_status datum_stream_finish(struct datum_stream *stream, const struct datum_header *record,
                                    struct esp_error *error)
{
    enum esp_status status = fill_checksums(stream, error);
    if (status == ESP_OK)
        status = datum_file_head_write(stream->files, stream->file, record, stream->crcs, error);
    if (status == ESP_OK)
        status = datum_file_publish(stream->files, record->id.key, error);
    if (status == ESP_OK)
        stream->writing = false;
    return status;
}

enum esp_status datum_stream_seal(struct datum_stream *stream, struct esp_error *error)
{
    uint8_t *header = malloc(datum_header_bytes(stream->record.shape.bytes));
    enum esp_status status =
        header ? fill_checksums(stream, error) : error_no_memory(error, "a datum's header");
    if (status != ESP_OK) {
        free(header);
        return status;
    }
    datum_header_encode(&stream->record, stream->crcs, header);
    free(stream->header);
    stream->header = header;
    return ESP_OK;
}

enum esp_status datum_stream_promote(struct datum_stream *stream, const struct datum_header *record,
                                     struct esp_error *error)
{
    enum esp_status status = stream->files->ops->sync(stream->file, error);
    if (status == ESP_OK)
        status = datum_stream_check(stream, error);
    return status == ESP_OK ? datum_stream_finish(stream, record, error) : status;
}

enum esp_status datum_stream_reserve(struct datum_stream *stream, struct esp_error *error)
{
    const struct files_ops *ops = stream->files->ops;
    const uint64_t bytes = datum_file_bytes(stream->record.shape.bytes);
    if (!ops->reserve)
        return error_set(error, ESP_NO_MEMORY, "the files of data cannot be mapped");
    return ops->reserve(stream->file, bytes, error);
}

/* ---- reading ---- */

enum esp_status datum_stream_open(struct files *files, const struct datum_header *record,
                                  struct datum_stream **result, struct esp_error *error)
{
    struct datum_stream *stream = make(files, record, false);
    if (!stream)
        return error_no_memory(error, "reading a datum");
    enum esp_status status = datum_file_open(files, record, &stream->file, &stream->file_bytes, error);
    if (status == ESP_OK)
        *result = stream;
    else
        free_stream(stream);
    return status;
}

static enum esp_status know_header(struct datum_stream *stream, struct esp_error *error)
{
    pthread_mutex_lock(&stream->lock);
    enum esp_status status = stream->header
                                 ? ESP_OK
                                 : datum_file_header_of(stream->files, stream->file, stream->file_bytes,
                                                        &stream->record, &stream->header, error);
    pthread_mutex_unlock(&stream->lock);
    return status;
}

static uint64_t first_of(uint64_t offset)
{
    return offset / DATUM_FILE_BLOCK * DATUM_FILE_BLOCK;
}

uint64_t datum_stream_room(const struct datum_stream *stream, uint64_t offset, uint64_t bytes)
{
    uint64_t all = stream->record.shape.bytes, end = offset + bytes;
    end = (end + DATUM_FILE_BLOCK - 1) / DATUM_FILE_BLOCK * DATUM_FILE_BLOCK;
    return (end < all ? end : all) - first_of(offset);
}

enum esp_status datum_stream_read(struct datum_stream *stream, uint64_t offset, uint64_t bytes, void *room,
                                  uint8_t **at, struct esp_error *error)
{
    uint64_t from = first_of(offset);
    enum esp_status status = know_header(stream, error);
    if (status == ESP_OK)
        status = datum_file_read_blocks(stream->files, stream->file, stream->header, &stream->record, from,
                                        datum_stream_room(stream, offset, bytes), room, error);
    *at = (uint8_t *)room + (offset - from);
    return status;
}

enum esp_status datum_stream_check(struct datum_stream *stream, struct esp_error *error)
{
    enum esp_status status = know_header(stream, error);
    if (status == ESP_OK)
        status = datum_file_read_blocks(stream->files, stream->file, stream->header, &stream->record, 0,
                                        stream->record.shape.bytes, NULL, error);
    return status;
}

int datum_stream_descriptor(const struct datum_stream *stream, uint64_t *offset)
{
    const struct files_ops *ops = stream->files->ops;
    *offset = datum_header_bytes(stream->record.shape.bytes);
    return ops->descriptor ? ops->descriptor(stream->file) : -1;
}
