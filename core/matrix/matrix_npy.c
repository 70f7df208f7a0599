/* SPDX-License-Identifier: Apache-2.0
 *
 * The elements of NumPy's array files, as they lie in memory.
 */
#include "config.h"

#include "core/matrix/matrix_npy.h"

#include <inttypes.h>

static void load_raw(const char *raw, unsigned size, bool swapped, unsigned char *part)
{
    for (unsigned i = 0; i < size; i++)
        part[i] = (unsigned char)raw[swapped ? size - 1 - i : i];
}

/* One number that is no integer. */
static double load_real(const struct npy *npy, const char *raw)
{
    unsigned size = npy->kind == 'c' ? npy->size / 2 : npy->size;
    union {
        unsigned char bytes[8];
        float f;
        double d;
    } part;
    load_raw(raw, size, npy->swapped, part.bytes);
    return size == 4 ? (double)part.f : part.d;
}

/* An integer; false when 63 bits do not hold it. */
static bool load_integer(const struct npy *npy, const char *raw, int64_t *integer)
{
    unsigned size = npy->size;
    union {
        unsigned char bytes[8];
        int8_t i1;
        int16_t i2;
        int32_t i4;
        int64_t i8;
        uint16_t u2;
        uint32_t u4;
        uint64_t u8;
    } part;
    load_raw(raw, size, npy->swapped, part.bytes);
    if (npy->kind == 'i') {
        *integer = size == 1 ? part.i1 : size == 2 ? part.i2 : size == 4 ? part.i4 : part.i8;
        return true;
    }
    uint64_t natural = size == 1 ? part.bytes[0] : size == 2 ? part.u2 : size == 4 ? part.u4 : part.u8;
    *integer = (int64_t)natural;
    return natural <= INT64_MAX;
}

enum esp_status npy_check_size(const struct lines *lines, const struct npy *npy, const char *data,
                               int64_t rows, int64_t cols, struct esp_error *error)
{
    uint64_t count, bytes, found = (uint64_t)(lines->end - data);
    if (__builtin_mul_overflow((uint64_t)rows, (uint64_t)cols, &count) ||
        __builtin_mul_overflow(count, (uint64_t)npy->size, &bytes))
        return error_set(error, ESP_SYNTAX, "%s: %" PRId64 " x %" PRId64 " elements are too many",
                         lines->name, rows, cols);
    if (bytes == found)
        return ESP_OK;
    return error_set(error, ESP_SYNTAX,
                     "%s: byte %zu: expected %" PRIu64 " bytes for %" PRId64 " x %" PRId64
                     " elements, found %" PRIu64,
                     lines->name, (size_t)(data - lines->at), bytes, rows, cols, found);
}

int64_t npy_place(const struct npy *npy, int64_t rows, int64_t cols, int64_t row, int64_t col)
{
    if (npy->fortran_order)
        return col * rows + row;
    if (npy->n_dims <= 2)
        return row * cols + col;
    /* The column counts through the other dimensions, the second one fastest; the file has the last fastest.
     */
    int64_t place = 0, step = 1, at[MATRIX_MAX_DIMS] = {row};
    for (unsigned d = 1; d < npy->n_dims; d++) {
        at[d] = col % npy->dims[d];
        col /= npy->dims[d];
    }
    for (unsigned d = npy->n_dims; d-- > 0; step *= npy->dims[d])
        place += at[d] * step;
    return place;
}

enum esp_status npy_load_element(const struct lines *lines, const struct npy *npy, const char *raw,
                                 struct matrix *matrix, size_t to, struct esp_error *error)
{
    unsigned parts = npy->kind == 'c' ? 2 : 1;
    int64_t integer;
    if (npy->kind == 'f' || npy->kind == 'c') {
        for (unsigned part = 0; part < parts; part++)
            matrix->values[to * parts + part] = load_real(npy, raw + part * (npy->size / parts));
        return ESP_OK;
    }
    if (load_integer(npy, raw, &integer))
        return matrix_set_integer(matrix, to, integer, error);
    return error_set(error, ESP_SYNTAX, "%s: byte %zu: the integer does not fit 64 bits with a sign",
                     lines->name, (size_t)(raw - lines->at));
}

static enum esp_status load_elements(const struct lines *lines, const struct npy *npy, const char *data,
                                     struct matrix *matrix, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t i = 0; i < matrix->rows && status == ESP_OK; i++)
            status = npy_load_element(
                lines, npy, data + (size_t)npy_place(npy, matrix->rows, matrix->cols, i, j) * npy->size,
                matrix, (size_t)(j * matrix->rows + i), error);
    return status;
}

enum esp_status matrix_npy_parse(struct lines *lines, struct matrix_file *file, struct esp_error *error)
{
    struct npy npy = {0};
    const char *data = NULL;
    enum esp_status status = npy_parse_head(lines, &npy, file, &data, error);
    int64_t rows = file->matrix.rows, cols = file->matrix.cols;
    file->matrix = (struct matrix){0};
    if (status == ESP_OK)
        status = npy_check_size(lines, &npy, data, rows, cols, error);
    if (status != ESP_OK)
        return status;
    file->entries = rows * cols;
    status = matrix_init(&file->matrix, rows, cols, npy.kind == 'c', lines->max_bytes, error);
    if (status != ESP_OK)
        return error_prefix(error, "%s", lines->name);
    return load_elements(lines, &npy, data, &file->matrix, error);
}
