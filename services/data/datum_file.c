/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data/datum_file.h"

#include "util/crc32c.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

uint64_t datum_file_blocks(uint64_t bytes)
{
    return bytes / DATUM_FILE_BLOCK + (bytes % DATUM_FILE_BLOCK != 0);
}

size_t datum_file_block_bytes(uint64_t bytes, uint64_t block)
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

enum esp_status datum_file_head_write(struct files *files, struct file *file,
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

enum esp_status datum_file_publish(struct files *files, struct datum_key key, struct esp_error *error)
{
    char temporary[DATUM_FILE_NAME], name[DATUM_FILE_NAME];
    datum_file_name(key, false, temporary);
    datum_file_name(key, true, name);
    enum esp_status status = files->ops->rename(files, temporary, name, error);
    if (status != ESP_OK)
        return status;
    status = files->ops->sync_folder(files, "", error);
    if (status != ESP_OK)
        files->ops->remove(files, name, NULL); /* nobody was promised anything: it may come back or not */
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

/* The whole header, parsed; *header is the caller's to free. */
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

/* Damage is told with the file's name. */
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

enum esp_status datum_file_read_blocks(struct files *files, struct file *file, const uint8_t *header,
                                       const struct datum_header *record, uint64_t from, uint64_t bytes,
                                       uint8_t *data, struct esp_error *error)
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

enum esp_status datum_file_header_of(struct files *files, struct file *file, uint64_t file_bytes,
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

enum esp_status datum_file_open(struct files *files, const struct datum_header *record, struct file **file,
                                uint64_t *file_bytes, struct esp_error *error)
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
