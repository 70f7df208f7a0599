/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/location_report.h"

#include <string.h>

static void put_number(uint8_t *bytes, uint64_t number)
{
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
}

static uint64_t get_number(const uint8_t *bytes)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < 8; i++)
        number |= (uint64_t)bytes[i] << (8 * i);
    return number;
}

static void put_change(uint8_t *bytes, const struct location_change *change)
{
    put_number(bytes, change->key.high);
    put_number(bytes + 8, change->key.low);
    put_number(bytes + 16, change->bytes);
    bytes[24] = change->here;
}

static bool add_extension(struct message *report, const uint8_t *bytes, uint32_t length)
{
    struct extensions *extensions = &report->report.extensions;
    struct extension *items = arena_alloc(&report->arena, (extensions->n + 1) * sizeof *items);
    if (!items)
        return false;
    if (extensions->n > 0)
        memcpy(items, extensions->items, extensions->n * sizeof *items);
    items[extensions->n] = (struct extension){EXTENSION_DATA, bytes, length};
    extensions->items = items;
    extensions->n++;
    return true;
}

bool location_tell(struct location *location, bool complete, struct message *report)
{
    if (complete && location_tell_all(location, NULL) != ESP_OK)
        return false;
    if (!location_has_changes(location))
        return true;
    uint32_t most = location_count(location) + 64; /* those that are gone are more than none */
    most = most < LOCATION_REPORT_MOST ? most : LOCATION_REPORT_MOST;
    struct location_change *changes = arena_alloc(&report->arena, most * sizeof *changes);
    uint8_t *bytes = arena_alloc(&report->arena, (size_t)most * LOCATION_CHANGE_BYTES);
    if (!changes || !bytes)
        return false;
    uint32_t n = location_changes(location, changes, most);
    for (uint32_t i = 0; i < n; i++)
        put_change(bytes + (size_t)i * LOCATION_CHANGE_BYTES, &changes[i]);
    return n == 0 || add_extension(report, bytes, n * LOCATION_CHANGE_BYTES);
}

uint32_t location_hear(struct location *location, uint32_t child, const struct report *report)
{
    const struct extension *told = extension_find(&report->extensions, EXTENSION_DATA);
    uint32_t n = told ? told->length / LOCATION_CHANGE_BYTES : 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *bytes = told->value + (size_t)i * LOCATION_CHANGE_BYTES;
        struct datum_key key = {get_number(bytes), get_number(bytes + 8)};
        if (bytes[24])
            location_add(location, child, key, get_number(bytes + 16), NULL);
        else
            location_remove(location, child, key);
    }
    return n;
}
