/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data/datum_file.h"
#include "util/crc32c.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Offsets in the header. All numbers are little-endian. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 8,
    AT_HEADER_BYTES = 12,
    AT_KEY = 16,
    AT_BYTES = 32,
    AT_CREATED = 40,
    AT_MODE = 48,
    AT_FLAGS = 52,
    AT_TYPE = 56,
    AT_STORAGE = 60,
    AT_ROW_MAJOR = 64,
    AT_N_DIMS = 68,
    AT_DIMS = 72,
    AT_LAYOUT = 128,
    AT_BLOCK_BYTES = 152,
    AT_N_BLOCKS = 156,
    AT_ORIGIN = 160,
    AT_OWNER = 416,
    AT_CRCS = 672,
    NAME_BYTES = CAP_NAME + 1,
    END_BYTES = 4 /* the header's own checksum */
};

static const char magic[8] = {'E', 'S', 'P', 'D', 'A', 'T', 'U', 'M'};

/* The numbers of these enums are in files. */
_Static_assert(TYPE_CHAR == 0 && TYPE_DOUBLE == 6 && TYPE_FILE == 10, "numbers of base types are durable");
_Static_assert(STORAGE_FULL == 0 && STORAGE_PACKED == 1 && STORAGE_BANDED == 2 && STORAGE_PIECES == 5,
               "numbers of storages are durable");
_Static_assert(AT_ORIGIN + 2 * NAME_BYTES == AT_CRCS, "the names fill the space between");

static void put(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)get(at, 4);
}

static uint64_t count_blocks(uint64_t bytes)
{
    return bytes / DATUM_FILE_BLOCK + (bytes % DATUM_FILE_BLOCK != 0);
}

uint64_t datum_header_bytes(uint64_t bytes)
{
    uint64_t least = AT_CRCS + 4 * count_blocks(bytes) + END_BYTES;
    return (least + DATUM_FILE_PAGE - 1) / DATUM_FILE_PAGE * DATUM_FILE_PAGE;
}

uint64_t datum_file_bytes(uint64_t bytes)
{
    return datum_header_bytes(bytes) + bytes;
}

const char *datum_file_name(struct datum_key key, bool finished, char name[DATUM_FILE_NAME])
{
    snprintf(name, DATUM_FILE_NAME, "%016" PRIx64 "%016" PRIx64 "%s", key.high, key.low,
             finished ? ".datum" : ".new");
    return name;
}

bool datum_file_is_one(const char *name, bool *finished)
{
    if (strspn(name, "0123456789abcdef") != DATUM_DIGITS)
        return false;
    *finished = strcmp(name + DATUM_DIGITS, ".datum") == 0;
    return *finished || strcmp(name + DATUM_DIGITS, ".new") == 0;
}

bool datum_file_key(const char *name, struct datum_key *key)
{
    bool finished;
    return datum_file_is_one(name, &finished) &&
           sscanf(name, "%16" SCNx64 "%16" SCNx64, &key->high, &key->low) == 2;
}

void datum_header_encode(const struct datum_header *record, const uint32_t *crcs, uint8_t *header)
{
    uint64_t bytes = record->shape.bytes, header_bytes = datum_header_bytes(bytes);
    memset(header, 0, header_bytes);
    memcpy(header + AT_MAGIC, magic, sizeof magic);
    put(header + AT_VERSION, DATUM_FILE_VERSION, 4);
    put(header + AT_HEADER_BYTES, header_bytes, 4);
    put(header + AT_KEY, record->id.key.high, 8);
    put(header + AT_KEY + 8, record->id.key.low, 8);
    put(header + AT_BYTES, bytes, 8);
    put(header + AT_CREATED, (uint64_t)record->created_s, 8);
    put(header + AT_MODE, record->mode, 4);
    put(header + AT_FLAGS, record->flags, 4);
    put(header + AT_TYPE, record->shape.type, 4);
    put(header + AT_STORAGE, record->shape.storage, 4);
    put(header + AT_ROW_MAJOR, record->shape.row_major, 4);
    put(header + AT_N_DIMS, record->shape.n_dims, 4);
    for (unsigned i = 0; i < CAP_DIMS; i++)
        put(header + AT_DIMS + 8 * i, (uint64_t)record->shape.dims[i], 8);
    for (unsigned i = 0; i < 3; i++)
        put(header + AT_LAYOUT + 8 * i, (uint64_t)record->shape.layout[i], 8);
    put(header + AT_BLOCK_BYTES, DATUM_FILE_BLOCK, 4);
    put(header + AT_N_BLOCKS, count_blocks(bytes), 4);
    memcpy(header + AT_ORIGIN, record->id.origin, strlen(record->id.origin));
    memcpy(header + AT_OWNER, record->owner, strlen(record->owner));
    for (uint64_t i = 0; i < count_blocks(bytes); i++)
        put(header + AT_CRCS + 4 * i, crcs[i], 4);
    put(header + header_bytes - END_BYTES, crc32c(0, header, header_bytes - END_BYTES), 4);
}

uint32_t datum_header_crc(const uint8_t *header, uint64_t block)
{
    return get32(header + AT_CRCS + 4 * block);
}

enum esp_status datum_header_length(const uint8_t *start, uint64_t file_bytes, uint64_t *header_bytes,
                                    struct esp_error *error)
{
    if (memcmp(start + AT_MAGIC, magic, sizeof magic) != 0)
        return error_set(error, ESP_SYNTAX,
                         "expected a datum's file (beginning with ESPDATUM), found "
                         "another beginning");
    if (get32(start + AT_VERSION) != DATUM_FILE_VERSION)
        return error_set(error, ESP_SYNTAX, "expected a datum's file of version %u, found version %" PRIu32,
                         DATUM_FILE_VERSION, get32(start + AT_VERSION));
    *header_bytes = get32(start + AT_HEADER_BYTES);
    if (*header_bytes < DATUM_FILE_PAGE || *header_bytes % DATUM_FILE_PAGE != 0 || *header_bytes > file_bytes)
        return error_set(error, ESP_SYNTAX,
                         "expected a header of a multiple of %u bytes within the file's %" PRIu64
                         ", found %" PRIu64,
                         DATUM_FILE_PAGE, file_bytes, *header_bytes);
    return ESP_OK;
}

static enum esp_status read_name(const uint8_t *at, const char *what, char *name, struct esp_error *error)
{
    if (!memchr(at, '\0', NAME_BYTES))
        return error_set(error, ESP_SYNTAX, "expected the name of the %s to end within %d bytes", what,
                         NAME_BYTES);
    memcpy(name, at, NAME_BYTES);
    return ESP_OK;
}

static enum esp_status read_shape(const uint8_t *header, struct datum_shape *shape, struct esp_error *error)
{
    *shape = (struct datum_shape){.type = (enum base_type)get32(header + AT_TYPE),
                                  .n_dims = get32(header + AT_N_DIMS),
                                  .storage = (enum storage)get32(header + AT_STORAGE),
                                  .row_major = get32(header + AT_ROW_MAJOR) != 0,
                                  .bytes = get(header + AT_BYTES, 8)};
    for (unsigned i = 0; i < CAP_DIMS; i++)
        shape->dims[i] = (int64_t)get(header + AT_DIMS + 8 * i, 8);
    for (unsigned i = 0; i < 3; i++)
        shape->layout[i] = (int64_t)get(header + AT_LAYOUT + 8 * i, 8);
    if (datum_shape_check(shape, error) == ESP_OK)
        return ESP_OK;
    if (error)
        error->status = ESP_SYNTAX;
    return ESP_SYNTAX;
}

/* Checks that the lengths agree with each other, before anything else is read. */
static enum esp_status check_lengths(const uint8_t *header, uint64_t header_bytes, uint64_t file_bytes,
                                     struct esp_error *error)
{
    uint64_t bytes = get(header + AT_BYTES, 8);
    if (bytes > INT64_MAX) /* the size of its file would overflow */
        return error_set(error, ESP_SYNTAX, "expected the bytes of a datum, found %" PRIu64, bytes);
    if (datum_file_bytes(bytes) != file_bytes)
        return error_set(error, ESP_SYNTAX,
                         "expected a file of %" PRIu64 " bytes for a datum of %" PRIu64 ", found %" PRIu64,
                         datum_file_bytes(bytes), bytes, file_bytes);
    if (datum_header_bytes(bytes) != header_bytes || get32(header + AT_BLOCK_BYTES) != DATUM_FILE_BLOCK ||
        get32(header + AT_N_BLOCKS) != count_blocks(bytes))
        return error_set(error, ESP_SYNTAX, "the header's lengths do not agree with each other");
    return ESP_OK;
}

enum esp_status datum_header_parse(const uint8_t *header, uint64_t header_bytes, uint64_t file_bytes,
                                   struct datum_header *record, struct esp_error *error)
{
    uint64_t length;
    *record = (struct datum_header){.created_s = 0};
    if (header_bytes < DATUM_FILE_PAGE)
        return error_set(error, ESP_SYNTAX, "expected a header of at least %u bytes, found %" PRIu64,
                         DATUM_FILE_PAGE, header_bytes);
    enum esp_status status = datum_header_length(header, file_bytes, &length, error);
    if (status != ESP_OK)
        return status;
    if (length != header_bytes ||
        crc32c(0, header, header_bytes - END_BYTES) != get32(header + header_bytes - END_BYTES))
        return error_set(error, ESP_SYNTAX, "the header's checksum does not fit it");
    status = check_lengths(header, header_bytes, file_bytes, error);
    if (status != ESP_OK)
        return status;
    record->id.key = (struct datum_key){get(header + AT_KEY, 8), get(header + AT_KEY + 8, 8)};
    record->created_s = (int64_t)get(header + AT_CREATED, 8);
    record->mode = (enum datum_mode)get32(header + AT_MODE);
    record->flags = get32(header + AT_FLAGS);
    if ((unsigned)record->mode >= DATUM_N_MODES || record->flags & ~DATUM_ALL_FLAGS ||
        !datum_is_durable(record->mode, record->flags) || datum_key_is_none(record->id.key))
        return error_set(error, ESP_SYNTAX, "expected a durable datum, found mode %d, flags %" PRIx32,
                         (int)record->mode, record->flags);
    if ((status = read_name(header + AT_ORIGIN, "origin", record->id.origin, error)) != ESP_OK ||
        (status = read_name(header + AT_OWNER, "owner", record->owner, error)) != ESP_OK)
        return status;
    return read_shape(header, &record->shape, error);
}

/* Returns the number of blocks of that many bytes, and the length of each. */
static uint64_t datum_file_blocks(uint64_t bytes)
{
    return bytes / DATUM_FILE_BLOCK + (bytes % DATUM_FILE_BLOCK != 0);
}

static size_t datum_file_block_bytes(uint64_t bytes, uint64_t block)
{
    uint64_t left = bytes - block * DATUM_FILE_BLOCK;
    return (size_t)(left < DATUM_FILE_BLOCK ? left : DATUM_FILE_BLOCK);
}

static enum esp_status write_blocks(struct files *files, struct file *file, const uint8_t *data,
                                    uint64_t bytes, uint32_t *crcs, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    uint64_t start = datum_header_bytes(bytes);
    for (uint64_t i = 0; status == ESP_OK && i < datum_file_blocks(bytes); i++) {
        const uint8_t *block = data + i * DATUM_FILE_BLOCK;
        size_t size = datum_file_block_bytes(bytes, i);
        crcs[i] = crc32c(0, block, size);
        status = files->ops->write(file, block, size, start + i * DATUM_FILE_BLOCK, error);
    }
    return status;
}

/* Writes the header after all blocks, and syncs the file. */
static enum esp_status datum_file_head_write(struct files *files, struct file *file,
                                             const struct datum_header *record, const uint32_t *crcs,
                                             struct esp_error *error)
{
    uint64_t header_bytes = datum_header_bytes(record->shape.bytes);
    uint8_t *header = malloc(header_bytes);
    if (!header)
        return error_no_memory(error, "a datum's header");
    datum_header_encode(record, crcs, header);
    enum esp_status status = files->ops->write(file, header, header_bytes, 0, error);
    if (status == ESP_OK)
        status = files->ops->sync(file, error);
    free(header);
    return status;
}

static enum esp_status write_all(struct files *files, struct file *file, const struct datum_header *record,
                                 const void *data, struct esp_error *error)
{
    uint64_t bytes = record->shape.bytes;
    uint32_t *crcs = calloc(datum_file_blocks(bytes) + 1, sizeof *crcs);
    enum esp_status status = crcs ? write_blocks(files, file, data, bytes, crcs, error)
                                  : error_no_memory(error, "a datum's header");
    if (status == ESP_OK)
        status = datum_file_head_write(files, file, record, crcs, error);
    free(crcs);
    return status;
}

/* Renames the finished file to its final name, and syncs the folder. */
static enum esp_status datum_file_publish(struct files *files, struct datum_key key, struct esp_error *error)
{
    char temporary[DATUM_FILE_NAME], name[DATUM_FILE_NAME];
    datum_file_name(key, false, temporary);
    datum_file_name(key, true, name);
    enum esp_status status = files->ops->rename(files, temporary, name, error);
    if (status != ESP_OK)
        return status;
    status = files->ops->sync_folder(files, "", error);
    if (status != ESP_OK)
        files->ops->remove(files, name, NULL); /* it was not acknowledged, so it need not survive */
    return status;
}

enum esp_status datum_file_write(struct files *files, const struct datum_header *record, const void *data,
                                 struct esp_error *error)
{
    char temporary[DATUM_FILE_NAME];
    struct file *file = NULL;
    datum_file_name(record->id.key, false, temporary);
    enum esp_status status = files->ops->create(files, temporary, &file, error);
    if (status != ESP_OK)
        return status;
    status = write_all(files, file, record, data, error);
    files->ops->close(file);
    if (status == ESP_OK)
        status = datum_file_publish(files, record->id.key, error);
    if (status != ESP_OK)
        files->ops->remove(files, temporary, NULL);
    return status;
}

/* Reads and parses the whole header; the caller frees *header. */
static enum esp_status read_header(struct files *files, struct file *file, uint64_t file_bytes,
                                   struct datum_header *record, uint8_t **header, struct esp_error *error)
{
    uint8_t start[DATUM_FILE_PAGE];
    uint64_t header_bytes;
    if (file_bytes < sizeof start)
        return error_set(error, ESP_SYNTAX, "expected a datum's file of at least %u bytes, found %" PRIu64,
                         DATUM_FILE_PAGE, file_bytes);
    enum esp_status status = files->ops->read(file, start, sizeof start, 0, error);
    if (status == ESP_OK)
        status = datum_header_length(start, file_bytes, &header_bytes, error);
    if (status != ESP_OK)
        return status;
    if (!(*header = malloc(header_bytes)))
        return error_no_memory(error, "a datum's header");
    memcpy(*header, start, sizeof start);
    if (header_bytes > sizeof start)
        status =
            files->ops->read(file, *header + sizeof start, header_bytes - sizeof start, sizeof start, error);
    if (status == ESP_OK)
        status = datum_header_parse(*header, header_bytes, file_bytes, record, error);
    if (status != ESP_OK) {
        free(*header);
        *header = NULL;
    }
    return status;
}

/* Adds the file's name to an error about damage. */
static enum esp_status name_damage(struct files *files, const char *name, enum esp_status status,
                                   struct esp_error *error)
{
    if (status == ESP_SYNTAX)
        error_prefix(error, "%s/%s", files->where, name);
    return status;
}

enum esp_status datum_file_head(struct files *files, const char *name, struct datum_header *record,
                                struct esp_error *error)
{
    struct file *file;
    uint64_t file_bytes;
    uint8_t *header = NULL;
    char right[DATUM_FILE_NAME];
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    enum esp_status status = files->ops->open(files, name, &file, &file_bytes, error);
    if (status != ESP_OK)
        return status;
    status = read_header(files, file, file_bytes, record, &header, error);
    files->ops->close(file);
    free(header);
    if (status == ESP_OK && strcmp(last, datum_file_name(record->id.key, true, right)) != 0)
        status = error_set(error, ESP_SYNTAX, "expected the file of the datum in it, %s", right);
    return name_damage(files, name, status, error);
}

/* Reads and checks bytes [from, from + bytes), which are whole blocks; `data` as in datum_file_read(). */
static enum esp_status datum_file_read_blocks(struct files *files, struct file *file, const uint8_t *header,
                                              const struct datum_header *record, uint64_t from,
                                              uint64_t bytes, uint8_t *data, struct esp_error *error)
{
    uint64_t all = record->shape.bytes, start = datum_header_bytes(all), end = from + bytes;
    uint8_t *scratch = data ? NULL : malloc(DATUM_FILE_BLOCK);
    char name[DATUM_FILE_NAME];
    enum esp_status status = data || scratch ? ESP_OK : error_no_memory(error, "a block");
    for (uint64_t at = from; status == ESP_OK && at < end; at += DATUM_FILE_BLOCK) {
        uint8_t *block = data ? data + (at - from) : scratch;
        uint64_t i = at / DATUM_FILE_BLOCK;
        size_t size = datum_file_block_bytes(all, i);
        status = files->ops->read(file, block, size, start + at, error);
        if (status == ESP_OK && crc32c(0, block, size) != datum_header_crc(header, i))
            status = error_set(error, ESP_SYNTAX,
                               "the checksum of the %zu bytes from byte %" PRIu64 " does not fit them", size,
                               start + at);
    }
    free(scratch);
    return name_damage(files, datum_file_name(record->id.key, true, name), status, error);
}

static bool same_datum(const struct datum_header *a, const struct datum_header *b)
{
    return datum_key_equal(a->id.key, b->id.key) && a->shape.bytes == b->shape.bytes;
}

/* Reads the header of an open file of `file_bytes`, which must be that of the datum; the caller frees
 * *header. ESP_SYNTAX, ESP_SYSTEM. */
static enum esp_status datum_file_header_of(struct files *files, struct file *file, uint64_t file_bytes,
                                            const struct datum_header *record, uint8_t **header,
                                            struct esp_error *error)
{
    struct datum_header found;
    char name[DATUM_FILE_NAME];
    enum esp_status status = read_header(files, file, file_bytes, &found, header, error);
    if (status == ESP_OK && !same_datum(record, &found)) {
        free(*header);
        *header = NULL;
        status = error_set(error, ESP_SYNTAX, "the file has become that of another datum");
    }
    return name_damage(files, datum_file_name(record->id.key, true, name), status, error);
}

/* Opens the finished file of that datum. ESP_NOT_FOUND; ESP_SYSTEM, also if the path is no regular file,
 * because that is not the caller's fault. */
static enum esp_status datum_file_open(struct files *files, const struct datum_header *record,
                                       struct file **file, uint64_t *file_bytes, struct esp_error *error)
{
    char name[DATUM_FILE_NAME];
    const enum esp_status status =
        files->ops->open(files, datum_file_name(record->id.key, true, name), file, file_bytes, error);
    if (status != ESP_INVALID)
        return status;
    if (error)
        error->status = ESP_SYSTEM;
    return ESP_SYSTEM;
}

enum esp_status datum_file_read(struct files *files, const struct datum_header *record, void *data,
                                struct esp_error *error)
{
    char name[DATUM_FILE_NAME];
    struct file *file;
    uint64_t file_bytes;
    uint8_t *header = NULL;
    datum_file_name(record->id.key, true, name);
    enum esp_status status = datum_file_open(files, record, &file, &file_bytes, error);
    if (status == ESP_NOT_FOUND)
        status = error_set(error, ESP_SYNTAX, "the file is gone");
    if (status != ESP_OK)
        return name_damage(files, name, status, error);
    status = datum_file_header_of(files, file, file_bytes, record, &header, error);
    if (status == ESP_OK)
        status = datum_file_read_blocks(files, file, header, record, 0, record->shape.bytes, data, error);
    files->ops->close(file);
    free(header);
    return status;
}

/* Most bytes written and not yet on disk: little compared with a machine's memory, much compared with a
 * disk's cache. */
#define MOST_UNSYNCED (UINT64_C(256) << 20)

struct datum_stream {
    struct files *files;
    struct file *file;
    struct datum_header record;
    uint64_t file_bytes;
    unsigned users;
    bool writing;         /* its file has its temporary name */
    pthread_mutex_t lock; /* guards the following members */
    uint64_t unsynced;
    uint32_t *crcs;  /* written: checksums of blocks, */
    bool *known;     /* and whether each is valid, because the block came in one piece */
    uint8_t *header; /* reading: NULL until the first piece is read */
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

/* Computes the checksums of complete blocks. A block that comes in parts gets its checksum when all is
 * there. */
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

/* Computes the checksums of blocks that came in several pieces, or through a mapping. */
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
