/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/mpi/prd.h"

#include "core/redistribution/pieces.h"
#include "sed/ranks/gang.h"

#include <string.h>

/* From this number of rows on, columns start at cache lines, spread over the sets of the cache, so that
 * the time of routines does not depend on the size of a matrix by chance. */
#define ROWS_LINED 128
#define LINE_BYTES 64
#define SET_BYTES  2048

/* Pieces of data have no gaps, and for few rows or a vector gaps would cost more than they gain. */
static int64_t leading_of(const struct ring_part *from, int64_t rows)
{
    const int64_t line = LINE_BYTES / from->element_bytes;
    if (rows < ROWS_LINED || from->vector || line == 0 || from->from.there || from->to.there)
        return rows > 0 ? rows : 1;
    rows = (rows + line - 1) / line * line;
    return rows * from->element_bytes % SET_BYTES == 0 ? rows + line : rows;
}

/* `lined`: its columns may have gaps between them. */
static void place(const struct ring_part *from, const struct rank_grid *grid, bool lined,
                  struct rank_part *part)
{
    const struct block_cyclic_matrix *layout = &from->layout;
    /* A vector along the rows has one column of ranks: the same elements on each of the grid's columns. */
    part->row = layout->rows.ranks > 1 ? grid->row : 0;
    part->col = layout->cols.ranks > 1 ? grid->col : 0;
    int64_t rows = block_cyclic_count(&layout->rows, part->row);
    part->leading = lined ? leading_of(from, rows) : rows > 0 ? rows : 1;
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

/* Returns the bytes of the part. ScaLAPACK's vectors have room for one more block. */
static uint64_t part_bytes(const struct ring_part *from, const struct rank_part *part)
{
    const struct block_cyclic_matrix *layout = &from->layout;
    int64_t cols = block_cyclic_count(&layout->cols, part->col), more = 0;
    if (from->vector)
        more = layout->rows.n > 1 ? layout->rows.block : layout->cols.block;
    return (uint64_t)(part->leading * (cols > 0 ? cols : 1) + more) * from->element_bytes;
}

/* Small parts lie here, between fences, because mapping memory would take most of a tiny call's time. */
static _Alignas(RANK_SMALL_FENCE) unsigned char small[RANK_SMALL_BYTES];
static uint64_t small_used;

static uint64_t rest_behind(uint64_t bytes)
{
    return RANK_SMALL_FENCE + (RANK_SMALL_FENCE - bytes % RANK_SMALL_FENCE);
}

static bool is_small(const char *data)
{
    return (const unsigned char *)data >= small && (const unsigned char *)data < small + RANK_SMALL_BYTES;
}

static char *small_memory(uint64_t bytes)
{
    if (bytes > RANK_SMALL_PART ||
        small_used + RANK_SMALL_FENCE + bytes + rest_behind(bytes) > RANK_SMALL_BYTES)
        return NULL;
    unsigned char *data = small + small_used + RANK_SMALL_FENCE;
    ring_fence_write(data - RANK_SMALL_FENCE, RANK_SMALL_FENCE);
    memset(data, 0, bytes);
    ring_fence_write(data + bytes, rest_behind(bytes));
    small_used += RANK_SMALL_FENCE + bytes + rest_behind(bytes);
    return (char *)data;
}

static bool is_damaged(const char *data, uint64_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    return data && is_small(data) &&
           (ring_fence_damage(at - RANK_SMALL_FENCE, RANK_SMALL_FENCE) >= 0 ||
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

/* ---- data in pieces ---- */

/* Maps this rank's part of it: `pieces` has the layout of the part. */
static enum esp_status map_piece(const struct ring_part *of, const struct ring_pieces *pieces,
                                 const int *files, bool writable, const struct rank_part *part,
                                 struct areas *areas, char **data, struct esp_error *error)
{
    const struct block_cyclic_matrix *layout = &of->layout;
    int64_t rank = block_cyclic_matrix_rank(layout, part->row, part->col);
    uint64_t bytes = pieces_count(layout, rank) * of->element_bytes;
    if (bytes == 0)
        return give_memory(of, part->bytes, areas, data, error);
    enum esp_status status =
        areas_share(areas, of->argument, files[pieces->file],
                    pieces->offset + pieces_before(layout, rank) * of->element_bytes, bytes, writable, error);
    if (status == ESP_OK)
        *data = areas->items[areas->n - 1].data;
    return status;
}

/* Whether it is read in place: only if it is not written. */
static bool is_read_in_place(const struct ring_part *part)
{
    return part->from.there && !part->vector && (part->into || !part->comes_back) &&
           pieces_are_alike(&part->from.layout, &part->layout);
}

static enum esp_status place_input(const struct ring_part *from, const int *files, struct areas *areas,
                                   struct rank_part *part, struct esp_error *error)
{
    if (is_read_in_place(from))
        return map_piece(from, &from->from, files, false, part, areas, &part->data, error);
    if (from->to.there && !from->into)
        return map_piece(from, &from->to, files, true, part, areas, &part->data, error);
    return give_memory(from, part->bytes, areas, &part->data, error);
}

static enum esp_status place_result(const struct ring_part *from, const int *files, struct areas *areas,
                                    struct rank_part *part, struct esp_error *error)
{
    if (!from->into)
        return ESP_OK;
    return from->to.there ? map_piece(from, &from->to, files, true, part, areas, &part->into, error)
                          : give_memory(from, part->bytes, areas, &part->into, error);
}

static bool files_came(const struct ring_part *part, uint32_t n_files)
{
    return (!part->from.there || part->from.file < n_files) && (!part->to.there || part->to.file < n_files);
}

static enum esp_status take_part(const struct ring_part *from, const int *files, const struct rank_part *part,
                                 struct esp_error *error)
{
    return areas_take(files[from->from.file], &from->from, &from->layout, part->row, part->col, part->data,
                      part->leading, from->element_bytes, error);
}

static enum esp_status begin(const struct ring_part *from, const int *files, bool later, struct areas *areas,
                             const char *whole, struct rank_part *part, struct esp_error *error)
{
    enum esp_status status = place_input(from, files, areas, part, error);
    if (status == ESP_OK)
        status = place_result(from, files, areas, part, error);
    if (status == ESP_OK && from->blank && from->to.there) /* other memory is fresh */
        memset(part->data, 0, part->bytes);
    if (status != ESP_OK || !from->goes_in || is_read_in_place(from) || later)
        return status;
    if (from->from.there)
        return take_part(from, files, part, error);
    block_cyclic_gather(&from->layout, part->row, part->col, whole, part->data, part->leading,
                        from->element_bytes);
    return ESP_OK;
}

enum esp_status parts_begin(const struct ring_job *job, const struct rank_grid *grid, const int *files,
                            uint32_t n_files, uint64_t later, struct areas *areas,
                            char *(*whole)(void *arg, const struct ring_operand *operand), void *arg,
                            struct rank_part *parts, struct esp_error *error)
{
    small_used = 0;
    for (uint32_t i = 0; i < job->n_parts; i++) {
        const struct ring_part *from = &job->parts[i];
        parts[i] = (struct rank_part){0};
        if (!files_came(from, n_files))
            return error_set(error, ESP_INTERNAL, "a datum's memory did not come with the call");
        place(from, grid, true, &parts[i]);
        parts[i].bytes = part_bytes(from, &parts[i]);
        bool gathers = from->goes_in && !from->from.there;
        enum esp_status status = begin(from, files, later >> i & 1, areas,
                                       gathers ? whole(arg, &from->whole) : NULL, &parts[i], error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

enum esp_status parts_fill(const struct ring_job *job, const int *files, uint64_t which,
                           const struct rank_part *parts, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; i < job->n_parts && status == ESP_OK; i++)
        if ((which >> i & 1) && !is_read_in_place(&job->parts[i]))
            status = take_part(&job->parts[i], files, &parts[i], error);
    return status;
}

/* ---- on a rank on another host ---- */

uint64_t part_element_bytes(const struct ring_part *of, const struct rank_part *part)
{
    return (uint64_t)(block_cyclic_count(&of->layout.rows, part->row) *
                      block_cyclic_count(&of->layout.cols, part->col)) *
           of->element_bytes;
}

/* Finds the cached input, or where to cache it, and where to cache the result. */
static void find_kept(const struct ring_part *of, struct rank_part *part)
{
    const uint64_t bytes = part_element_bytes(of, part);
    struct kept_part which = {.name = of->from.name,
                              .layout = &of->layout,
                              .row = part->row,
                              .col = part->col,
                              .element_bytes = of->element_bytes};
    if (of->goes_in && of->from.there) {
        part->input = kept_find(&which);
        if (!part->input)
            part->input = kept_make(&which, bytes);
    }
    which.name = of->to.name;
    if (of->comes_back && of->to.there && !of->vector)
        part->result = kept_make(&which, bytes);
}

/* Maps a cached part, which has no room after its elements. */
static enum esp_status show(const struct ring_part *of, const struct kept *kept, bool writable,
                            struct areas *areas, char **data, struct esp_error *error)
{
    const enum esp_status status =
        areas_share(areas, of->argument, kept->file, 0, kept->bytes, writable, error);
    if (status == ESP_OK)
        *data = areas->items[areas->n - 1].data;
    return status;
}

static enum esp_status make(const struct ring_part *of, struct areas *areas, struct rank_part *part,
                            struct esp_error *error)
{
    enum esp_status status;
    find_kept(of, part);
    part->in_place = part->input && !of->vector && (of->into || !of->comes_back);
    if (part->in_place)
        status = show(of, part->input, false, areas, &part->data, error);
    else if (part->result && !of->into)
        status = show(of, part->result, true, areas, &part->data, error);
    else
        status = give_memory(of, part->bytes, areas, &part->data, error);
    if (status != ESP_OK || !of->into)
        return status;
    return part->result ? show(of, part->result, true, areas, &part->into, error)
                        : give_memory(of, part->bytes, areas, &part->into, error);
}

enum esp_status parts_make(const struct ring_job *job, const struct rank_grid *grid, struct areas *areas,
                           struct rank_part *parts, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    small_used = 0;
    memset(parts, 0, job->n_parts * sizeof *parts);
    for (uint32_t i = 0; i < job->n_parts && status == ESP_OK; i++) {
        place(&job->parts[i], grid, false, &parts[i]);
        parts[i].bytes = part_bytes(&job->parts[i], &parts[i]);
        status = make(&job->parts[i], areas, &parts[i], error);
    }
    return status;
}

void parts_end(const struct ring_job *job, const struct rank_grid *grid,
               char *(*whole)(void *arg, const struct ring_operand *operand), void *arg,
               const struct rank_part *parts)
{
    for (uint32_t i = 0; i < job->n_parts; i++) {
        const struct ring_part *to = &job->parts[i];
        if (!to->to.there && gang_puts_back(to, &job->grid, grid->row, grid->col))
            block_cyclic_scatter(&to->layout, parts[i].row, parts[i].col,
                                 parts[i].into ? parts[i].into : parts[i].data, parts[i].leading,
                                 whole(arg, &to->whole), to->element_bytes);
    }
}
