/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/problem_speeds.h"

#include "core/message/message.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_EACH 16

double problem_speed(const struct problem_speeds *speeds, uint64_t digest, double otherwise)
{
    uint32_t low = 0, high = speeds ? speeds->n : 0;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (speeds->items[middle].digest == digest)
            return speeds->items[middle].flops;
        if (speeds->items[middle].digest < digest)
            low = middle + 1;
        else
            high = middle;
    }
    return otherwise;
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
        uint64_t bits;
        memcpy(&bits, &speeds->items[i].flops, sizeof bits);
        words[2 * i] = htole64(speeds->items[i].digest);
        words[2 * i + 1] = htole64(bits);
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
        uint64_t words[2];
        memcpy(words, extension->value + (size_t)i * BYTES_EACH, sizeof words);
        words[1] = le64toh(words[1]);
        item->digest = le64toh(words[0]);
        memcpy(&item->flops, &words[1], sizeof item->flops);
        speeds->n += item->flops > 0 && isfinite(item->flops);
    }
    qsort(speeds->items, speeds->n, sizeof *speeds->items, by_digest);
    return true;
}
