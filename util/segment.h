/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments: sealed memory files that hold the large arguments of a session and are shared with the worker
 * that computes on them. They are pooled, because creating and populating fresh ones costs more than most
 * computations on them.
 *
 * Layout, shared by the daemon and its workers: every array has pages of its own and *ends* at the end of
 * its last page. So a worker can map each array by itself (its offset rounded down to a page) with a guard
 * page right after its last byte, and a routine that writes past the end fails at the first byte. The
 * beginning is aligned only to the size of an element.
 *
 * Segments are sealed against shrinking and growing, because a worker that truncated one would kill the
 * daemon (SIGBUS). A segment that passes to another client is zeroed first, so that no client reads
 * another's data in parts that a routine left unwritten. A thread of the pool does this, and returns
 * memory to the system: both take milliseconds for large segments, and the daemon holds its lock while it
 * takes and returns segments. */
#ifndef UTIL_SEGMENT_H
#define UTIL_SEGMENT_H

#include "util/error.h"
#include <stdbool.h>
#include <stdint.h>

#define SEGMENT_PAGE 4096u

struct segments; /* the pool */

struct segment {
    int fd;         /* memfd, close-on-exec; workers get duplicates */
    uint8_t *data;  /* mapped in the daemon */
    uint64_t bytes; /* of the file */
    uint64_t used;  /* bytes that the present session asked for */
    bool fresh;     /* just created: its pages are not populated yet (util/pages.h) */
    /* the pool's own */
    uint64_t dirty; /* bytes that may hold data of `owner` */
    uint64_t owner[2];
    int64_t idle_ns;
    struct segment *prev, *next;
};

/* Returns the offset of an array of `bytes` after *end (start with 0), and moves *end to the end of its
 * pages. UINT64_MAX on overflow. No array has 0 bytes. */
uint64_t segment_place(uint64_t *end, uint64_t bytes);

struct segments_options {
    uint64_t idle_bytes;    /* most bytes of unused segments */
    uint32_t idle_segments; /* 0: 16 */
    bool background;        /* a thread cleans; else the owner calls segments_clean() */
};

struct segments_counters {
    uint64_t made, recycled, destroyed; /* since the start */
    uint32_t in_use, idle;
    uint64_t in_use_bytes, idle_bytes;
};

enum esp_status segments_create(const struct segments_options *options, struct segments **segments,
                                struct esp_error *error);
/* All segments must have been given back. NULL is ignored. */
void segments_destroy(struct segments *segments);

/* Takes a segment of at least `bytes` for that client: one it used before (contents unchanged), a zeroed
 * one from the pool, or a new one. ESP_SYSTEM: the system has no memory or descriptors. Any thread. */
enum esp_status segments_take(struct segments *segments, uint64_t bytes, const uint64_t owner[2],
                              struct segment **segment, struct esp_error *error);
/* Returns a segment to the pool: no chunk moves, no worker has it mapped. NULL is ignored. */
void segments_give(struct segments *segments, struct segment *segment);

/* Like segments_give(), except that it is never used again, because another process may keep its
 * descriptor. */
void segments_drop(struct segments *segments, struct segment *segment);

/* Zeroes idle segments, and frees those removed from the pool. The thread also frees segments that have
 * been unused for half a minute. */
void segments_clean(struct segments *segments);
/* Frees all idle segments. */
void segments_trim(struct segments *segments);

void segments_count(struct segments *segments, struct segments_counters *counters);

/* Returns how much memory all segments really use, used and idle ones: untouched pages have none. One
 * system call for each large segment. Any thread. */
uint64_t segments_resident(struct segments *segments);

#endif
