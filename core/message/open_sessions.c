/* SPDX-License-Identifier: Apache-2.0 */
#include "core/message/open_sessions.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a number in groups of 7 bits. */
#define MOST_BYTES 10
#define HEAD_BYTES 16

static bool grow(struct open_sessions *open)
{
    if (open->n < open->capacity)
        return true;
    uint32_t capacity = open->capacity ? 2 * open->capacity : 8;
    if (open->n >= CAP_OPEN)
        return false;
    struct open_range *ranges = realloc(open->ranges, capacity * sizeof *ranges);
    if (!ranges)
        return false;
    open->ranges = ranges;
    open->capacity = capacity;
    return true;
}

bool open_add(struct open_sessions *open, uint64_t sequence)
{
    struct open_range *last = open->n > 0 ? &open->ranges[open->n - 1] : NULL;
    if (last && sequence == last->below) {
        last->below++;
        return true;
    }
    if (!grow(open))
        return false;
    open->ranges[open->n++] = (struct open_range){sequence, sequence + 1};
    return true;
}

void open_clear(struct open_sessions *open)
{
    free(open->ranges);
    *open = (struct open_sessions){0};
}

static uint8_t *put(uint8_t *to, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        *to++ = (uint8_t)(number | 0x80);
    *to++ = (uint8_t)number;
    return to;
}

static bool get(const uint8_t **at, const uint8_t *end, uint64_t *number)
{
    *number = 0;
    for (unsigned i = 0; i < MOST_BYTES && *at < end; i++) {
        const uint8_t byte = *(*at)++;
        if (i == MOST_BYTES - 1 && byte > 1)
            return false;
        *number |= (uint64_t)(byte & 0x7f) << 7 * i;
        if (byte < 0x80)
            return true;
    }
    return false;
}

bool open_put(const struct open_sessions *open, struct arena *arena, struct extension *extension)
{
    const uint64_t head[] = {htole64(open->version), htole64(open->ceiling)};
    uint8_t *value = arena_alloc(arena, HEAD_BYTES + 2 * MOST_BYTES * (size_t)open->n), *to = value;
    if (!value)
        return false;
    memcpy(to, head, HEAD_BYTES);
    to += HEAD_BYTES;
    uint64_t before = 0;
    for (uint32_t i = 0; i < open->n; i++) {
        to = put(to, open->ranges[i].from - before);
        to = put(to, open->ranges[i].below - open->ranges[i].from);
        before = open->ranges[i].below;
    }
    *extension = (struct extension){EXTENSION_OPEN, value, (uint32_t)(to - value)};
    return true;
}

/* Reads one more range; false when it is malformed. */
static bool get_range(struct open_sessions *open, const uint8_t **at, const uint8_t *end)
{
    uint64_t gap, length;
    const uint64_t before = open->n > 0 ? open->ranges[open->n - 1].below : 0;
    if (!get(at, end, &gap) || !get(at, end, &length) || length == 0 || gap > UINT64_MAX - before ||
        length > UINT64_MAX - before - gap || !grow(open))
        return false;
    open->ranges[open->n++] = (struct open_range){before + gap, before + gap + length};
    return true;
}

bool open_get(const struct extensions *extensions, struct open_sessions *open)
{
    const struct extension *extension = extension_find(extensions, EXTENSION_OPEN);
    uint64_t head[2];
    *open = (struct open_sessions){0};
    if (!extension || extension->length < HEAD_BYTES)
        return false;
    memcpy(head, extension->value, HEAD_BYTES);
    open->version = le64toh(head[0]);
    open->ceiling = le64toh(head[1]);
    const uint8_t *at = extension->value + HEAD_BYTES, *end = extension->value + extension->length;
    while (at < end) {
        if (!get_range(open, &at, end)) {
            open_clear(open);
            return false;
        }
    }
    return true;
}

bool open_excludes(const struct open_sessions *open, uint64_t sequence)
{
    if (sequence >= open->ceiling)
        return false;
    uint32_t low = 0, high = open->n; /* binary search: the first range that ends after the number */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (open->ranges[middle].below <= sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low == open->n || sequence < open->ranges[low].from;
}
