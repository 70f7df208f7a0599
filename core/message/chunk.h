/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of a large argument or datum moves at a time.
 */
#ifndef CORE_CHUNK_H
#define CORE_CHUNK_H

#include <stdint.h>

#define CHUNK_FIRST ((uint64_t)256 << 10)
#define CHUNK_SHORT ((uint64_t)1 << 20)
#define CHUNK_LONG  ((uint64_t)4 << 20)
#define CHUNK_LEAST ((uint64_t)64 << 10)

/* Of so many bytes one stream moves all chunks, of more two, over connections of their own. */
#define CHUNK_SINGLE ((uint64_t)8 << 20)

/* A stream that is slower than this is held up by a link, not by the processors. */
#define CHUNK_LINK_BYTES_PER_S 1e8
/* So long a chunk may take over a link: well below what an answer is waited for, also where the streams share
 * the link. What is lost with a connection is no more than that. */
#define CHUNK_LINK_S 0.25

/* The length of a stream's next chunk, when the last one had so many bytes and took so long (0: there was
 * none); a power of two, so that pieces of different lengths join. Short ones where processors are what holds
 * it up: what was read for its checksum is still in their caches when it is sent, or used (with checksums,
 * 1.1 to 1.8 times the rate of 4 MiB on one host). Over links as long as they take CHUNK_LINK_S, 4 MiB at
 * most, so that the few that are on the way at a time bridge the delay. */
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
