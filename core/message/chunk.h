/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses how many bytes of a large argument or datum move at a time. */
#ifndef CORE_CHUNK_H
#define CORE_CHUNK_H

#include <stdint.h>

#define CHUNK_FIRST ((uint64_t)256 << 10)
#define CHUNK_SHORT ((uint64_t)1 << 20)
#define CHUNK_LONG  ((uint64_t)4 << 20)
#define CHUNK_LEAST ((uint64_t)64 << 10)

/* Up to this many bytes, one stream moves all chunks; above, two streams, each over its own connection. */
#define CHUNK_SINGLE ((uint64_t)8 << 20)

/* A slower stream is limited by a link, not by the processors. */
#define CHUNK_LINK_BYTES_PER_S 1e8
/* Longest time of a chunk over a link: well below the time that a caller waits for a reply, even if
 * streams share the link. A broken connection loses no more than that. */
#define CHUNK_LINK_S 0.25

/* Returns the length of a stream's next chunk, a power of two, so that pieces of different lengths join.
 * `last_bytes` and `last_ns` describe the chunk before it (0: none). If processors limit the stream,
 * chunks are short: the bytes read for the checksum are then still in the caches when they are sent or
 * used. Over a slow link a chunk takes CHUNK_LINK_S, up to 4 MiB, so that the few chunks on their way
 * bridge the delay. */
static inline uint64_t chunk_length(uint64_t last_bytes, int64_t last_ns)
{
    if (last_bytes == 0)
        return CHUNK_FIRST;
    const double bytes_per_s =
        last_ns > 0 ? (double)last_bytes * 1e9 / (double)last_ns : CHUNK_LINK_BYTES_PER_S;
    if (bytes_per_s >= CHUNK_LINK_BYTES_PER_S)
        return CHUNK_SHORT;
    uint64_t length = CHUNK_LEAST;
    while (length < CHUNK_LONG && 2 * (double)length <= bytes_per_s * CHUNK_LINK_S)
        length *= 2;
    return length;
}

#endif
