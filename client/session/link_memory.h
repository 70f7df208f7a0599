/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores what a client has learned of its links between processes: a text file in the user's cache folder.
 * It has one line a server (which ends with the rate from the server if that is known), followed by one
 * line for each size with a different rate, and a CRC32C at the end. The file is a hint: a damaged one is
 * set aside, and a failure to write it is ignored.
 *
 * Not thread-safe: called under the owner's lock.
 */
#ifndef CLIENT_LINK_MEMORY_H
#define CLIENT_LINK_MEMORY_H

#include "core/forecast/size_rates.h"
#include "core/message/message_basic.h"

#define LINK_MEMORY_MOST 256 /* most links; the least recently used ones are dropped */
#define LINK_MEMORY_DAYS 30  /* older links are dropped, because addresses are reused */
/* A link that is known from greetings only is measured again after this time, and transfers replace it. */
#define LINK_MEMORY_SOUNDED_S 3600
/* A link that is known from short transfers and calls only is measured again after this time, because
 * other delays made these longer. */
#define LINK_MEMORY_SHORT_S 86400
#define LINK_MEMORY_SUFFIX  ".damaged"

struct remembered_link {
    char address[CAP_ADDRESS + 1]; /* of the server */
    int64_t used_s;                /* last transfer or greeting, seconds since 1970 */
    bool sounded;                  /* from greetings only */
    bool is_short;                 /* from short transfers and calls only, not `sounded`; the rate may be 0 */
    uint64_t short_bytes;          /* the longest of these; else 0 */
    bool doubted; /* the last process found that transfers take much longer; not with `sounded` or `is_short`
                   */
    struct path path;
    struct size_rates sizes[2]; /* from the server and to it, by transfers, if rates depend on size */
};

/* All zero is empty. */
struct link_memory {
    struct remembered_link *links;
    size_t n;
};

/* espalier/links in $XDG_CACHE_HOME, else in ~/.cache; "" without a home. */
void link_memory_path(char *path, size_t size);

/* Reads the file into an empty memory; `now_s` since 1970. Without a valid file, or without memory, it
 * stays empty. */
void link_memory_load(struct link_memory *memory, const char *path, int64_t now_s);
void link_memory_clear(struct link_memory *memory);

/* Returns the link to that address; NULL: unknown. */
const struct remembered_link *link_memory_find(const struct link_memory *memory, const char *address);
/* Sets a link that is known by transfers. Without room or memory it is left out. */
void link_memory_set(struct link_memory *memory, const char *address, const struct path *path, int64_t now_s);

/* Sets the same link's rates by size, from the server and to it. Does nothing if the link is not known by
 * transfers. */
void link_memory_set_sizes(struct link_memory *memory, const char *address, const struct size_rates *sizes);

/* Sets a link as greetings found it. Replaces short transfers, but not long ones. */
void link_memory_set_sounded(struct link_memory *memory, const char *address, const struct path *path,
                             int64_t now_s);

/* Sets a link as short transfers and calls of at most `bytes` found it; with rate 0 only its latency is
 * known. Replaces neither long transfers nor greetings. */
void link_memory_set_short(struct link_memory *memory, const char *address, const struct path *path,
                           uint64_t bytes, int64_t now_s);

/* Notes that transfers took much longer than stored (core/forecast/surprise.h). The stored rate stays
 * until the next process finds the same. Returns false if the link is not known by long transfers. */
bool link_memory_doubt(struct link_memory *memory, const char *address);

/* Writes the file atomically, and creates its folder (0700). Returns false if it cannot be written. */
bool link_memory_save(const struct link_memory *memory, const char *path);

#endif
