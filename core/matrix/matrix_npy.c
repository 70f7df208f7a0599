/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the header of NumPy's array files, format versions 1 to 3 (NumPy Enhancement Proposal 1): a magic,
 * and a literal of a Python dictionary. */
#include "core/matrix/matrix_npy.h"
#include "config.h"
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

#define MAX_HEADER 65536 /* bytes; real ones have a few hundred */

/* The header being read. */
struct cursor {
    const char *name, *begin; /* of the file */
    const char *at, *end;     /* of the header */
    struct esp_error *error;
};

bool matrix_npy_probe(const char *content, size_t length)
{
    return length >= NPY_MAGIC_BYTES && memcmp(content, NPY_MAGIC, NPY_MAGIC_BYTES) == 0;
}

static enum esp_status fail_at(const struct cursor *cursor, const char *expected)
{
    char shown[48];
    struct span rest = {cursor->at, (size_t)(cursor->end - cursor->at)};
    rest.length = rest.length < 20 ? rest.length : 20;
    return error_set(cursor->error, ESP_SYNTAX, "%s: byte %zu: expected %s, found %s", cursor->name,
                     (size_t)(cursor->at - cursor->begin), expected,
                     rest.length ? span_show(rest, shown, sizeof shown) : "the end of the header");
}

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\n'))
        cursor->at++;
}

static bool take_char(struct cursor *cursor, char c)
{
    skip_blanks(cursor);
    if (cursor->at == cursor->end || *cursor->at != c)
        return false;
    cursor->at++;
    return true;
}

static bool take_word(struct cursor *cursor, const char *word)
{
    size_t length = strlen(word);
    skip_blanks(cursor);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

/* A text in single or double quotes, without escapes. */
static bool take_text(struct cursor *cursor, struct span *text)
{
    skip_blanks(cursor);
    if (cursor->at == cursor->end || (*cursor->at != '\'' && *cursor->at != '"'))
        return false;
    const char *stop = memchr(cursor->at + 1, *cursor->at, (size_t)(cursor->end - cursor->at - 1));
    if (!stop)
        return false;
    *text = (struct span){cursor->at + 1, (size_t)(stop - cursor->at - 1)};
    cursor->at = stop + 1;
    return true;
}

static bool is_supported(const struct npy *npy)
{
    switch (npy->kind) {
    case 'f':
        return npy->size == 4 || npy->size == 8;
    case 'c':
        return npy->size == 8 || npy->size == 16;
    case 'i':
    case 'u':
        return npy->size == 1 || npy->size == 2 || npy->size == 4 || npy->size == 8;
    default:
        return npy->kind == 'b' && npy->size == 1;
    }
}

/* '<f8' */
static enum esp_status take_type(struct cursor *cursor, struct npy *npy)
{
    static const char expected[] = "a type of elements such as '<f8' (f4 f8 c8 c16, integers, b1)";
    struct span text;
    int64_t size = 0;
    const char *before = cursor->at;
    if (!take_text(cursor, &text) || text.length < 3 || !memchr("<>=|", text.text[0], 4) ||
        !span_integer((struct span){text.text + 2, text.length - 2}, &size) || size < 1 || size > 16) {
        cursor->at = before;
        return fail_at(cursor, expected);
    }
    const bool here_little = __BYTE_ORDER == __LITTLE_ENDIAN;
    npy->kind = text.text[1];
    npy->size = (unsigned)size;
    npy->swapped = (text.text[0] == '<' && !here_little) || (text.text[0] == '>' && here_little);
    if (is_supported(npy))
        return ESP_OK;
    cursor->at = before;
    return fail_at(cursor, expected);
}

/* (), (3,), (3, 4) */
static enum esp_status take_shape(struct cursor *cursor, struct npy *npy)
{
    npy->n_dims = 0;
    if (!take_char(cursor, '('))
        return fail_at(cursor, "a shape such as (3, 4)");
    while (!take_char(cursor, ')')) {
        struct span digits;
        skip_blanks(cursor);
        for (digits = (struct span){cursor->at, 0};
             cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++)
            digits.length++;
        int64_t extent;
        if (!digits.length || !span_integer(digits, &extent))
            return fail_at(cursor, "an extent in the shape");
        take_word(cursor, "L"); /* Python 2 */
        if (npy->n_dims < MATRIX_MAX_DIMS)
            npy->dims[npy->n_dims] = extent;
        npy->n_dims++;
        if (take_char(cursor, ','))
            continue;
        if (!take_char(cursor, ')'))
            return fail_at(cursor, "',' or ')' in the shape");
        break;
    }
    return ESP_OK;
}

static enum esp_status take_order(struct cursor *cursor, struct npy *npy)
{
    if (take_word(cursor, "True"))
        npy->fortran_order = true;
    else if (!take_word(cursor, "False"))
        return fail_at(cursor, "True or False");
    return ESP_OK;
}

static enum esp_status take_entry(struct cursor *cursor, struct npy *npy, unsigned *seen)
{
    static const struct {
        const char *key;
        enum esp_status (*take)(struct cursor *, struct npy *);
    } keys[] = {{"descr", take_type}, {"fortran_order", take_order}, {"shape", take_shape}};
    struct span key;
    const char *before = cursor->at;
    if (!take_text(cursor, &key) || !take_char(cursor, ':'))
        return fail_at(cursor, "a key, descr, fortran_order or shape, and ':'");
    for (unsigned i = 0; i < 3; i++)
        if (key.length == strlen(keys[i].key) && memcmp(key.text, keys[i].key, key.length) == 0) {
            *seen |= 1U << i;
            return keys[i].take(cursor, npy);
        }
    cursor->at = before;
    return fail_at(cursor, "one of the keys descr, fortran_order, shape");
}

static enum esp_status take_header(struct cursor *cursor, struct npy *npy)
{
    unsigned seen = 0;
    if (!take_char(cursor, '{'))
        return fail_at(cursor, "'{'");
    while (!take_char(cursor, '}')) {
        enum esp_status status = take_entry(cursor, npy, &seen);
        if (status != ESP_OK)
            return status;
        if (take_char(cursor, ','))
            continue;
        if (!take_char(cursor, '}'))
            return fail_at(cursor, "',' or '}'");
        break;
    }
    skip_blanks(cursor);
    if (cursor->at != cursor->end)
        return fail_at(cursor, "the end of the header");
    return seen == 7 ? ESP_OK : fail_at(cursor, "the keys descr, fortran_order and shape");
}

/* Version, length of the header, header. */
static enum esp_status find_header(const struct lines *lines, struct cursor *cursor)
{
    const unsigned char *at = (const unsigned char *)lines->at + NPY_MAGIC_BYTES;
    size_t left = (size_t)(lines->end - lines->at) - NPY_MAGIC_BYTES, prefix, length;
    if (left < 2 || at[0] < 1 || at[0] > 3)
        return error_set(cursor->error, ESP_SYNTAX, "%s: byte %d: expected version 1, 2 or 3, found %s",
                         lines->name, NPY_MAGIC_BYTES, left < 2 ? "the end of the file" : "another");
    prefix = at[0] == 1 ? 4 : 6;
    if (left < prefix)
        return error_set(cursor->error, ESP_SYNTAX,
                         "%s: byte %d: expected the length of the header, found the end of the file",
                         lines->name, NPY_MAGIC_BYTES + 2);
    length = at[2] | (size_t)at[3] << 8;
    if (prefix == 6)
        length |= (size_t)at[4] << 16 | (size_t)at[5] << 24;
    if (length > MAX_HEADER)
        return error_set(cursor->error, ESP_SYNTAX,
                         "%s: byte 8: expected a header of at most %d bytes, found %zu", lines->name,
                         MAX_HEADER, length);
    if (left - prefix < length)
        return error_set(cursor->error, ESP_SYNTAX,
                         "%s: byte %zu: expected a header of %zu bytes, found %zu and the end of the file",
                         lines->name, NPY_MAGIC_BYTES + prefix, length, left - prefix);
    cursor->at = (const char *)at + prefix;
    cursor->end = cursor->at + length;
    return ESP_OK;
}

/* Rows are the first dimension, columns all others together. */
static enum esp_status take_extents(const struct lines *lines, const struct npy *npy, int64_t *rows,
                                    int64_t *cols, struct esp_error *error)
{
    if (npy->n_dims > MATRIX_MAX_DIMS)
        return error_set(error, ESP_SYNTAX, "%s: expected at most %d dimensions, found %u", lines->name,
                         MATRIX_MAX_DIMS, npy->n_dims);
    *rows = npy->n_dims > 0 ? npy->dims[0] : 1;
    *cols = 1;
    for (unsigned d = 1; d < npy->n_dims; d++)
        if (__builtin_mul_overflow(*cols, npy->dims[d], cols))
            return error_set(error, ESP_SYNTAX, "%s: its dimensions are more elements than 63 bits count",
                             lines->name);
    return ESP_OK;
}

enum esp_status npy_parse_head(struct lines *lines, struct npy *npy, struct matrix_file *file,
                               const char **data, struct esp_error *error)
{
    struct matrix *matrix = &file->matrix;
    struct cursor cursor = {.name = lines->name, .begin = lines->at, .error = error};
    enum esp_status status = find_header(lines, &cursor);
    if (status == ESP_OK)
        status = take_header(&cursor, npy);
    if (status == ESP_OK)
        status = take_extents(lines, npy, &matrix->rows, &matrix->cols, error);
    if (status != ESP_OK)
        return status;
    *data = cursor.end;
    matrix->is_complex = npy->kind == 'c';
    file->n_dims = npy->n_dims > 2 ? npy->n_dims : 0;
    memcpy(file->dims, npy->dims, sizeof npy->dims);
    file->field = npy->kind == 'c' ? FIELD_COMPLEX : npy->kind == 'f' ? FIELD_REAL : FIELD_INTEGER;
    file->is_vector = npy->n_dims < 2;
    file->is_short = npy->size == (npy->kind == 'c' ? 8 : 4);
    return ESP_OK;
}

enum esp_status matrix_npy_announce(struct lines *lines, struct matrix_file *file, struct esp_error *error)
{
    struct npy npy = {0};
    const char *data;
    return npy_parse_head(lines, &npy, file, &data, error);
}

/* Reads the elements of NumPy's array files from memory. */

static void load_raw(const char *raw, unsigned size, bool swapped, unsigned char *part)
{
    for (unsigned i = 0; i < size; i++)
        part[i] = (unsigned char)raw[swapped ? size - 1 - i : i];
}

/* Loads a number that is not an integer. */
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

/* Loads an integer; false when it exceeds 63 bits. */
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
    /* Columns count through the other dimensions with the second one fastest; the file has the last one
     * fastest. */
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

/* Writes NumPy's array files: version 1.0, this machine's byte order, columns one after the other. */

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

/* Checks that each element can be represented in the header's type. */
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

/* ---- files whose elements are filled in later ---- */

struct matrix_place {
    int fd;
    char *path, *temporary; /* temporary NULL: the file has no name yet */
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

/* The disk space of the whole file is reserved before it is mapped; otherwise a full disk kills the
 * process with SIGBUS. */
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
