/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a session lives on servers when it has ended: data that it took, and those that it left. In one
 * piece without pointers, as it is kept with what is known of sessions that are over.
 */
#ifndef CLIENT_LEFT_H
#define CLIENT_LEFT_H

#include "client/arguments/invocation.h"

struct left_datum {
    uint32_t position; /* in a vector of arguments */
    bool is_output;
    bool own; /* the session put or made it for whom it tells */
    char argument[PROBLEM_MAX_NAME + 1];
    char id[DATUM_TEXT];
};

struct left {
    uint32_t n;
    struct left_datum data[];
};

/* Of an invocation whose results have been taken, or that failed. NULL: nothing (or no memory for it). For
 * free(). */
struct left *left_gather(const struct invocation *invocation);
/* With those that were left before, in front. Takes `left` over; `before` NULL is nothing to do. */
struct left *left_join(struct left *left, const struct left *before);
/* NULL: none, or no memory for it. */
struct left *left_copy(const struct left *left);
/* NULL: 0. */
size_t left_bytes(const struct left *left);

/* What the program gets of it, in the arena of that package. False without memory. */
bool left_tell(const struct left *left, void *package, const struct esp_session_datum **data, size_t *n);

#endif
