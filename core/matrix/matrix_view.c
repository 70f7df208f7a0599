/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/matrix/matrix_view.h"

#include "core/matrix/matrix_npy.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct matrix_view {
    void *mapped;
    size_t bytes;
    char *name;
    struct lines lines;
    struct npy npy;
    const char *data;
    int64_t rows, cols;
};

void matrix_view_close(struct matrix_view *view)
{
    if (!view)
        return;
    if (view->mapped)
        munmap(view->mapped, view->bytes);
    free(view->name);
    free(view);
}

/* Maps the file. NULL: it cannot be mapped, or there is no memory. */
static struct matrix_view *map(const char *path)
{
    struct stat about;
    int fd = strcmp(path, "-") == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    struct matrix_view *view = calloc(1, sizeof *view);
    if (view && (view->name = strdup(path)) && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
        about.st_size > 0) {
        view->bytes = (size_t)about.st_size;
        view->mapped = mmap(NULL, view->bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (view->mapped == MAP_FAILED)
            view->mapped = NULL;
    }
    close(fd);
    if (view && view->mapped)
        return view;
    matrix_view_close(view);
    return NULL;
}

enum esp_status matrix_view_open(const char *path, struct matrix_view **result, struct matrix_file *about,
                                 struct esp_error *error)
{
    *result = NULL;
    *about = (struct matrix_file){0};
    struct matrix_view *view = map(path);
    if (!view || !matrix_npy_probe(view->mapped, view->bytes)) {
        matrix_view_close(view);
        return ESP_OK;
    }
    const char *begin = view->mapped;
    view->lines = (struct lines){.name = view->name, .begin = begin, .at = begin, .end = begin + view->bytes};
    enum esp_status status = npy_parse_head(&view->lines, &view->npy, about, &view->data, error);
    if (status == ESP_OK)
        status = npy_check_size(&view->lines, &view->npy, view->data, about->matrix.rows, about->matrix.cols,
                                error);
    if (status != ESP_OK) {
        matrix_view_close(view);
        return status;
    }
    about->format = matrix_format_find("npy");
    view->rows = about->matrix.rows;
    view->cols = about->matrix.cols;
    *result = view;
    return ESP_OK;
}

static bool is_of(const struct matrix_view *view, char kind, unsigned size)
{
    return view->npy.kind == kind && view->npy.size == size && !view->npy.swapped;
}

const void *matrix_view_elements(const struct matrix_view *view, char kind, unsigned size)
{
    bool in_order = view->npy.fortran_order || view->rows <= 1 || view->cols <= 1;
    return is_of(view, kind, size) && in_order && (uintptr_t)view->data % size == 0 ? view->data : NULL;
}

/* Calls `take` for the elements from number `first` on, row by row of the matrix, because a file by rows
 * is read best in that order. */
static enum esp_status each(const struct matrix_view *view, uint64_t first, uint64_t n,
                            enum esp_status (*take)(void *arg, const char *raw, uint64_t to), void *arg)
{
    enum esp_status status = ESP_OK;
    uint64_t rows = (uint64_t)view->rows;
    for (uint64_t i = 0; i < rows && n > 0; i++)
        for (uint64_t j = first / rows; status == ESP_OK && j <= (first + n - 1) / rows; j++) {
            uint64_t number = j * rows + i;
            if (number < first || number >= first + n)
                continue;
            int64_t place = npy_place(&view->npy, view->rows, view->cols, (int64_t)i, (int64_t)j);
            status = take(arg, view->data + (size_t)place * view->npy.size, number - first);
        }
    return status;
}

struct copying {
    char *to;
    unsigned size;
};

static enum esp_status copy_element(void *arg, const char *raw, uint64_t to)
{
    const struct copying *copying = arg;
    memcpy(copying->to + to * copying->size, raw, copying->size);
    return ESP_OK;
}

bool matrix_view_copy(const struct matrix_view *view, char kind, unsigned size, uint64_t first, uint64_t n,
                      void *to)
{
    struct copying copying = {to, size};
    return is_of(view, kind, size) && each(view, first, n, copy_element, &copying) == ESP_OK;
}

struct loading {
    const struct matrix_view *view;
    struct matrix *part;
    struct esp_error *error;
};

static enum esp_status load_element(void *arg, const char *raw, uint64_t to)
{
    const struct loading *loading = arg;
    return npy_load_element(&loading->view->lines, &loading->view->npy, raw, loading->part, (size_t)to,
                            loading->error);
}

enum esp_status matrix_view_load(const struct matrix_view *view, uint64_t first, uint64_t n,
                                 struct matrix *part, struct esp_error *error)
{
    struct loading loading = {view, part, error};
    enum esp_status status = matrix_init(part, (int64_t)n, 1, view->npy.kind == 'c', UINT64_MAX, error);
    if (status == ESP_OK && (status = each(view, first, n, load_element, &loading)) != ESP_OK)
        matrix_clear(part);
    return status;
}
