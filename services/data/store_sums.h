/* SPDX-License-Identifier: Apache-2.0
 *
 * Caches checksums of pieces of a datum, from when they first moved. The bytes of a datum never change, so
 * the next transfer of the same piece need not read it for the checksum, and the receiver notices if the
 * memory has been corrupted. Not thread-safe. */
#ifndef SERVICES_STORE_SUMS_H
#define SERVICES_STORE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed is empty. Pieces are in order and do not overlap. */
struct store_sums {
    struct store_sum *items;
    uint32_t n, room;
};

/* Notes the CRC32C (util/crc32c.h) of the bytes [offset, offset + bytes). A piece shorter than CHUNK_LEAST
 * (core/message/chunk.h), or without memory for it, is not noted; overlapping pieces are forgotten. */
void store_sums_note(struct store_sums *sums, uint64_t offset, uint64_t bytes, uint32_t crc32c);

/* Finds the checksum of exactly these bytes. False: not known. */
bool store_sums_find(const struct store_sums *sums, uint64_t offset, uint64_t bytes, uint32_t *crc32c);

/* These bytes are about to change: forgets overlapping pieces. */
void store_sums_forget(struct store_sums *sums, uint64_t offset, uint64_t bytes);

void store_sums_clear(struct store_sums *sums);

#endif
