/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is freed all at once: a message owns one, and everything decoded lies in it. */
#ifndef UTIL_ARENA_H
#define UTIL_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks;
    size_t used, size; /* of the newest block */
    size_t total;      /* bytes handed out */
};

/* An all-zero arena is empty. */

/* Returns `bytes` of zeroed memory aligned for any type, or NULL. One thread at a time. */
void *arena_alloc(struct arena *arena, size_t bytes);
char *arena_strdup(struct arena *arena, const char *text);
void *arena_memdup(struct arena *arena, const void *data, size_t bytes);

/* Frees all memory; the arena can be used again. */
void arena_clear(struct arena *arena);

#endif
