/* SPDX-License-Identifier: Apache-2.0
 *
 * On which grids the ranks of a server compute, as one value of an extension: little-endian, a version in
 * front; then of each problem its digest, whether no worker computes it, how many points there are, and the
 * grid of each.
 */
#include "core/forecast/cost_model.h"

#include <endian.h>
#include <string.h>

#define VERSION    1
#define HEAD_BYTES 10 /* digest, only, n */
#define GRID_BYTES 8  /* rows, cols, block */

static void put_grid(const struct process_grid *grid, uint8_t *to)
{
    const uint16_t rows = htole16((uint16_t)grid->rows), cols = htole16((uint16_t)grid->cols);
    const uint32_t block = htole32(grid->block);
    memcpy(to, &rows, sizeof rows);
    memcpy(to + 2, &cols, sizeof cols);
    memcpy(to + 4, &block, sizeof block);
}

static struct process_grid get_grid(const uint8_t *from)
{
    uint16_t rows, cols;
    uint32_t block;
    memcpy(&rows, from, sizeof rows);
    memcpy(&cols, from + 2, sizeof cols);
    memcpy(&block, from + 4, sizeof block);
    const struct process_grid grid = {le16toh(rows), le16toh(cols), le32toh(block)};
    return grid.rows > 0 && grid.cols > 0 && grid.block > 0 ? grid : (struct process_grid){0};
}

static size_t put_ranks(const struct cost_ranks *ranks, uint8_t *to)
{
    const uint64_t digest = htole64(ranks->digest);
    memcpy(to, &digest, sizeof digest);
    to[8] = ranks->only;
    to[9] = (uint8_t)ranks->n;
    for (uint32_t i = 0; i < ranks->n; i++)
        put_grid(&ranks->grids[i], to + HEAD_BYTES + i * GRID_BYTES);
    return HEAD_BYTES + ranks->n * GRID_BYTES;
}

uint8_t *cost_grids_encode(const struct cost_set *set, struct arena *arena, uint32_t *length)
{
    size_t bytes = 1;
    *length = 0;
    for (uint32_t i = 0; i < set->n_ranks; i++)
        bytes += HEAD_BYTES + set->ranks[i].n * GRID_BYTES;
    if (set->n_ranks == 0 || bytes > CAP_COST_BYTES)
        return NULL;
    uint8_t *data = arena_alloc(arena, bytes), *to = data;
    if (!data)
        return NULL;
    *to++ = VERSION;
    for (uint32_t i = 0; i < set->n_ranks; i++)
        to += put_ranks(&set->ranks[i], to);
    *length = (uint32_t)bytes;
    return data;
}

void cost_grids_decode(const uint8_t *data, uint32_t length, struct cost_set *set)
{
    const uint8_t *at = data + 1, *end = data + length;
    if (length == 0 || data[0] != VERSION)
        return;
    while (end - at >= HEAD_BYTES && end - at >= HEAD_BYTES + at[9] * GRID_BYTES) {
        uint64_t digest;
        memcpy(&digest, at, sizeof digest);
        struct cost_ranks *ranks = cost_ranks_find(set, le64toh(digest));
        const uint8_t *grids = at + HEAD_BYTES, n = at[9];
        if (ranks && ranks->n == n) {
            ranks->only = at[8] == 1;
            for (uint32_t i = 0; i < n; i++)
                ranks->grids[i] = get_grid(grids + i * GRID_BYTES);
        }
        at = grids + n * GRID_BYTES;
    }
}
