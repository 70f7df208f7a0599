/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments: sealed memory files that hold the large arguments of a session and are shared with the worker
 * that computes on them. They come from a pool and go back to it, because making and faulting in fresh ones
 * costs more than most computations on them.
 *
 * The layout rule, which the daemon and its workers share: every array has pages of its own and *ends* at the
 * end of its last page. So a worker can map each array by itself (its offset rounded down to a page) with a
 * guard page right behind its last byte, and a routine that runs over the end is caught at the first byte.
 * The beginning is aligned to the size of an element only.
 *
 * Segments are sealed against shrinking and growing: a worker that truncated one would kill the daemon
 * (SIGBUS). A segment that changes hands between clients is zeroed first, so that nobody reads another's data
 * in what a routine left unwritten; that happens in a thread of the pool, as does returning memory to
 * the system: both take milliseconds for large segments, and the daemon's lock is held while segments are
 * taken and given back.
 */
#ifndef UTIL_SEGMENT_H
#define UTIL_SEGMENT_H

#include "util/error.h"
#include <stdbool.h>
#include <stdint.h>

#define SEGMENT_PAGE 4096u

struct segments; /* the pool */

struct segment {
    int fd;         /* memfd, close-on-exec; workers get copies of it */
    uint8_t *data;  /* mapped in the daemon */
    uint64_t bytes; /* of the file */
    uint64_t used;  /* by the present session, as it was asked for */
    bool fresh;     /* made for it: its pages are not there yet (util/pages.h) */
    /* the pool's own */
    uint64_t dirty; /* bytes that may hold data of `owner` */
    uint64_t owner[2];
    int64_t idle_ns;
    struct segment *prev, *next;
};

/* Where an array of `bytes` goes behind *end (start with 0), which moves to the end of its pages. UINT64_MAX
 * when that overflows. No array has 0 bytes. */
uint64_t segment_place(uint64_t *end, uint64_t bytes);

struct segments_options {
    uint64_t idle_bytes;    /* most that unused segments may keep */
    uint32_t idle_segments; /* 0: 16 */
    bool background;        /* a thread cleans; else segments_clean() is the owner's to call */
};

struct segments_counters {
    uint64_t made, recycled, destroyed; /* since the start */
    uint32_t in_use, idle;
    uint64_t in_use_bytes, idle_bytes;
};

enum esp_status segments_create(const struct segments_options *options, struct segments **segments,
                                struct esp_error *error);
/* All segments must have been given back. NULL is nothing to do. */
void segments_destroy(struct segments *segments);

/* A segment of at least `bytes` for that client: one it used before (contents as it left them), a zeroed one
 * from the pool, or a new one. ESP_SYSTEM: the system has no memory or descriptors. Any thread. */
enum esp_status segments_take(struct segments *segments, uint64_t bytes, const uint64_t owner[2],
                              struct segment **segment, struct esp_error *error);
/* Nobody uses it any more: no chunk moves, no worker has it mapped. NULL is nothing to do. */
void segments_give(struct segments *segments, struct segment *segment);

/* The same, but it is never used again: who else has its descriptor may keep it. */
void segments_drop(struct segments *segments, struct segment *segment);

/* Zeroes what lies idle, and frees what the pool has let go of. The thread also lets go of what nobody has
 * wanted for half a minute. */
void segments_clean(struct segments *segments);
/* Lets go of all idle segments. */
void segments_trim(struct segments *segments);

void segments_count(struct segments *segments, struct segments_counters *counters);

/* How much memory all segments really have, used and idle ones: pages that nobody has touched yet have none.
 * Asks the system once for each large one. Any thread. */
uint64_t segments_resident(struct segments *segments);

#endif
