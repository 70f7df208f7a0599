/* SPDX-License-Identifier: Apache-2.0 */
#include "util/package.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>

struct package {
    struct arena arena;
    alignas(max_align_t) unsigned char payload[];
};

void *package_create(size_t bytes)
{
    struct package *package = calloc(1, sizeof *package + bytes);
    return package ? package->payload : NULL;
}

static struct package *package_of(void *payload)
{
    return (struct package *)((unsigned char *)payload - offsetof(struct package, payload));
}

struct arena *package_arena(void *payload)
{
    return &package_of(payload)->arena;
}

void package_destroy(void *payload)
{
    if (!payload)
        return;
    arena_clear(package_arena(payload));
    free(package_of(payload));
}

const char *package_text(void *payload, const char *text)
{
    return text ? arena_strdup(package_arena(payload), text) : NULL;
}
