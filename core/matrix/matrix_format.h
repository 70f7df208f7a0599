/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of matrix formats. A new format is one file with these functions, declared below, and one row in
 * core/matrix/matrix_formats.c (and its file's name in core/local.mk); tests/unit/test_matrix_formats.c then
 * writes, reads, and truncates it at every byte.
 */
#ifndef CORE_MATRIX_FORMAT_H
#define CORE_MATRIX_FORMAT_H

#include "core/matrix/matrix_text.h"
#include "util/scratch.h"

#include <stdio.h>

struct matrix_format {
    const char *name;    /* "Matrix Market" */
    const char *word;    /* for --format, and an ending of file names */
    const char *endings; /* others, separated by blanks */
    enum { LAYOUT_EITHER, LAYOUT_DENSE, LAYOUT_SPARSE } layout; /* what such a file can hold */
    /* Whether the content looks like this format. Called in the order of the rows; reads only the
     * beginning. */
    bool (*probe)(const char *content, size_t length);
    /* Reads the content, which `lines` is at the start of, into *file (all zero, except for the format).
     * When it fails, the caller frees what it stored there. */
    enum esp_status (*parse)(struct lines *lines, struct matrix_file *file, struct esp_error *error);
    /* Writes; `file->matrix` is dense if `layout` or file->is_sparse require it. The caller checks the
     * stream for errors; ESP_INVALID: the format cannot represent the matrix, and nothing was written. The
     * locale is C. */
    enum esp_status (*write)(FILE *stream, const struct matrix_file *file, struct esp_error *error);
    bool has_arrays; /* also arrays of more than two dimensions */
    /* Reads the extents from the beginning of a file that may continue after `lines`: sets rows, cols and
     * is_complex of file->matrix, and no values. NULL: they are not known before the end. */
    enum esp_status (*announce)(struct lines *lines, struct matrix_file *file, struct esp_error *error);
};

/* The rows of the table, ending with one without a name. */
extern const struct matrix_format matrix_formats[];

/* For writers: the stored values of column j are those from column_begin() to column_begin() of j + 1. */
static inline int64_t column_begin(const struct matrix *matrix, int64_t col)
{
    return matrix->starts ? matrix->starts[col] : col * matrix->rows;
}
static inline int64_t entry_row(const struct matrix *matrix, int64_t col, int64_t entry)
{
    return matrix->indices ? matrix->indices[entry] : entry - col * matrix->rows;
}
/* Whether a sparse file lists this entry: not the upper triangle of a symmetric matrix, no zeros of a dense
 * one. */
bool entry_is_listed(const struct matrix_file *file, int64_t row, int64_t col, int64_t entry);
/* Creates a new file in the same folder; *temporary is its name, to be freed. -1: errno. */
int matrix_open_beside(const char *path, char **temporary);
/* Creates a file without a name (O_TMPFILE), if the folder supports that: it vanishes with the process.
 * *temporary is NULL then. */
int matrix_open_nameless(const char *path, char **temporary);
/* Gives such a file a name beside the path, like matrix_open_beside(). False: errno. */
bool matrix_name_beside(int fd, const char *path, char **temporary);
/* Counts the entries that a sparse file lists. */
int64_t entries_listed(const struct matrix_file *file);

/* Matrix Market: core/matrix/matrix_market.c */
bool matrix_market_probe(const char *text, size_t length);
enum esp_status matrix_market_parse(struct lines *lines, struct matrix_file *file, struct esp_error *error);
enum esp_status matrix_market_announce(struct lines *lines, struct matrix_file *file,
                                       struct esp_error *error);
enum esp_status matrix_market_write(FILE *stream, const struct matrix_file *file, struct esp_error *error);

/* Harwell-Boeing and its successor Rutherford-Boeing: core/matrix/harwell_boeing.c */
bool harwell_boeing_probe(const char *text, size_t length);
bool rutherford_boeing_probe(const char *text, size_t length);
/* Whether the content has Fortran formats at the right place, but no type. */
bool harwell_boeing_is_near(const char *text, size_t length);
enum esp_status harwell_boeing_parse(struct lines *lines, struct matrix_file *file, struct esp_error *error);
enum esp_status harwell_boeing_write(FILE *stream, const struct matrix_file *file, struct esp_error *error);
enum esp_status rutherford_boeing_write(FILE *stream, const struct matrix_file *file,
                                        struct esp_error *error);

/* NumPy's array files: core/matrix/matrix_npy.c */
bool matrix_npy_probe(const char *content, size_t length);
enum esp_status matrix_npy_parse(struct lines *lines, struct matrix_file *file, struct esp_error *error);
enum esp_status matrix_npy_announce(struct lines *lines, struct matrix_file *file, struct esp_error *error);
enum esp_status matrix_npy_write(FILE *stream, const struct matrix_file *file, struct esp_error *error);

/* Octave's text: core/matrix/matrix_octave.c */
bool matrix_octave_probe(const char *text, size_t length);
enum esp_status matrix_octave_parse(struct lines *lines, struct matrix_file *file, struct esp_error *error);
enum esp_status matrix_octave_write(FILE *stream, const struct matrix_file *file, struct esp_error *error);

/* Tables of numbers: core/matrix/matrix_csv.c */
bool matrix_csv_probe(const char *text, size_t length);
/* How many columns the table has that begins so; 0: it is no table, or its first row is not whole. */
int64_t matrix_csv_columns(const char *text, size_t length);
enum esp_status matrix_csv_parse(struct lines *lines, struct matrix_file *file, struct esp_error *error);
enum esp_status matrix_csv_write(FILE *stream, const struct matrix_file *file, struct esp_error *error);

/* Compressed files: core/matrix/matrix_gzip.c */
bool gzip_probe(const char *content, size_t length);
/* Copies the first bytes of the content, at most `size`; returns how many. gzip_expand() reports damage. */
size_t gzip_begin(const char *content, size_t length, char *start, size_t size);
/* Called with each piece of the expanded content; false ends the expansion with ESP_LIMIT. */
struct gzip_watch {
    bool (*fits)(void *arg, const char *piece, size_t length);
    void *arg;
};
/* The first *expanded bytes of `text`, which was empty, become the content, which has at most `max_bytes`.
 * `watch`: or NULL. */
enum esp_status gzip_expand(const char *content, size_t length, const char *name, uint64_t max_bytes,
                            const struct gzip_watch *watch, struct scratch *text, size_t *expanded,
                            struct esp_error *error);
/* A stream whose content goes to the descriptor compressed; both are closed by fclose(), which fails when
 * something could not be written. NULL: errno. */
FILE *gzip_stream(int fd);

#endif
