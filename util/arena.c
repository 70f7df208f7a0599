/* SPDX-License-Identifier: Apache-2.0 */
#include "util/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The largest block, including its header, that malloc() serves from the thread's cache without a search. */
#define FIRST_BLOCK 1000

struct arena_block {
    struct arena_block *next;
    alignas(max_align_t) unsigned char data[];
};

void *arena_alloc(struct arena *arena, size_t bytes)
{
    const size_t align = alignof(max_align_t);
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + align - 1) & ~(align - 1);
    if (bytes == 0)
        bytes = align;
    if (!arena->blocks || arena->size - arena->used < bytes) {
        size_t size = arena->size ? arena->size * 2 : FIRST_BLOCK;
        if (size > (1U << 20))
            size = 1U << 20;
        if (size < bytes)
            size = bytes;
        struct arena_block *block = malloc(sizeof *block + size);
        if (!block)
            return NULL;
        block->next = arena->blocks;
        arena->blocks = block;
        arena->size = size;
        arena->used = 0;
    }
    void *memory = arena->blocks->data + arena->used;
    arena->used += bytes;
    arena->total += bytes;
    return memset(memory, 0, bytes);
}

void *arena_memdup(struct arena *arena, const void *data, size_t bytes)
{
    void *copy = arena_alloc(arena, bytes);
    if (copy && bytes)
        memcpy(copy, data, bytes);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_memdup(arena, text, strlen(text) + 1);
}

void arena_clear(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    *arena = (struct arena){0};
}
