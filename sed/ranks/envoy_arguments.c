/* SPDX-License-Identifier: Apache-2.0
 *
 * What a rank on another host gets of a call's arguments, and where its results go.
 */
#include "sed/ranks/envoy_internal.h"
#include "sed/ranks/gang.h"

#include "core/redistribution/pieces.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- memory of the call ---- */

struct view {
    void *pages;
    size_t page_bytes;
    char *data;
};

/* So many bytes of file number `file` of the call. */
static enum esp_status view_open(const struct envoy_call *call, uint32_t file, uint64_t offset,
                                 uint64_t bytes, bool writable, struct view *view, struct esp_error *error)
{
    struct stat is;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = offset & ~(page - 1);
    if (file >= call->n_files || fstat(call->files[file], &is) != 0 || offset > (uint64_t)is.st_size ||
        bytes > (uint64_t)is.st_size - offset)
        return error_set(error, ESP_INTERNAL, "an argument's memory did not come with the call");
    view->page_bytes = offset - first + bytes;
    view->pages = mmap(NULL, view->page_bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                       call->files[file], (off_t)first);
    if (view->pages == MAP_FAILED)
        return error_errno(error, "cannot map %zu bytes of an argument", view->page_bytes);
    view->data = (char *)view->pages + (offset - first);
    return ESP_OK;
}

static void view_close(const struct view *view)
{
    if (view->page_bytes > 0)
        munmap(view->pages, view->page_bytes);
}

/* The whole array of a part. */
static enum esp_status view_whole(const struct envoy_call *call, const struct ring_part *part, bool writable,
                                  struct view *view, struct esp_error *error)
{
    uint64_t bytes = (uint64_t)(part->layout.rows.n * part->layout.cols.n) * part->element_bytes;
    *view = (struct view){0};
    if (part->whole.place == OPERAND_AREA && part->whole.value < call->job->n_areas) {
        const struct ring_area *area = &call->job->areas[part->whole.value];
        return area->bytes >= bytes ? view_open(call, area->file, area->offset, bytes, writable, view, error)
                                    : error_set(error, ESP_INTERNAL, "an array is smaller than its parts");
    }
    if (part->whole.place != OPERAND_ARENA || bytes > RING_ARENA_BYTES ||
        part->whole.value > RING_ARENA_BYTES - bytes)
        return error_set(error, ESP_INTERNAL, "an array is nowhere");
    view->data = (char *)call->ring->arena + part->whole.value;
    return ESP_OK;
}

/* ---- there ---- */

static enum esp_status say(const struct envoy_call *call, const void *data, size_t bytes,
                           struct esp_error *error)
{
    return porter_say(call->socket, data, bytes, &call->end, error);
}

static enum esp_status say_joined(const struct envoy_call *call, const struct ring_area *area,
                                  const char *pieces, struct esp_error *error)
{
    char *whole = malloc(area->bytes);
    if (!whole)
        return error_no_memory(error, "a datum in pieces");
    pieces_join(&area->source_layout, pieces, whole, area->element_bytes);
    enum esp_status status = say(call, whole, area->bytes, error);
    free(whole);
    return status;
}

static enum esp_status say_blank(const struct envoy_call *call, uint64_t bytes, struct esp_error *error)
{
    void *zeros = calloc(bytes ? bytes : 1, 1);
    if (!zeros)
        return error_no_memory(error, "an argument that does not go in");
    enum esp_status status = say(call, zeros, bytes, error);
    free(zeros);
    return status;
}

static enum esp_status say_area(const struct envoy_call *call, const struct ring_area *area,
                                struct esp_error *error)
{
    struct view view;
    bool filled = area->source != RING_NO_SOURCE;
    if (area->blank)
        return say_blank(call, area->bytes, error);
    enum esp_status status =
        filled ? view_open(call, area->source, area->source_offset, area->bytes, false, &view, error)
               : view_open(call, area->file, area->offset, area->bytes, false, &view, error);
    if (status != ESP_OK)
        return status;
    status = filled && area->source_in_pieces ? say_joined(call, area, view.data, error)
                                              : say(call, view.data, area->bytes, error);
    view_close(&view);
    return status;
}

/* Where this rank's part of the layout is, and how large it is. */
struct part_place {
    int64_t row, col, rows, cols;
    uint64_t bytes;
};

static struct part_place place_of(const struct envoy_call *call, const struct ring_part *part)
{
    const struct block_cyclic_matrix *layout = &part->layout;
    int64_t place = call->rank - call->job->first_rank, cols = call->job->grid.cols;
    struct part_place is = {.row = layout->rows.ranks > 1 ? place / cols : 0,
                            .col = layout->cols.ranks > 1 ? place % cols : 0};
    is.rows = block_cyclic_count(&layout->rows, is.row);
    is.cols = block_cyclic_count(&layout->cols, is.col);
    is.bytes = (uint64_t)(is.rows * is.cols) * part->element_bytes;
    return is;
}

static enum esp_status cut_part(const struct envoy_call *call, const struct ring_part *part,
                                const struct part_place *is, char *cut, struct esp_error *error)
{
    struct view view;
    uint64_t bytes = (uint64_t)(part->layout.rows.n * part->layout.cols.n) * part->element_bytes;
    enum esp_status status =
        part->from.there ? view_open(call, part->from.file, part->from.offset, bytes, false, &view, error)
                         : view_whole(call, part, false, &view, error);
    if (status != ESP_OK)
        return status;
    if (part->from.there)
        pieces_take(&part->from.layout, view.data, &part->layout, is->row, is->col, cut, is->rows,
                    part->element_bytes);
    else
        block_cyclic_gather(&part->layout, is->row, is->col, view.data, cut, is->rows, part->element_bytes);
    view_close(&view);
    return ESP_OK;
}

/* Whether the rank has it, as it says. */
static bool is_there(const struct envoy_call *call, const struct far_message *wants, uint32_t i,
                     uint64_t bytes)
{
    const uint64_t bit = UINT64_C(1) << i;
    const bool keyed = call->job->parts[i].from.there && !job_key_is_none(call->job->parts[i].from.name);
    const bool kept = keyed && (wants->kept & bit), moved = keyed && (wants->moved & bit);
    atomic_fetch_add(kept ? &call->envoys->kept : moved ? &call->envoys->moved : &call->envoys->sent, bytes);
    return kept || moved;
}

static enum esp_status say_part(const struct envoy_call *call, const struct far_message *wants, uint32_t i,
                                struct esp_error *error)
{
    const struct ring_part *part = &call->job->parts[i];
    const struct part_place is = place_of(call, part);
    if (!part->goes_in || is.bytes == 0 || is_there(call, wants, i, is.bytes))
        return ESP_OK;
    char *cut = malloc(is.bytes);
    if (!cut)
        return error_no_memory(error, "a rank's part of an argument");
    enum esp_status status = cut_part(call, part, &is, cut, error);
    if (status == ESP_OK)
        status = say(call, cut, is.bytes, error);
    free(cut);
    return status;
}

enum esp_status envoy_say_arguments(const struct envoy_call *call, const struct far_message *wants,
                                    struct esp_error *error)
{
    const struct ring_job *job = call->job;
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; i < job->n_areas && status == ESP_OK; i++)
        if (!gang_is_distributed(job, job->areas[i].argument))
            status = say_area(call, &job->areas[i], error);
    for (uint32_t i = 0; i < job->n_parts && status == ESP_OK; i++)
        status = say_part(call, wants, i, error);
    return status;
}

/* ---- and back ---- */

static enum esp_status hear(const struct envoy_call *call, void *data, size_t bytes, struct esp_error *error)
{
    return porter_hear(call->socket, data, bytes, &call->end, error);
}

static enum esp_status hear_area(const struct envoy_call *call, const struct ring_area *area,
                                 struct esp_error *error)
{
    struct view view;
    enum esp_status status = view_open(call, area->file, area->offset, area->bytes, true, &view, error);
    if (status != ESP_OK)
        return status;
    status = hear(call, view.data, area->bytes, error);
    view_close(&view);
    return status;
}

/* Into its piece of a datum. */
static enum esp_status hear_piece(const struct envoy_call *call, const struct ring_part *part,
                                  const struct part_place *is, struct esp_error *error)
{
    struct view view;
    int64_t rank = block_cyclic_matrix_rank(&part->layout, is->row, is->col);
    uint64_t before = pieces_before(&part->layout, rank) * part->element_bytes;
    enum esp_status status =
        view_open(call, part->to.file, part->to.offset + before, is->bytes, true, &view, error);
    if (status != ESP_OK)
        return status;
    status = hear(call, view.data, is->bytes, error);
    view_close(&view);
    return status;
}

/* Into the whole array. */
static enum esp_status hear_elements(const struct envoy_call *call, const struct ring_part *part,
                                     const struct part_place *is, struct esp_error *error)
{
    struct view view;
    char *cut = malloc(is->bytes);
    if (!cut)
        return error_no_memory(error, "a rank's part of a result");
    enum esp_status status = hear(call, cut, is->bytes, error);
    if (status == ESP_OK)
        status = view_whole(call, part, true, &view, error);
    if (status == ESP_OK) {
        block_cyclic_scatter(&part->layout, is->row, is->col, cut, is->rows, view.data, part->element_bytes);
        view_close(&view);
    }
    free(cut);
    return status;
}

static enum esp_status hear_part(const struct envoy_call *call, const struct ring_part *part,
                                 struct esp_error *error)
{
    const struct process_grid *grid = &call->job->grid;
    const int64_t place = call->rank - call->job->first_rank;
    const struct part_place is = place_of(call, part);
    if (!gang_puts_back(part, grid, place / grid->cols, place % grid->cols) || is.bytes == 0)
        return ESP_OK;
    return part->to.there ? hear_piece(call, part, &is, error) : hear_elements(call, part, &is, error);
}

/* The first rank's small values and whole arrays. */
static enum esp_status hear_values(const struct envoy_call *call, struct esp_error *error)
{
    const struct ring_job *job = call->job;
    unsigned char *arena = malloc(RING_ARENA_BYTES);
    if (!arena)
        return error_no_memory(error, "the results of a call");
    enum esp_status status = hear(call, arena + job->front, job->end - job->front, error);
    if (status == ESP_OK)
        gang_copy_values(job, call->ring->arena + job->front, arena + job->front);
    free(arena);
    for (uint32_t i = 0; i < job->n_areas && status == ESP_OK; i++)
        if (gang_takes_back(job, &job->areas[i]))
            status = hear_area(call, &job->areas[i], error);
    return status;
}

enum esp_status envoy_hear_results(const struct envoy_call *call, struct esp_error *error)
{
    const struct ring_job *job = call->job;
    enum esp_status status = call->rank == job->first_rank ? hear_values(call, error) : ESP_OK;
    for (uint32_t i = 0; i < job->n_parts && status == ESP_OK; i++)
        status = hear_part(call, &job->parts[i], error);
    return status;
}
