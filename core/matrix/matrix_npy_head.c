/* SPDX-License-Identifier: Apache-2.0
 *
 * The header of NumPy's array files, format versions 1 to 3 (NumPy Enhancement Proposal 1): a magic, and a
 * literal of a Python dictionary.
 */
#include "config.h"

#include "core/matrix/matrix_npy.h"

#include <endian.h>
#include <inttypes.h>
#include <string.h>

#define MAX_HEADER 65536 /* bytes; real ones have some hundred */

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
        return error_set(error, ESP_INVALID, "%s: expected at most %d dimensions, found %u", lines->name,
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
