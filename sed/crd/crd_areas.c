/* SPDX-License-Identifier: Apache-2.0
 *
 * A session's segment in the worker: each argument is mapped separately, read-only if the routine must not
 * write it, and surrounded by inaccessible memory. The unused part of an array's pages is filled with a
 * pattern and checked after the call.
 *
 * Arrays are mapped for each call and unmapped after it. Mapping 64 MB of recycled memory takes about 1.8
 * ms and unmapping 1.3 ms, so large arrays are populated while the routine runs (crd_ahead.c) and unmapped
 * by two threads. Keeping the mappings would save little, and the worker would hold memory that the daemon
 * counts as free. Ranges of data in pieces, which each rank maps for each call, are converted to large
 * pages instead (crd_recurring.c), which reduces both times to about a tenth. */
#include "sed/crd/crd.h"

#include "core/redistribution/pieces.h"
#include "util/pages.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the unused bytes of the pages, before and after the data. They are few: data end at the end of
 * their own pages, so only the first page has unused bytes. */
static uint64_t rest_before(const struct area *area)
{
    return (uint64_t)(area->data - area->pages);
}

static uint64_t rest_behind(const struct area *area)
{
    return area->page_bytes - rest_before(area) - area->bytes;
}

static void write_fences(const struct area *area)
{
    ring_fence_write((unsigned char *)area->pages, rest_before(area));
    ring_fence_write((unsigned char *)area->data + area->bytes, rest_behind(area));
}

const struct area *areas_find_damage(const struct areas *areas, bool *before)
{
    for (uint32_t i = 0; i < areas->n; i++) {
        const struct area *area = &areas->items[i];
        if (!area->writable)
            continue;
        *before = ring_fence_damage((unsigned char *)area->pages, rest_before(area)) >= 0;
        if (*before || ring_fence_damage((unsigned char *)area->data + area->bytes, rest_behind(area)) >= 0)
            return area;
    }
    return NULL;
}

/* After a failed mmap(): reports a lack of memory as such, because a process that is at its own limit is
 * replaced. */
static enum esp_status no_room(const char *what, size_t bytes, struct esp_error *error)
{
    const bool full = errno == ENOMEM;
    error_errno(error, "cannot %s an argument of %zu bytes", what, bytes);
    if (full && error)
        error->status = ESP_NO_MEMORY;
    return full ? ESP_NO_MEMORY : ESP_SYSTEM;
}

static enum esp_status map_area(const struct ring_area *from, int segment, struct area *area, bool fenced,
                                struct esp_error *error)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first = from->offset & ~(page - 1);
    uint64_t last = (from->offset + from->bytes + page - 1) & ~(page - 1);
    size_t bytes = last - first;
    char *place = pages_reserve(bytes, first, RING_GUARD_BYTES);
    if (!place)
        return no_room("reserve addresses for", bytes, error);
    char *pages = mmap(place, bytes, from->writable ? PROT_READ | PROT_WRITE : PROT_READ,
                       MAP_SHARED | MAP_FIXED, segment, (off_t)first);
    if (pages == MAP_FAILED) {
        const enum esp_status status = no_room("map", bytes, error);
        munmap(place - RING_GUARD_BYTES, bytes + 2 * RING_GUARD_BYTES);
        return status;
    }
    *area = (struct area){.pages = pages,
                          .page_bytes = bytes,
                          .data = pages + (from->offset - first),
                          .bytes = from->bytes,
                          .argument = from->argument,
                          .writable = from->writable,
                          .lazy = from->lazy};
    if (area->writable && fenced)
        write_fences(area);
    return ESP_OK;
}

/* A mapping beyond the end of its file exists, and accessing it kills the process. */
static enum esp_status check_bounds(int file, uint64_t offset, uint64_t bytes, struct esp_error *error)
{
    struct stat is;
    if (fstat(file, &is) != 0)
        return error_errno(error, "cannot look at an argument's memory");
    if (offset <= (uint64_t)is.st_size && bytes <= (uint64_t)is.st_size - offset)
        return ESP_OK;
    return error_set(error, ESP_INTERNAL, "an argument lies outside of its segment of %lld bytes",
                     (long long)is.st_size);
}

/* Copies a datum that the routine is going to overwrite; made here and not in the daemon. */
static enum esp_status fill_area(const struct area *area, int source, uint64_t offset,
                                 struct esp_error *error)
{
    uint64_t filled = 0;
    while (filled < area->bytes) {
        ssize_t n = pread(source, area->data + filled, area->bytes - filled, (off_t)(offset + filled));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_errno(error, "cannot read %zu bytes of a datum", (size_t)area->bytes);
        filled += (uint64_t)n;
    }
    return ESP_OK;
}

/* Maps these bytes of a file for reading. *data is where they begin. The caller unmaps *pages. */
static enum esp_status look_at(int file, uint64_t offset, uint64_t bytes, void **pages, size_t *page_bytes,
                               const char **data, struct esp_error *error)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = offset & ~(page - 1);
    enum esp_status status = check_bounds(file, offset, bytes, error);
    if (status != ESP_OK)
        return status;
    *page_bytes = (offset - first + bytes + page - 1) & ~(page - 1);
    *pages = pages_reserve(*page_bytes, first, 0);
    if (!*pages)
        return no_room("reserve addresses for", *page_bytes, error);
    if (mmap(*pages, *page_bytes, PROT_READ, MAP_SHARED | MAP_FIXED, file, (off_t)first) == MAP_FAILED) {
        status = no_room("map", *page_bytes, error);
        munmap(*pages, *page_bytes);
        return status;
    }
    recurring_pages(file, first, *pages, *page_bytes);
    *data = (const char *)*pages + (offset - first);
    return ESP_OK;
}

static bool is_matrix_of(const struct block_cyclic_matrix *layout, uint64_t element_bytes, uint64_t bytes)
{
    return element_bytes > 0 && block_cyclic_matrix_check(layout, "a datum", NULL) == ESP_OK &&
           (uint64_t)(layout->rows.n * layout->cols.n) == bytes / element_bytes && bytes % element_bytes == 0;
}

/* Assembles a datum in pieces. */
static enum esp_status join_area(const struct area *area, const struct ring_area *from, int source,
                                 struct esp_error *error)
{
    void *pages;
    size_t page_bytes;
    const char *data;
    if (!is_matrix_of(&from->source_layout, from->element_bytes, area->bytes))
        return error_set(error, ESP_INTERNAL, "the pieces of a datum are not those of its matrix");
    enum esp_status status =
        look_at(source, from->source_offset, area->bytes, &pages, &page_bytes, &data, error);
    if (status != ESP_OK)
        return status;
    pieces_join(&from->source_layout, data, area->data, from->element_bytes);
    munmap(pages, page_bytes);
    return ESP_OK;
}

enum esp_status areas_take(int file, const struct ring_pieces *from, const struct block_cyclic_matrix *to,
                           int64_t row, int64_t col, void *part, int64_t leading, uint32_t element_bytes,
                           struct esp_error *error)
{
    uint64_t bytes = (uint64_t)(to->rows.n * to->cols.n) * element_bytes;
    void *pages;
    size_t page_bytes;
    const char *data;
    if (!is_matrix_of(&from->layout, element_bytes, bytes))
        return error_set(error, ESP_INTERNAL, "the pieces of a datum are not those of its matrix");
    enum esp_status status = look_at(file, from->offset, bytes, &pages, &page_bytes, &data, error);
    if (status != ESP_OK)
        return status;
    pieces_take(&from->layout, data, to, row, col, part, leading, element_bytes);
    munmap(pages, page_bytes);
    return ESP_OK;
}

enum esp_status areas_share(struct areas *areas, uint32_t argument, int file, uint64_t offset, uint64_t bytes,
                            bool writable, struct esp_error *error)
{
    const struct ring_area from = {
        .offset = offset, .bytes = bytes, .argument = argument, .writable = writable};
    if (areas->n == AREAS_MAX)
        return error_set(error, ESP_LIMIT, "an argument of %llu bytes has no place",
                         (unsigned long long)bytes);
    enum esp_status status = check_bounds(file, offset, bytes, error);
    struct area *area = &areas->items[areas->n];
    if (status == ESP_OK)
        status = map_area(&from, file, area, false, error);
    if (status != ESP_OK)
        return status;
    recurring_pages(file, offset, area->pages, area->page_bytes);
    pages_touch(area->pages, area->page_bytes, writable);
    areas->n++;
    return ESP_OK;
}

/* Maps anonymous memory, or that of the file. */
static enum esp_status place_area(const struct ring_area *area, const int *files, struct areas *areas,
                                  struct esp_error *error)
{
    if (area->file == RING_NO_SOURCE)
        return areas_add(areas, area->argument, area->bytes, error);
    enum esp_status status = check_bounds(files[area->file], area->offset, area->bytes, error);
    if (status == ESP_OK)
        status = map_area(area, files[area->file], &areas->items[areas->n], true, error);
    areas->n += status == ESP_OK;
    return status;
}

enum esp_status areas_map(const struct ring_job *job, const int *files, uint32_t n_files, struct areas *areas,
                          struct esp_error *error)
{
    areas->n = 0;
    for (uint32_t i = 0; i < job->n_areas && i < PROBLEM_MAX_ARGUMENTS; i++) {
        const struct ring_area *area = &job->areas[i];
        bool filled = area->source != RING_NO_SOURCE;
        if ((area->file >= n_files && area->file != RING_NO_SOURCE) || (filled && area->source >= n_files)) {
            areas_unmap(areas);
            return error_set(error, ESP_INTERNAL, "an argument's memory did not come with the call");
        }
        enum esp_status status = place_area(area, files, areas, error);
        if (status == ESP_OK && area->blank)
            memset(areas->items[i].data, 0, area->bytes);
        if (status == ESP_OK && filled && area->source_in_pieces)
            status = join_area(&areas->items[i], area, files[area->source], error);
        else if (status == ESP_OK && filled)
            status = fill_area(&areas->items[i], files[area->source], area->source_offset, error);
        if (status != ESP_OK) {
            areas_unmap(areas);
            return status;
        }
    }
    ahead_begin(areas);
    return ESP_OK;
}

enum esp_status areas_add(struct areas *areas, uint32_t argument, uint64_t bytes, struct esp_error *error)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (areas->n == AREAS_MAX || bytes > SIZE_MAX / 2)
        return error_set(error, ESP_LIMIT, "an argument of %llu bytes has no place",
                         (unsigned long long)bytes);
    size_t page_bytes = (bytes + !bytes + page - 1) & ~(page - 1);
    char *room = mmap(NULL, page_bytes + 2 * RING_GUARD_BYTES, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return no_room("reserve addresses for", page_bytes, error);
    char *pages = room + RING_GUARD_BYTES;
    if (mmap(pages, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        MAP_FAILED) {
        const enum esp_status status = no_room("map", page_bytes, error);
        munmap(room, page_bytes + 2 * RING_GUARD_BYTES);
        return status;
    }
    /* It ends as close to the guard as its alignment permits. */
    areas->items[areas->n++] = (struct area){.pages = pages,
                                             .page_bytes = page_bytes,
                                             .data = pages + (page_bytes - ((bytes + 15) & ~UINT64_C(15))),
                                             .bytes = bytes,
                                             .argument = argument,
                                             .writable = true,
                                             .own = true,
                                             .lazy = true}; /* routines may use little of it */
    write_fences(&areas->items[areas->n - 1]);
    return ESP_OK;
}

uint64_t areas_own_bytes(const struct areas *areas)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < areas->n; i++)
        bytes += areas->items[i].own ? areas->items[i].page_bytes : 0;
    return bytes;
}

enum esp_status areas_let_read(const struct areas *areas, struct esp_error *error)
{
    for (uint32_t i = 0; i < areas->n; i++) {
        const struct area *area = &areas->items[i];
        if (mprotect(area->pages - RING_GUARD_BYTES, RING_GUARD_BYTES, PROT_READ) != 0 ||
            mprotect(area->pages + area->page_bytes, RING_GUARD_BYTES, PROT_READ) != 0)
            return error_errno(error, "cannot open the memory around an argument");
    }
    return ESP_OK;
}

void areas_unmap(struct areas *areas)
{
    ahead_end(areas);
    for (uint32_t i = 0; i < areas->n; i++) {
        pages_leave_by_two(areas->items[i].pages, areas->items[i].page_bytes);
        munmap(areas->items[i].pages - RING_GUARD_BYTES, areas->items[i].page_bytes + 2 * RING_GUARD_BYTES);
    }
    areas->n = 0;
}
