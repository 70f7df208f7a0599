/* SPDX-License-Identifier: Apache-2.0
 *
 * A durable datum is one file: a header that says all about it, then its bytes. doc/data.md draws the format.
 *
 * The header has a CRC32C of itself and one of each block of the bytes, so that nothing that a disk got wrong
 * is ever taken for the datum.
 */
#ifndef SERVICES_DATA_DATUM_FILE_H
#define SERVICES_DATA_DATUM_FILE_H

#include "core/data/datum.h"
#include "services/data/files.h"

#define DATUM_FILE_VERSION 1u
#define DATUM_FILE_BLOCK   (UINT64_C(1) << 20) /* bytes under one CRC */
#define DATUM_FILE_PAGE    4096u               /* headers are multiples of it */
#define DATUM_FILE_NAME    (DATUM_DIGITS + 8)

/* What a header says, but for the checksums. */
struct datum_header {
    struct datum_id id;
    struct datum_shape shape;
    enum datum_mode mode;
    uint32_t flags;
    char owner[CAP_NAME + 1];
    int64_t created_s;
};

/* "0123...cdef.datum", and ".new" while it is being written. */
const char *datum_file_name(struct datum_key key, bool finished, char name[DATUM_FILE_NAME]);
/* Whether a file is one, finished or not. */
bool datum_file_is_one(const char *name, bool *finished);
/* Of which datum such a file is. False: a file of another name. */
bool datum_file_key(const char *name, struct datum_key *key);

/* Bytes of the header of a datum of so many bytes, of its file all in all. */
uint64_t datum_header_bytes(uint64_t bytes);
uint64_t datum_file_bytes(uint64_t bytes);

/* How many blocks so many bytes are, and how long each of them is. */
uint64_t datum_file_blocks(uint64_t bytes);
size_t datum_file_block_bytes(uint64_t bytes, uint64_t block);

/* Writes the header into `header` (datum_header_bytes() of it); `crcs` has one of each block. */
void datum_header_encode(const struct datum_header *record, const uint32_t *crcs, uint8_t *header);

/* How long the header is that begins with these bytes (at least DATUM_FILE_PAGE), in a file of `file_bytes`.
 * ESP_SYNTAX: not a datum's file, another version, or a length that does not fit the file. */
enum esp_status datum_header_length(const uint8_t *start, uint64_t file_bytes, uint64_t *header_bytes,
                                    struct esp_error *error);

/* Reads a whole header. ESP_SYNTAX tells the first thing that is wrong. Any bytes may be given. */
enum esp_status datum_header_parse(const uint8_t *header, uint64_t header_bytes, uint64_t file_bytes,
                                   struct datum_header *record, struct esp_error *error);
/* The checksum of block i, from a header that was parsed. */
uint32_t datum_header_crc(const uint8_t *header, uint64_t block);

/* Makes the datum durable: temporary name, write, sync, rename, sync of the folder. When it fails, the
 * temporary file is removed, and the datum's own name as well unless the disk refuses that too. */
enum esp_status datum_file_write(struct files *files, const struct datum_header *record, const void *data,
                                 struct esp_error *error);

/* Reads and checks the header. ESP_SYNTAX: the file is damaged; ESP_SYSTEM: it cannot be read. */
enum esp_status datum_file_head(struct files *files, const char *name, struct datum_header *record,
                                struct esp_error *error);

/* Opens the finished file of that datum. ESP_NOT_FOUND; ESP_SYSTEM, also where something else lies in its
 * place: who asks for the datum is not to blame. */
enum esp_status datum_file_open(struct files *files, const struct datum_header *record, struct file **file,
                                uint64_t *file_bytes, struct esp_error *error);
/* Reads and checks all: the datum must be what `record` says. Its bytes go to `data` (record->shape.bytes of
 * it), or, when that is NULL, are checked only. ESP_SYNTAX, ESP_SYSTEM. */
enum esp_status datum_file_read(struct files *files, const struct datum_header *record, void *data,
                                struct esp_error *error);

/* ---- the parts of it, for who writes and reads pieces (services/data/datum_stream.h) ---- */

/* The header, when all blocks have been written, and sync. */
enum esp_status datum_file_head_write(struct files *files, struct file *file,
                                      const struct datum_header *record, const uint32_t *crcs,
                                      struct esp_error *error);
/* The finished file gets its name, for good. */
enum esp_status datum_file_publish(struct files *files, struct datum_key key, struct esp_error *error);
/* The header of an open file of `file_bytes`, which must be that of the datum; *header is the caller's to
 * free. ESP_SYNTAX, ESP_SYSTEM. */
enum esp_status datum_file_header_of(struct files *files, struct file *file, uint64_t file_bytes,
                                     const struct datum_header *record, uint8_t **header,
                                     struct esp_error *error);
/* Reads and checks bytes [from, from + bytes), which are whole blocks; `data` as in datum_file_read(). */
enum esp_status datum_file_read_blocks(struct files *files, struct file *file, const uint8_t *header,
                                       const struct datum_header *record, uint64_t from, uint64_t bytes,
                                       uint8_t *data, struct esp_error *error);

#endif
