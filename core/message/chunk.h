/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of a large argument or datum moves at a time.
 */
#ifndef CORE_CHUNK_H
#define CORE_CHUNK_H

#include <stdint.h>

#define CHUNK_SHORT ((uint64_t)1 << 20)
#define CHUNK_LONG  ((uint64_t)4 << 20)

/* A stream that is slower than this is held up by a link, not by the processors. */
#define CHUNK_LINK_BYTES_PER_S ((uint64_t)100000000)

/* The length of a stream's next chunk, when the last one had so many bytes and took so long (0: there was
 * none). Short ones where processors are what holds it up: what was read for its checksum is still in their
 * caches when it is sent, or used (with checksums, 1.1 to 1.8 times the rate of 4 MiB on one host). Long ones
 * over links, so that the few that are on the way at a time bridge the delay. */
static inline uint64_t chunk_length(uint64_t last_bytes, int64_t last_ns)
{
    double bytes_per_s = last_ns > 0 ? (double)last_bytes * 1e9 / (double)last_ns : 0;
    return last_bytes > 0 && bytes_per_s < (double)CHUNK_LINK_BYTES_PER_S ? CHUNK_LONG : CHUNK_SHORT;
}

#endif
