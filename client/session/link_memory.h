/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client has learned of its links, kept over the lives of its processes: a text file in the user's
 * cache folder, a line a server (with the rate back at its end, where that is known), behind it one for each
 * size whose rate is another, the CRC32C of it all at the end. It is a hint and never an error: a file that
 * is damaged is set aside, one that cannot be written is not.
 *
 * Not thread-safe: the owner's lock.
 */
#ifndef CLIENT_LINK_MEMORY_H
#define CLIENT_LINK_MEMORY_H

#include "core/forecast/size_rates.h"
#include "core/message/message_basic.h"

#define LINK_MEMORY_MOST 256 /* links; the ones used longest ago go */
#define LINK_MEMORY_DAYS 30  /* older ones go too: addresses are given to others */
/* What only greetings have told of is measured again after this time, and transfers take its place. */
#define LINK_MEMORY_SOUNDED_S 3600
/* And what only short transfers and calls have told of after this: other things made them longer. */
#define LINK_MEMORY_SHORT_S 86400
#define LINK_MEMORY_SUFFIX  ".damaged"

struct remembered_link {
    char address[CAP_ADDRESS + 1]; /* of the server */
    int64_t used_s;                /* since 1970, when a transfer (or greetings) told of it last */
    bool sounded;                  /* by greetings only */
    bool is_short;                 /* by short transfers and calls only; not `sounded`; the rate may be 0 */
    uint64_t short_bytes;          /* the longest of those; 0 of others */
    bool doubted; /* the last process found that it takes much longer; neither `sounded` nor `is_short` */
    struct path path;
    struct size_rates sizes[2]; /* from there, and there, by transfers, where they depend on that */
};

/* All-zero is empty. */
struct link_memory {
    struct remembered_link *links;
    size_t n;
};

/* espalier/links in $XDG_CACHE_HOME, else in ~/.cache; "" without a home. */
void link_memory_path(char *path, size_t size);

/* Reads the file into an empty memory; `now_s` since 1970. Without a file, memory or sense it stays empty. */
void link_memory_load(struct link_memory *memory, const char *path, int64_t now_s);
void link_memory_clear(struct link_memory *memory);

/* What is known of the link to that address; NULL: nothing. */
const struct remembered_link *link_memory_find(const struct link_memory *memory, const char *address);
/* A link is this now. Without room or memory it is forgotten. */
void link_memory_set(struct link_memory *memory, const char *address, const struct path *path, int64_t now_s);

/* The same link's rates by size, from there, and there; nothing happens where no transfer is known. */
void link_memory_set_sizes(struct link_memory *memory, const char *address, const struct size_rates *sizes);

/* The same, as greetings found it; nothing happens where a transfer is known, but short ones know less. */
void link_memory_set_sounded(struct link_memory *memory, const char *address, const struct path *path,
                             int64_t now_s);

/* The same, as short transfers and calls of `bytes` at most told it, or, with a rate of 0, only small ones;
 * nothing happens where longer ones or greetings are known. */
void link_memory_set_short(struct link_memory *memory, const char *address, const struct path *path,
                           uint64_t bytes, int64_t now_s);

/* Transfers took much longer than is known of that link, if something is known by longer ones
 * (core/forecast/surprise.h): it stands until the next process finds the same. False: nothing is. */
bool link_memory_doubt(struct link_memory *memory, const char *address);

/* Writes it, atomically, in a folder that is made (0700). False: it cannot be written. */
bool link_memory_save(const struct link_memory *memory, const char *path);

#endif
