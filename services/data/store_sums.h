/* SPDX-License-Identifier: Apache-2.0
 *
 * Checksums of pieces of a datum, from when they came or went out first. The bytes of a datum do not change,
 * so who fetches the same piece next is spared their reading on this side, and hears when the memory is no
 * more what it was. Not thread-safe.
 */
#ifndef SERVICES_STORE_SUMS_H
#define SERVICES_STORE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: none. Pieces in order, no two of which overlap. */
struct store_sums {
    struct store_sum *items;
    uint32_t n, room;
};

/* CRC32C (util/crc32c.h) of the bytes [offset, offset + bytes). A piece that is shorter than CHUNK_LEAST
 * (core/message/chunk.h), or for which there is no memory, is not noted; those that it overlaps are
 * forgotten. */
void store_sums_note(struct store_sums *sums, uint64_t offset, uint64_t bytes, uint32_t crc32c);

/* Of just these bytes. False: not known. */
bool store_sums_find(const struct store_sums *sums, uint64_t offset, uint64_t bytes, uint32_t *crc32c);

/* These bytes are about to change: what overlaps them is not known any more. */
void store_sums_forget(struct store_sums *sums, uint64_t offset, uint64_t bytes);

void store_sums_clear(struct store_sums *sums);

#endif
