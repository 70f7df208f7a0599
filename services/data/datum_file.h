/* SPDX-License-Identifier: Apache-2.0
 *
 * A durable datum is one file: a header with all its properties, then its bytes. doc/data.md draws the
 * format.
 *
 * The header has a CRC32C of itself and one of each block of the bytes, so that damage on the disk is
 * always detected. */
#ifndef SERVICES_DATA_DATUM_FILE_H
#define SERVICES_DATA_DATUM_FILE_H

#include "core/data/datum.h"
#include "services/data/files.h"

#define DATUM_FILE_VERSION 1u
#define DATUM_FILE_BLOCK   (UINT64_C(1) << 20) /* bytes under one CRC */
#define DATUM_FILE_PAGE    4096u               /* headers are multiples of it */
#define DATUM_FILE_NAME    (DATUM_DIGITS + 8)

/* The contents of a header, except the checksums. */
struct datum_header {
    struct datum_id id;
    struct datum_shape shape;
    enum datum_mode mode;
    uint32_t flags;
    char owner[CAP_NAME + 1];
    int64_t created_s;
};

/* Returns "0123...cdef.datum", with ".new" while it is being written. */
const char *datum_file_name(struct datum_key key, bool finished, char name[DATUM_FILE_NAME]);
/* Whether the name is that of a datum's file, finished or not. */
bool datum_file_is_one(const char *name, bool *finished);
/* Gets the datum's key from such a name. False: another name. */
bool datum_file_key(const char *name, struct datum_key *key);

/* Return the bytes of the header of a datum with that many bytes, and of its whole file. */
uint64_t datum_header_bytes(uint64_t bytes);
uint64_t datum_file_bytes(uint64_t bytes);

/* Writes the header into `header` (datum_header_bytes() bytes); `crcs` has one checksum per block. */
void datum_header_encode(const struct datum_header *record, const uint32_t *crcs, uint8_t *header);

/* Returns the length of the header that begins with these bytes (at least DATUM_FILE_PAGE), in a file of
 * `file_bytes`. ESP_SYNTAX: not a datum's file, another version, or a length that does not fit the file. */
enum esp_status datum_header_length(const uint8_t *start, uint64_t file_bytes, uint64_t *header_bytes,
                                    struct esp_error *error);

/* Parses a whole header. ESP_SYNTAX names the first error. Accepts any bytes. */
enum esp_status datum_header_parse(const uint8_t *header, uint64_t header_bytes, uint64_t file_bytes,
                                   struct datum_header *record, struct esp_error *error);
/* Returns the checksum of block i from a parsed header. */
uint32_t datum_header_crc(const uint8_t *header, uint64_t block);

/* Makes the datum durable: temporary name, write, sync, rename, sync of the folder. On failure, removes
 * the temporary file, and the datum's own file as well unless that fails too. */
enum esp_status datum_file_write(struct files *files, const struct datum_header *record, const void *data,
                                 struct esp_error *error);

/* Reads and checks the header. ESP_SYNTAX: the file is damaged; ESP_SYSTEM: it cannot be read. */
enum esp_status datum_file_head(struct files *files, const char *name, struct datum_header *record,
                                struct esp_error *error);

/* Reads and checks everything: the datum must match `record`. Its bytes go to `data`
 * (record->shape.bytes), or, when that is NULL, are only checked. ESP_SYNTAX, ESP_SYSTEM. */
enum esp_status datum_file_read(struct files *files, const struct datum_header *record, void *data,
                                struct esp_error *error);

/* ---- reading and writing in pieces ---- */

/* A durable datum's file, read or written piece by piece, for data that are not, or cannot be, held in
 * memory. Only the checksums are in memory.
 *
 * Several threads may write and read pieces at different positions at the same time. Creating, finishing
 * and closing need one thread, while no piece is moving. */

struct datum_stream;

/* Creates a file under its temporary name. ESP_NO_MEMORY, ESP_SYSTEM. */
enum esp_status datum_stream_create(struct files *files, const struct datum_header *record,
                                    struct datum_stream **stream, struct esp_error *error);
/* Writes bytes [offset, offset + bytes) of the datum. Sometimes waits for the disk, to limit the bytes on
 * their way there. ESP_NO_MEMORY: the disk is full; ESP_SYSTEM. */
enum esp_status datum_stream_write(struct datum_stream *stream, uint64_t offset, const void *data,
                                   uint64_t bytes, struct esp_error *error);
/* All pieces have been written: makes the datum durable, like datum_file_write(). After a failure all must
 * be written again. */
enum esp_status datum_stream_finish(struct datum_stream *stream, const struct datum_header *record,
                                    struct esp_error *error);

/* All pieces have been written: the datum can now be read from the file, which keeps its temporary name
 * and is not durable. Computes its checksums. ESP_SYSTEM, ESP_NO_MEMORY. */
enum esp_status datum_stream_seal(struct datum_stream *stream, struct esp_error *error);
/* Makes a sealed datum durable with that record, after syncing it and checking every byte. ESP_SYNTAX: it
 * is damaged. */
enum esp_status datum_stream_promote(struct datum_stream *stream, const struct datum_header *record,
                                     struct esp_error *error);
/* Reads and checks every byte. ESP_SYNTAX: it is damaged; ESP_SYSTEM. */
enum esp_status datum_stream_check(struct datum_stream *stream, struct esp_error *error);

/* Extends the file of a datum being written to its full size, with space on the disk, for callers that
 * write to a mapping of it. ESP_NO_MEMORY: the disk is full, or files cannot be mapped; ESP_SYSTEM. */
enum esp_status datum_stream_reserve(struct datum_stream *stream, struct esp_error *error);

/* Opens a file for reading. Its header is read with the first piece. ESP_NOT_FOUND, ESP_SYSTEM. */
enum esp_status datum_stream_open(struct files *files, const struct datum_header *record,
                                  struct datum_stream **stream, struct esp_error *error);
/* Returns the memory needed to read a piece, which is extended to whole blocks. */
uint64_t datum_stream_room(const struct datum_stream *stream, uint64_t offset, uint64_t bytes);
/* Reads the bytes, with the rest of their blocks around them, into `room`; *at is their position in it.
 * ESP_SYNTAX: the file is damaged, and none of it may be used; ESP_SYSTEM. */
enum esp_status datum_stream_read(struct datum_stream *stream, uint64_t offset, uint64_t bytes, void *room,
                                  uint8_t **at, struct esp_error *error);

/* Returns the file for mapping, and the offset of the datum in it (of a page); -1: there is none. */
int datum_stream_descriptor(const struct datum_stream *stream, uint64_t *offset);

/* Adds a user, who must close it. Called by one thread at a time, like closing. */
struct datum_stream *datum_stream_share(struct datum_stream *stream);
/* Removes the name of an unfinished file; its readers continue. */
void datum_stream_unlink(struct datum_stream *stream);
/* Frees the stream with the last user; an unfinished file is removed then. NULL is ignored. */
void datum_stream_close(struct datum_stream *stream);

#endif
