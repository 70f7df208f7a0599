/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the numbered sessions that a client still has open, so that one long session does not keep a
 * thousand short ones in a server's memory. Neighbours are mostly in the same state, so the list has
 * ranges. */
#ifndef CORE_OPEN_SESSIONS_H
#define CORE_OPEN_SESSIONS_H

#include "core/message/message.h"

/* Tag of an extension of a call_request of a client with an old session open: version and ceiling, 8 bytes
 * each, little-endian; then for each range its distance from the end of the range before (the first one:
 * from 0) and its number of sessions, both in groups of 7 bits, the lowest first, with the eighth bit set
 * where more follow. */
#define EXTENSION_OPEN 13
#define CAP_OPEN       1024 /* most ranges: about the number of sessions that a server allows one client */

/* Tag in a follow, without a value: the client calls this session elsewhere, because the server was silent
 * for too long. The session ends here, and its results are dropped. */
#define EXTENSION_GIVEN_UP 122
/* Tag in a follow, without a value: the client has another server for the session. If this server has not
 * begun it, the session ends here, and the reply says so by EXTENSION_UNBEGUN. Else the session stays. */
#define EXTENSION_GIVE_BACK 162

struct open_range {
    uint64_t from, below;
};

struct open_sessions {
    uint64_t version;          /* counts up; the latest list is valid */
    uint64_t ceiling;          /* below it, the server forgets and refuses sessions that are in no range */
    struct open_range *ranges; /* in order, without overlap */
    uint32_t n, capacity;
};

/* Adds a number; numbers must rise. False when there is no room or no memory: the number becomes the
 * ceiling. */
bool open_add(struct open_sessions *open, uint64_t sequence);
/* Frees the ranges. */
void open_clear(struct open_sessions *open);
/* Packs the list as an extension, in `arena`. False without memory. */
bool open_put(const struct open_sessions *open, struct arena *arena, struct extension *extension);
/* Reads the list; false when it is missing or malformed, or without memory. If true, the caller calls
 * open_clear(). */
bool open_get(const struct extensions *extensions, struct open_sessions *open);
/* Whether that number is below the ceiling and in no range. */
bool open_excludes(const struct open_sessions *open, uint64_t sequence);

#endif
