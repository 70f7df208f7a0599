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

/* Reads and checks all: the datum must be what `record` says. Its bytes go to `data` (record->shape.bytes of
 * it), or, when that is NULL, are checked only. ESP_SYNTAX, ESP_SYSTEM. */
enum esp_status datum_file_read(struct files *files, const struct datum_header *record, void *data,
                                struct esp_error *error);

/* ---- the parts of it, for who writes and reads pieces (services/data/datum_file.h) ---- */

/* A durable datum's file (services/data/datum_file.h), piece by piece: for data that are not, or cannot be,
 * kept in memory. Nothing of it is in memory but the checksums.
 *
 * Pieces may be written and read by several threads at a time, at different places; beginning, finishing and
 * closing are one thread's, when no piece moves. */

struct datum_stream;

/* A new file, under its temporary name. ESP_NO_MEMORY, ESP_SYSTEM. */
enum esp_status datum_stream_create(struct files *files, const struct datum_header *record,
                                    struct datum_stream **stream, struct esp_error *error);
/* Bytes [offset, offset + bytes) of the datum, which are within it. Now and then it waits for the disk, so
 * that only so much is on its way there. ESP_NO_MEMORY: the disk is full; ESP_SYSTEM. */
enum esp_status datum_stream_write(struct datum_stream *stream, uint64_t offset, const void *data,
                                   uint64_t bytes, struct esp_error *error);
/* All has been written: makes it durable, as datum_file_write() does. After a failure all has to be written
 * again. */
enum esp_status datum_stream_finish(struct datum_stream *stream, const struct datum_header *record,
                                    struct esp_error *error);

/* All has been written, and it is to be read where it is, under its temporary name: no more is promised of
 * it. Its own checksums are taken. ESP_SYSTEM, ESP_NO_MEMORY. */
enum esp_status datum_stream_seal(struct datum_stream *stream, struct esp_error *error);
/* What was sealed becomes durable, as that record says, once it has been synced and every byte of it looked
 * at. ESP_SYNTAX: it is damaged. */
enum esp_status datum_stream_promote(struct datum_stream *stream, const struct datum_header *record,
                                     struct esp_error *error);
/* Reads and checks every byte. ESP_SYNTAX: it is damaged; ESP_SYSTEM. */
enum esp_status datum_stream_check(struct datum_stream *stream, struct esp_error *error);

/* Of one that is written: its file has all its bytes from now on, on the disk, for who writes to a mapping of
 * it. ESP_NO_MEMORY: the disk is full, or files cannot be mapped; ESP_SYSTEM. */
enum esp_status datum_stream_reserve(struct datum_stream *stream, struct esp_error *error);

/* To read. Its header is looked at with the first piece. ESP_NOT_FOUND, ESP_SYSTEM. */
enum esp_status datum_stream_open(struct files *files, const struct datum_header *record,
                                  struct datum_stream **stream, struct esp_error *error);
/* Memory that a piece takes while it is read: it begins and ends where blocks do. */
uint64_t datum_stream_room(const struct datum_stream *stream, uint64_t offset, uint64_t bytes);
/* The bytes, with the rest of their blocks around them, into `room`; *at is where they are in it. ESP_SYNTAX:
 * the file is damaged, and nothing of it is to be used; ESP_SYSTEM. */
enum esp_status datum_stream_read(struct datum_stream *stream, uint64_t offset, uint64_t bytes, void *room,
                                  uint8_t **at, struct esp_error *error);

/* The file for mapping, and where the datum begins in it (at a page); -1: there is none. */
int datum_stream_descriptor(const struct datum_stream *stream, uint64_t *offset);

/* One more has it, and closes it. By one thread at a time, as closing. */
struct datum_stream *datum_stream_share(struct datum_stream *stream);
/* The name of what was not finished goes; who reads it goes on. */
void datum_stream_unlink(struct datum_stream *stream);
/* Frees, with the last who has it; a file that was not finished is removed then. NULL is nothing to do. */
void datum_stream_close(struct datum_stream *stream);

#endif
