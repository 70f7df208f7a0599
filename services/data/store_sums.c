/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data/store_sums.h"
#include "core/message/chunk.h"

#include <stdlib.h>
#include <string.h>

struct store_sum {
    uint64_t from, to;
    uint32_t crc32c;
};

/* Returns the first piece that ends after `offset`, or n. */
static uint32_t first_behind(const struct store_sums *sums, uint64_t offset)
{
    uint32_t low = 0, high = sums->n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (sums->items[middle].to > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void store_sums_forget(struct store_sums *sums, uint64_t offset, uint64_t bytes)
{
    const uint32_t first = first_behind(sums, offset);
    uint32_t end = first;
    while (bytes > 0 && end < sums->n && sums->items[end].from < offset + bytes)
        end++;
    if (end == first)
        return;
    memmove(sums->items + first, sums->items + end, (sums->n - end) * sizeof *sums->items);
    sums->n -= end - first;
}

bool store_sums_find(const struct store_sums *sums, uint64_t offset, uint64_t bytes, uint32_t *crc32c)
{
    const uint32_t at = first_behind(sums, offset);
    if (at == sums->n || sums->items[at].from != offset || sums->items[at].to != offset + bytes)
        return false;
    *crc32c = sums->items[at].crc32c;
    return true;
}

static bool has_room(struct store_sums *sums)
{
    if (sums->n < sums->room)
        return true;
    const uint32_t room = sums->room > 0 ? 2 * sums->room : 4;
    struct store_sum *items = realloc(sums->items, room * sizeof *items);
    if (!items)
        return false;
    sums->items = items;
    sums->room = room;
    return true;
}

void store_sums_note(struct store_sums *sums, uint64_t offset, uint64_t bytes, uint32_t crc32c)
{
    uint32_t known;
    if (bytes < CHUNK_LEAST || (store_sums_find(sums, offset, bytes, &known) && known == crc32c))
        return;
    store_sums_forget(sums, offset, bytes);
    if (!has_room(sums))
        return;
    const uint32_t at = first_behind(sums, offset);
    memmove(sums->items + at + 1, sums->items + at, (sums->n - at) * sizeof *sums->items);
    sums->items[at] = (struct store_sum){offset, offset + bytes, crc32c};
    sums->n++;
}

void store_sums_clear(struct store_sums *sums)
{
    free(sums->items);
    *sums = (struct store_sums){0};
}
