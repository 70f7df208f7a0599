/* SPDX-License-Identifier: Apache-2.0
 *
 * A durable datum's file (services/data/datum_file.h), piece by piece: for data that are not, or cannot be,
 * kept in memory. Nothing of it is in memory but the checksums.
 *
 * Pieces may be written and read by several threads at a time, at different places; beginning, finishing and
 * closing are one thread's, when no piece moves.
 */
#ifndef SERVICES_DATA_DATUM_STREAM_H
#define SERVICES_DATA_DATUM_STREAM_H

#include "services/data/datum_file.h"

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
