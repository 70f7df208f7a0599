/* SPDX-License-Identifier: Apache-2.0
 *
 * Packs and unpacks the values of extensions. */
#include "core/message/message.h"

#include <endian.h>
#include <string.h>

const struct extension *extension_find(const struct extensions *extensions, uint32_t tag)
{
    for (uint32_t i = 0; i < extensions->n; i++)
        if (extensions->items[i].tag == tag)
            return &extensions->items[i];
    return NULL;
}

bool extension_add(struct extensions *extensions, uint32_t tag, const void *value, uint32_t length,
                   struct arena *arena)
{
    struct extension *items = arena_alloc(arena, (extensions->n + 1) * sizeof *items);
    const uint8_t *copy = items ? arena_memdup(arena, value, length) : NULL;
    if (!copy)
        return false;
    if (extensions->n)
        memcpy(items, extensions->items, extensions->n * sizeof *items);
    items[extensions->n] = (struct extension){tag, copy, length};
    *extensions = (struct extensions){items, extensions->n + 1};
    return true;
}

void asker_put(const struct session_id *first, uint8_t bytes[ASKER_BYTES])
{
    const uint64_t numbers[] = {htole64(first->client_high), htole64(first->client_low),
                                htole64(first->sequence)};
    memcpy(bytes, numbers, sizeof numbers);
}

bool asker_get(const struct extensions *extensions, struct session_id *first)
{
    const struct extension *extension = extension_find(extensions, EXTENSION_ASKER);
    uint64_t numbers[3];
    if (!extension || extension->length != sizeof numbers)
        return false;
    memcpy(numbers, extension->value, sizeof numbers);
    *first = (struct session_id){.client_high = le64toh(numbers[0]),
                                 .client_low = le64toh(numbers[1]),
                                 .sequence = le64toh(numbers[2])};
    return true;
}

void origin_put(const struct session_id *origin, uint8_t bytes[ORIGIN_BYTES])
{
    const uint64_t numbers[] = {htole64(origin->client_high), htole64(origin->client_low),
                                htole64(origin->sequence), htole64(origin->secret)};
    memcpy(bytes, numbers, sizeof numbers);
}

bool origin_get(const struct extensions *extensions, struct session_id *origin)
{
    const struct extension *extension = extension_find(extensions, EXTENSION_ORIGIN);
    uint64_t numbers[4];
    if (!extension || extension->length != sizeof numbers)
        return false;
    memcpy(numbers, extension->value, sizeof numbers);
    *origin = (struct session_id){le64toh(numbers[0]), le64toh(numbers[1]), le64toh(numbers[2]),
                                  le64toh(numbers[3])};
    return true;
}

uint32_t again_put(const struct session_id *first, int64_t age_ns, const char *why,
                   uint8_t bytes[AGAIN_BYTES])
{
    const uint64_t numbers[] = {htole64(first->client_high), htole64(first->sequence),
                                htole64((uint64_t)(age_ns > 0 ? age_ns : 0))};
    const size_t length = strnlen(why, AGAIN_WHY);
    memcpy(bytes, numbers, sizeof numbers);
    memcpy(bytes + sizeof numbers, why, length);
    return (uint32_t)(sizeof numbers + length);
}

/* Longest plausible age: larger values are taken as a day. */
#define AGAIN_MOST_NS (INT64_C(86400) * 1000000000)

bool again_get(const struct extensions *extensions, struct told_again *told)
{
    const struct extension *extension = extension_find(extensions, EXTENSION_AGAIN);
    uint64_t numbers[3];
    if (!extension || extension->length < sizeof numbers || extension->length > AGAIN_BYTES)
        return false;
    memcpy(numbers, extension->value, sizeof numbers);
    const uint64_t age_ns = le64toh(numbers[2]);
    *told =
        (struct told_again){.first = {.client_high = le64toh(numbers[0]), .sequence = le64toh(numbers[1])},
                            .age_ns = age_ns < (uint64_t)AGAIN_MOST_NS ? (int64_t)age_ns : AGAIN_MOST_NS};
    const uint32_t length = extension->length - (uint32_t)sizeof numbers;
    for (uint32_t i = 0; i < length; i++) {
        const uint8_t c = extension->value[sizeof numbers + i];
        told->why[i] = c < ' ' || c == 0x7f ? '?' : (char)c;
    }
    return true;
}

void lease_put(uint64_t left_ms, uint8_t bytes[LEASE_BYTES])
{
    left_ms = htole64(left_ms);
    memcpy(bytes, &left_ms, LEASE_BYTES);
}

bool lease_get(const struct extensions *extensions, uint64_t *left_ms)
{
    const struct extension *extension = extension_find(extensions, EXTENSION_JOB_LEASE);
    if (!extension || extension->length != LEASE_BYTES)
        return false;
    memcpy(left_ms, extension->value, LEASE_BYTES);
    *left_ms = le64toh(*left_ms);
    return true;
}
