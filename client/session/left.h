/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of an ended session that live on servers: its inputs, and the results that it left there. One
 * block of memory without pointers, because it is stored with the information about ended sessions.
 */
#ifndef CLIENT_LEFT_H
#define CLIENT_LEFT_H

#include "client/arguments/invocation.h"

struct left_datum {
    uint32_t position; /* in a vector of arguments */
    bool is_output;
    bool own; /* the session put or made it for the program */
    char argument[PROBLEM_MAX_NAME + 1];
    char id[DATUM_TEXT];
};

struct left {
    uint32_t n;
    struct left_datum data[];
};

/* Gathers the data of an invocation whose results have been taken, or that failed. Returns NULL if there
 * are none, or without memory. The caller frees it with free(). */
struct left *left_gather(const struct invocation *invocation);
/* Puts data that were left `before` in front. Takes over `left`; `before` may be NULL. */
struct left *left_join(struct left *left, const struct left *before);
/* Returns NULL if there are none, or without memory. */
struct left *left_copy(const struct left *left);
/* 0 for NULL. */
size_t left_bytes(const struct left *left);

/* Makes the program's view of the data, in the arena of that package. Returns false without memory. */
bool left_tell(const struct left *left, void *package, const struct esp_session_datum **data, size_t *n);

#endif
