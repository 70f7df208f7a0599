/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of its numbered sessions a client still has open, so that a long one does not keep a thousand short
 * ones in a server's memory. Most are open or ended beside others that are: ranges say it.
 */
#ifndef CORE_OPEN_SESSIONS_H
#define CORE_OPEN_SESSIONS_H

#include "core/message/message.h"

/* Tag of an extension of a call_request of a client with an old session open: version and ceiling, 8 bytes
 * each, little-endian; then for each range how far it begins behind the end of the one before (the first one:
 * behind 0) and how many sessions it has, both in groups of 7 bits, the lowest first, with the eighth bit
 * where more follow. (Tag 35 was a list of 64 numbers.) */
#define EXTENSION_OPEN 13
#define CAP_OPEN       1024 /* ranges: as many as a server lets one client have sessions, about */

/* Tag in a follow, without a value: the client has called this session elsewhere, as the server said nothing
 * for too long. It ends here, and whatever came of it reaches nobody. */
#define EXTENSION_GIVEN_UP 122

struct open_range {
    uint64_t from, below;
};

struct open_sessions {
    uint64_t version;          /* counts; the latest one holds */
    uint64_t ceiling;          /* below it, the server forgets and refuses what is in no range */
    struct open_range *ranges; /* in order, apart from each other */
    uint32_t n, capacity;
};

/* Numbers in rising order. False when there is no room, or no memory, for it: then it is the ceiling. */
bool open_add(struct open_sessions *open, uint64_t sequence);
/* Frees the ranges. */
void open_clear(struct open_sessions *open);
/* As an extension, in `arena`. False without memory. */
bool open_put(const struct open_sessions *open, struct arena *arena, struct extension *extension);
/* False when it is not there, makes no sense, or without memory. To be cleared when true. */
bool open_get(const struct extensions *extensions, struct open_sessions *open);
/* Whether that number is below the ceiling and in no range. */
bool open_excludes(const struct open_sessions *open, uint64_t sequence);

#endif
