/* SPDX-License-Identifier: Apache-2.0 */
#include "util/ranges.h"

#include <stdlib.h>
#include <string.h>

static enum esp_status make_room(struct ranges *ranges, struct esp_error *error)
{
    if (ranges->n < ranges->capacity)
        return ESP_OK;
    if (ranges->n >= RANGES_MOST)
        return error_set(error, ESP_LIMIT, "expected chunks roughly in order, found %u pieces with gaps",
                         ranges->n + 1);
    uint32_t capacity = ranges->capacity ? 2 * ranges->capacity : 4;
    struct range *items = realloc(ranges->items, capacity * sizeof *items);
    if (!items)
        return error_no_memory(error, "the list of chunks");
    ranges->items = items;
    ranges->capacity = capacity;
    return ESP_OK;
}

/* Returns the first range that ends at or after `from`. */
static uint32_t find(const struct ranges *ranges, uint64_t from)
{
    uint32_t low = 0, high = ranges->n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (ranges->items[middle].to < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum esp_status ranges_add(struct ranges *ranges, uint64_t from, uint64_t to, struct esp_error *error)
{
    if (from >= to)
        return ESP_OK;
    uint32_t first = find(ranges, from), last = first;
    while (last < ranges->n && ranges->items[last].from <= to) {
        if (ranges->items[last].from < from)
            from = ranges->items[last].from;
        if (ranges->items[last].to > to)
            to = ranges->items[last].to;
        last++;
    }
    if (first == last) {
        enum esp_status status = make_room(ranges, error);
        if (status != ESP_OK)
            return status;
        memmove(ranges->items + first + 1, ranges->items + first, (ranges->n - first) * sizeof(struct range));
        ranges->n++;
    } else if (last > first + 1) { /* several ranges became one */
        memmove(ranges->items + first + 1, ranges->items + last, (ranges->n - last) * sizeof(struct range));
        ranges->n -= last - first - 1;
    }
    ranges->items[first] = (struct range){from, to};
    return ESP_OK;
}

bool ranges_cover(const struct ranges *ranges, uint64_t total, struct range *gap)
{
    if (total == 0)
        return true;
    if (ranges->n == 0) {
        *gap = (struct range){0, total};
        return false;
    }
    const struct range *first = &ranges->items[0];
    if (first->from == 0 && first->to >= total)
        return true;
    uint64_t to = ranges->n > 1 ? ranges->items[1].from : total;
    *gap = first->from > 0 ? (struct range){0, first->from} : (struct range){first->to, to};
    return false;
}

void ranges_clear(struct ranges *ranges)
{
    free(ranges->items);
    *ranges = (struct ranges){0};
}
