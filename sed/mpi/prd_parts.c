/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/mpi/prd.h"

#include <string.h>

static void place(const struct ring_part *from, const struct rank_grid *grid, struct rank_part *part)
{
    const struct block_cyclic_matrix *layout = &from->layout;
    /* A vector along the rows has one column of ranks: the same elements on each of the grid's. */
    part->row = layout->rows.ranks > 1 ? grid->row : 0;
    part->col = layout->cols.ranks > 1 ? grid->col : 0;
    int64_t rows = block_cyclic_count(&layout->rows, part->row);
    part->leading = rows > 0 ? rows : 1;
    int descriptor[9] = {1,
                         grid->context,
                         (int)layout->rows.n,
                         (int)layout->cols.n,
                         (int)layout->rows.block,
                         (int)layout->cols.block,
                         0,
                         0,
                         (int)part->leading};
    for (int i = 0; i < 9; i++)
        part->descriptor[i] = descriptor[i];
}

/* Of the part. ScaLAPACK's vectors have room for one more block. */
static uint64_t part_bytes(const struct ring_part *from, const struct rank_part *part)
{
    const struct block_cyclic_matrix *layout = &from->layout;
    int64_t cols = block_cyclic_count(&layout->cols, part->col), more = 0;
    if (from->vector)
        more = layout->rows.n > 1 ? layout->rows.block : layout->cols.block;
    return (uint64_t)(part->leading * (cols > 0 ? cols : 1) + more) * from->element_bytes;
}

/* Tiny calls would spend their time on mapping memory: small parts lie here, between fences. */
#define SMALL_BYTES (64 << 10)
#define SMALL_PART  4096
#define FENCE       64

static _Alignas(FENCE) unsigned char small[SMALL_BYTES];
static uint64_t small_used;

static uint64_t rest_behind(uint64_t bytes)
{
    return FENCE + (FENCE - bytes % FENCE);
}

static bool is_small(const char *data)
{
    return (const unsigned char *)data >= small && (const unsigned char *)data < small + SMALL_BYTES;
}

static char *small_memory(uint64_t bytes)
{
    if (bytes > SMALL_PART || small_used + FENCE + bytes + rest_behind(bytes) > SMALL_BYTES)
        return NULL;
    unsigned char *data = small + small_used + FENCE;
    ring_fence_write(data - FENCE, FENCE);
    memset(data, 0, bytes);
    ring_fence_write(data + bytes, rest_behind(bytes));
    small_used += FENCE + bytes + rest_behind(bytes);
    return (char *)data;
}

static bool is_damaged(const char *data, uint64_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    return data && is_small(data) &&
           (ring_fence_damage(at - FENCE, FENCE) >= 0 ||
            ring_fence_damage(at + bytes, rest_behind(bytes)) >= 0);
}

int64_t parts_find_damage(const struct ring_job *job, const struct rank_part *parts)
{
    for (uint32_t i = 0; i < job->n_parts; i++)
        if (is_damaged(parts[i].data, parts[i].bytes) || is_damaged(parts[i].into, parts[i].bytes))
            return job->parts[i].argument;
    return -1;
}

static enum esp_status give_memory(const struct ring_part *from, uint64_t bytes, struct areas *areas,
                                   char **data, struct esp_error *error)
{
    *data = small_memory(bytes);
    if (*data)
        return ESP_OK;
    enum esp_status status = areas_add(areas, from->argument, bytes, error);
    if (status == ESP_OK)
        *data = areas->items[areas->n - 1].data;
    return status;
}

enum esp_status parts_begin(const struct ring_job *job, const struct rank_grid *grid, struct areas *areas,
                            char *(*whole)(void *arg, const struct ring_operand *operand), void *arg,
                            struct rank_part *parts, struct esp_error *error)
{
    small_used = 0;
    for (uint32_t i = 0; i < job->n_parts; i++) {
        const struct ring_part *from = &job->parts[i];
        parts[i] = (struct rank_part){0};
        place(from, grid, &parts[i]);
        uint64_t bytes = parts[i].bytes = part_bytes(from, &parts[i]);
        enum esp_status status = give_memory(from, bytes, areas, &parts[i].data, error);
        if (status == ESP_OK && from->into)
            status = give_memory(from, bytes, areas, &parts[i].into, error);
        if (status != ESP_OK)
            return status;
        if (from->goes_in)
            block_cyclic_gather(&from->layout, parts[i].row, parts[i].col, whole(arg, &from->whole),
                                parts[i].data, parts[i].leading, from->element_bytes);
    }
    return ESP_OK;
}

/* Of equal copies of a vector the first one is taken. */
static bool is_mine_to_write(const struct ring_part *part, const struct rank_grid *grid)
{
    return part->comes_back && (part->layout.rows.ranks > 1 || grid->rows == 1 || grid->row == 0) &&
           (part->layout.cols.ranks > 1 || grid->cols == 1 || grid->col == 0);
}

void parts_end(const struct ring_job *job, const struct rank_grid *grid,
               char *(*whole)(void *arg, const struct ring_operand *operand), void *arg,
               const struct rank_part *parts)
{
    for (uint32_t i = 0; i < job->n_parts; i++) {
        const struct ring_part *to = &job->parts[i];
        if (is_mine_to_write(to, grid))
            block_cyclic_scatter(&to->layout, parts[i].row, parts[i].col,
                                 parts[i].into ? parts[i].into : parts[i].data, parts[i].leading,
                                 whole(arg, &to->whole), to->element_bytes);
    }
}
