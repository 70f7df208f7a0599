/* SPDX-License-Identifier: Apache-2.0
 *
 * Which ranks of a parallel server computed a session: part of the report of a session that has ended, of
 * traces and of logs. */
#ifndef CORE_SESSION_RANKS_H
#define CORE_SESSION_RANKS_H

#include "core/message/message.h"

/* Tag in a session_report, SESSION_RANKS_BYTES: the members of struct session_ranks as four little-endian
 * 32-bit numbers. A session without it was computed by a worker, or was not computed. */
#define EXTENSION_SESSION_RANKS 81
#define SESSION_RANKS_BYTES     16

/* The ranks from `first` on, row by row; rows 0: a worker, or not computed. */
struct session_ranks {
    uint32_t first, rows, cols, block;
};

/* False without memory. */
bool session_ranks_put(const struct session_ranks *ranks, struct extensions *extensions, struct arena *arena);
/* All zero when the tag is missing or malformed. */
struct session_ranks session_ranks_get(const struct extensions *extensions);

/* "ranks 0 to 3 as 2 x 2, blocks of 64", "rank 1, blocks of 64"; "a worker". */
#define SESSION_RANKS_TEXT 96
const char *session_ranks_text(const struct session_ranks *ranks, char text[SESSION_RANKS_TEXT]);

#endif
