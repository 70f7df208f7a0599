/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/namesakes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INCARNATION_BYTES 8

static void put_incarnation(uint8_t *bytes, uint64_t incarnation)
{
    for (int i = 0; i < INCARNATION_BYTES; i++)
        bytes[i] = (uint8_t)(incarnation >> 8 * i);
}

static uint64_t get_incarnation(const uint8_t *bytes)
{
    uint64_t incarnation = 0;
    for (int i = INCARNATION_BYTES - 1; i >= 0; i--)
        incarnation = incarnation << 8 | bytes[i];
    return incarnation;
}

bool namesake_pack(const struct namesake *namesake, struct arena *arena, struct extension *extension)
{
    const size_t name = strlen(namesake->name) + 1, why = strlen(namesake->why) + 1;
    uint8_t *bytes = arena_alloc(arena, INCARNATION_BYTES + name + why);
    if (!bytes)
        return false;
    put_incarnation(bytes, namesake->incarnation);
    memcpy(bytes + INCARNATION_BYTES, namesake->name, name);
    memcpy(bytes + INCARNATION_BYTES + name, namesake->why, why);
    *extension = (struct extension){EXTENSION_NAMESAKE, bytes, (uint32_t)(INCARNATION_BYTES + name + why)};
    return true;
}

bool namesake_read(const struct extensions *extensions, struct namesake *namesake)
{
    const struct extension *extension = extension_find(extensions, EXTENSION_NAMESAKE);
    if (!extension || extension->length < INCARNATION_BYTES + 2 ||
        extension->value[extension->length - 1] != 0)
        return false;
    *namesake = (struct namesake){.name = (const char *)extension->value + INCARNATION_BYTES,
                                  .incarnation = get_incarnation(extension->value)};
    const size_t name = strlen(namesake->name) + 1;
    if (name == 1 || name > CAP_NAME + 1 || INCARNATION_BYTES + name >= extension->length)
        return false;
    namesake->why = namesake->name + name;
    return true;
}

/* ---- names below ---- */

bool names_add(uint8_t *bytes, uint32_t *length, const char *name, uint64_t incarnation)
{
    const uint32_t size = INCARNATION_BYTES + (uint32_t)strlen(name) + 1;
    if (*length + size > NAMES_BYTES)
        return false;
    put_incarnation(bytes + *length, incarnation);
    memcpy(bytes + *length + INCARNATION_BYTES, name, size - INCARNATION_BYTES);
    *length += size;
    return true;
}

bool names_next(const struct extension *told, uint32_t *at, const char **name, uint64_t *incarnation)
{
    if (*at > told->length || told->length - *at < INCARNATION_BYTES + 2)
        return false;
    const uint8_t *from = told->value + *at + INCARNATION_BYTES;
    const size_t room = told->length - *at - INCARNATION_BYTES, size = strnlen((const char *)from, room) + 1;
    if (size > room || size == 1 || size > CAP_NAME + 1)
        return false;
    *name = (const char *)from;
    *incarnation = get_incarnation(told->value + *at);
    *at += INCARNATION_BYTES + (uint32_t)size;
    return true;
}

/* ---- refused nodes ---- */

static struct refusal *find(const struct refusals *refusals, const char *name, uint64_t incarnation)
{
    for (uint32_t i = 0; i < refusals->n; i++)
        if (refusals->items[i].incarnation == incarnation && strcmp(refusals->items[i].name, name) == 0)
            return &refusals->items[i];
    return NULL;
}

static struct refusal *ends_first(const struct refusals *refusals)
{
    struct refusal *first = refusals->items;
    for (uint32_t i = 1; i < refusals->n; i++)
        if (refusals->items[i].until_ns < first->until_ns)
            first = &refusals->items[i];
    return first;
}

static struct refusal *add(struct refusals *refusals, const struct namesake *namesake)
{
    if (!refusals->items && !(refusals->items = calloc(REFUSALS_MOST, sizeof *refusals->items)))
        return NULL;
    struct refusal *refusal =
        refusals->n < REFUSALS_MOST ? &refusals->items[refusals->n++] : ends_first(refusals);
    *refusal = (struct refusal){.incarnation = namesake->incarnation};
    snprintf(refusal->name, sizeof refusal->name, "%s", namesake->name);
    return refusal;
}

void refusals_note(struct refusals *refusals, const struct namesake *namesake, int64_t now_ns,
                   int64_t pause_ns, int64_t most_ns)
{
    struct refusal *refusal = find(refusals, namesake->name, namesake->incarnation);
    if (!refusal && !(refusal = add(refusals, namesake)))
        return;
    refusal->pause_ns = refusal->pause_ns > 0 ? 2 * refusal->pause_ns : pause_ns;
    if (refusal->pause_ns > most_ns)
        refusal->pause_ns = most_ns;
    refusal->until_ns = now_ns + refusal->pause_ns;
    snprintf(refusal->why, sizeof refusal->why, "%s", namesake->why);
}

const char *refusals_find(const struct refusals *refusals, const char *name, uint64_t incarnation,
                          int64_t now_ns)
{
    const struct refusal *refusal = find(refusals, name, incarnation);
    return refusal && now_ns < refusal->until_ns ? refusal->why : NULL;
}

bool refusals_know(const struct refusals *refusals, const char *name, uint64_t incarnation)
{
    return find(refusals, name, incarnation) != NULL;
}

void refusals_release(struct refusals *refusals)
{
    free(refusals->items);
    *refusals = (struct refusals){0};
}
