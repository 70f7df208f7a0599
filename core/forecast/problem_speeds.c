/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/problem_speeds.h"

#include "core/message/message.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_EACH 4
#define BYTES_EACH (WORDS_EACH * 8)

/* Returns the position of the digest, or where to insert it. */
static uint32_t place_of(const struct problem_speeds *speeds, uint64_t digest)
{
    uint32_t low = 0, high = speeds->n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (speeds->items[middle].digest < digest)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct problem_speed *problem_speed_find(const struct problem_speeds *speeds, uint64_t digest)
{
    const uint32_t at = speeds ? place_of(speeds, digest) : 0;
    const bool known =
        speeds && at < speeds->n && speeds->items[at].digest == digest && speeds->items[at].flops > 0;
    return known ? &speeds->items[at] : NULL;
}

bool problem_speeds_set(struct problem_speeds *speeds, const struct problem_speed *item)
{
    const uint32_t at = place_of(speeds, item->digest);
    if (at == speeds->n || speeds->items[at].digest != item->digest) {
        struct problem_speed *items =
            speeds->n < CAP_PROBLEM_SPEEDS ? realloc(speeds->items, (speeds->n + 1) * sizeof *items) : NULL;
        if (!items)
            return false;
        memmove(items + at + 1, items + at, (speeds->n++ - at) * sizeof *items);
        speeds->items = items;
    }
    speeds->items[at] = *item;
    return true;
}

double problem_speed_s(const struct problem_speed *speed, double work_flop)
{
    return speed->base_s + (work_flop > 0 ? work_flop / speed->flops : 0);
}

double problem_slowdown(double waits, double available)
{
    return available > 0 && available < 1 ? waits + (1 - waits) / available : 1;
}

double problem_speed_waits(const struct problem_speeds *speeds)
{
    double most = 0;
    for (uint32_t i = 0; speeds && i < speeds->n; i++)
        most = fmax(most, speeds->items[i].waits);
    return most;
}

double problem_speed_most(const struct problem_speeds *speeds, double otherwise)
{
    for (uint32_t i = 0; speeds && i < speeds->n; i++)
        otherwise = fmax(otherwise, speeds->items[i].flops);
    return otherwise;
}

bool problem_speeds_add(struct extensions *extensions, const struct problem_speeds *speeds,
                        struct arena *arena)
{
    if (speeds->n == 0)
        return true;
    uint64_t *words = arena_alloc(arena, (size_t)speeds->n * BYTES_EACH);
    if (!words)
        return false;
    for (uint32_t i = 0; i < speeds->n; i++) {
        const struct problem_speed *item = &speeds->items[i];
        uint64_t *each = words + (size_t)WORDS_EACH * i;
        memcpy(&each[1], &item->flops, sizeof each[1]);
        memcpy(&each[2], &item->base_s, sizeof each[2]);
        memcpy(&each[3], &item->waits, sizeof each[3]);
        each[0] = htole64(item->digest);
        each[1] = htole64(each[1]);
        each[2] = htole64(each[2]);
        each[3] = htole64(each[3]);
    }
    return extension_add(extensions, EXTENSION_PROBLEM_SPEEDS, words, speeds->n * BYTES_EACH, arena);
}

static int by_digest(const void *a, const void *b)
{
    const struct problem_speed *x = a, *y = b;
    return (x->digest > y->digest) - (x->digest < y->digest);
}

bool problem_speeds_read(const struct extension *extension, struct problem_speeds *speeds)
{
    uint32_t n = extension->length / BYTES_EACH;
    *speeds = (struct problem_speeds){0};
    n = n < CAP_PROBLEM_SPEEDS ? n : CAP_PROBLEM_SPEEDS;
    if (n == 0)
        return true;
    if (!(speeds->items = malloc(n * sizeof *speeds->items)))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct problem_speed *item = &speeds->items[speeds->n];
        uint64_t words[WORDS_EACH];
        memcpy(words, extension->value + (size_t)i * BYTES_EACH, sizeof words);
        for (int k = 0; k < WORDS_EACH; k++)
            words[k] = le64toh(words[k]);
        item->digest = words[0];
        memcpy(&item->flops, &words[1], sizeof item->flops);
        memcpy(&item->base_s, &words[2], sizeof item->base_s);
        memcpy(&item->waits, &words[3], sizeof item->waits);
        speeds->n += item->flops > 0 && isfinite(item->flops) && item->base_s >= 0 &&
                     isfinite(item->base_s) && item->waits >= 0 && item->waits <= 1;
    }
    qsort(speeds->items, speeds->n, sizeof *speeds->items, by_digest);
    return true;
}
