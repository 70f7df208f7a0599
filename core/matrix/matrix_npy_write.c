/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing NumPy's array files: version 1.0, this machine's byte order, columns one after the other.
 */
#include "config.h"

#include "core/matrix/matrix_npy.h"
#include "core/matrix/matrix_view.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* (2, 3, 4) */
static void write_shape(const struct matrix_file *file, char *shape, size_t size)
{
    size_t used = 0;
    for (unsigned d = 0; d < file->n_dims; d++)
        used += (size_t)snprintf(shape + used, size - used, "%s%" PRId64, d ? ", " : "(", file->dims[d]);
    snprintf(shape + used, size - used, ")");
}

static void write_header(FILE *stream, const struct matrix_file *file, const char *type)
{
    char header[512], shape[MATRIX_MAX_DIMS * 24];
    if (file->n_dims > 2)
        write_shape(file, shape, sizeof shape);
    else if (file->is_vector && file->matrix.cols == 1)
        snprintf(shape, sizeof shape, "(%" PRId64 ",)", file->matrix.rows);
    else
        snprintf(shape, sizeof shape, "(%" PRId64 ", %" PRId64 ")", file->matrix.rows, file->matrix.cols);
    int length = snprintf(header, sizeof header, "{'descr': '%c%s', 'fortran_order': True, 'shape': %s, }",
                          __BYTE_ORDER == __LITTLE_ENDIAN ? '<' : '>', type, shape);
    /* Padded so that the elements begin at a multiple of 64. */
    int padded = (10 + length + 1 + 63) / 64 * 64 - 10;
    const unsigned char version[4] = {1, 0, (unsigned char)(padded & 0xff), (unsigned char)(padded >> 8)};
    fwrite(NPY_MAGIC, 1, NPY_MAGIC_BYTES, stream);
    fwrite(version, 1, sizeof version, stream);
    fprintf(stream, "%s%*s\n", header, padded - 1 - length, "");
}

static const char *type_name(const struct matrix_file *file)
{
    switch (file->field) {
    case FIELD_COMPLEX:
        return file->is_short ? "c8" : "c16";
    case FIELD_INTEGER:
        return file->is_short ? "i4" : "i8";
    case FIELD_PATTERN:
        return "i4";
    default:
        return file->is_short ? "f4" : "f8";
    }
}

static void write_number(FILE *stream, const struct matrix *matrix, int64_t index, char kind, bool is_short)
{
    double value = matrix->values[index];
    float narrow = (float)value;
    int32_t integer = (int32_t)(is_short && kind == 'i' ? value : 0);
    int64_t wide = kind == 'i' && !is_short ? matrix_integer(matrix, (size_t)index) : 0;
    if (kind == 'i')
        fwrite(is_short ? (const void *)&integer : &wide, is_short ? 4 : 8, 1, stream);
    else
        fwrite(is_short ? (const void *)&narrow : &value, is_short ? 4 : 8, 1, stream);
}

/* An element of the type that the header names comes back as it is. */
static enum esp_status check_numbers(const struct matrix_file *file, bool integers, bool is_short,
                                     struct esp_error *error)
{
    double most = is_short ? 2147483647. : 9223372036854774784.;
    for (int64_t k = 0; integers && k < matrix_stored(&file->matrix); k++)
        if (!(file->matrix.wide && file->matrix.wide[k]) &&
            !(file->matrix.values[k] <= most && file->matrix.values[k] >= -most - 1))
            return error_set(error, ESP_INVALID, "expected integers of %d bits, found %.17g",
                             is_short ? 32 : 64, file->matrix.values[k]);
    return ESP_OK;
}

enum esp_status matrix_npy_write(FILE *stream, const struct matrix_file *file, struct esp_error *error)
{
    const char *type = type_name(file);
    bool is_short = file->is_short || file->field == FIELD_PATTERN;
    enum esp_status status = check_numbers(file, *type == 'i', is_short, error);
    if (status != ESP_OK)
        return status;
    write_header(stream, file, type);
    int64_t doubles = matrix_stored(&file->matrix) * (file->matrix.is_complex ? 2 : 1);
    if (*type != 'i' && !is_short)
        fwrite(file->matrix.values, sizeof(double), (size_t)doubles, stream);
    else
        for (int64_t k = 0; k < doubles; k++)
            write_number(stream, &file->matrix, k, *type, is_short);
    return ESP_OK;
}

/* ---- elements that come later ---- */

struct matrix_place {
    int fd;
    char *path, *temporary; /* temporary NULL: it has no name yet */
    uint8_t *mapped;
    size_t bytes;
};

static enum esp_status write_head(int fd, const struct matrix_file *about, size_t *bytes,
                                  struct esp_error *error)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    FILE *stream = own < 0 ? NULL : fdopen(own, "w");
    if (!stream) {
        if (own >= 0)
            close(own);
        return error_errno(error, "cannot write the file's header");
    }
    write_header(stream, about, type_name(about));
    bool whole = fflush(stream) == 0 && !ferror(stream);
    long length = ftell(stream);
    if (fclose(stream) != 0 || !whole || length < 0)
        return error_errno(error, "cannot write the file's header");
    *bytes = (size_t)length;
    return ESP_OK;
}

/* All of the file has its place on the disk before it is mapped: else a full disk kills the process. */
static enum esp_status map_elements(struct matrix_place *place, size_t head, uint64_t bytes, void **elements,
                                    struct esp_error *error)
{
    place->bytes = head + (size_t)bytes;
    int failed = bytes > 0 ? posix_fallocate(place->fd, 0, (off_t)place->bytes) : 0;
    if (failed) {
        errno = failed;
        error_errno(error, "no room for the file");
        return failed == ENOSPC ? error->status = ESP_NO_MEMORY : error->status;
    }
    void *mapped = mmap(NULL, place->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, place->fd, 0);
    if (mapped == MAP_FAILED)
        return error_errno(error, "cannot map the file");
    place->mapped = mapped;
    *elements = place->mapped + head;
    return ESP_OK;
}

enum esp_status matrix_place_create(const char *path, const struct matrix_file *about,
                                    struct matrix_place **result, void **elements, struct esp_error *error)
{
    const char *type = type_name(about);
    size_t head = 0;
    uint64_t bytes = (uint64_t)about->matrix.rows * (uint64_t)about->matrix.cols * (uint64_t)atoi(type + 1);
    struct matrix_place *place = calloc(1, sizeof *place);
    if (!place || !(place->path = strdup(path))) {
        free(place);
        return error_no_memory(error, "a file");
    }
    place->fd = matrix_open_nameless(path, &place->temporary);
    enum esp_status status = place->fd < 0 ? error_errno(error, "it cannot be made") : ESP_OK;
    if (status == ESP_OK)
        status = write_head(place->fd, about, &head, error);
    if (status == ESP_OK)
        status = map_elements(place, head, bytes, elements, error);
    if (status == ESP_OK) {
        *result = place;
        return ESP_OK;
    }
    matrix_place_end(place, false, NULL);
    return error_prefix(error, "cannot write %s", path);
}

enum esp_status matrix_place_end(struct matrix_place *place, bool whole, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    if (place->mapped)
        munmap(place->mapped, place->bytes);
    if (whole && !place->temporary && !matrix_name_beside(place->fd, place->path, &place->temporary))
        status = error_errno(error, "cannot write %s", place->path);
    if (place->fd >= 0 && close(place->fd) != 0 && whole && status == ESP_OK)
        status = error_errno(error, "cannot write %s", place->path);
    if (status == ESP_OK && whole && rename(place->temporary, place->path) != 0)
        status = error_errno(error, "cannot write %s", place->path);
    if (place->fd >= 0 && place->temporary && (status != ESP_OK || !whole))
        unlink(place->temporary);
    free(place->temporary);
    free(place->path);
    free(place);
    return status;
}
