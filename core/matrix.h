/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices in files: Matrix Market and Harwell-Boeing, recognised by their content, read into dense
 * column-major doubles; and what can be said about a matrix and about the solution of a system.
 *
 * Nothing here depends on the locale or holds state: any thread may call.
 */
#ifndef CORE_MATRIX_H
#define CORE_MATRIX_H

#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The dense matrix that a file may ask for at most, unless the caller says otherwise. */
#define MATRIX_DEFAULT_MAX_BYTES (UINT64_C(8) << 30)

struct matrix {
    int64_t rows, cols;
    bool is_complex; /* each element is two doubles: real part, imaginary part */
    double *values;  /* column-major, rows * cols elements; never NULL in a valid matrix */
};

/* Zeros. ESP_INVALID for a negative extent, ESP_LIMIT when more than `max_bytes` would be needed
 * (0: MATRIX_DEFAULT_MAX_BYTES), ESP_NO_MEMORY. On success matrix_clear() frees the values. */
enum esp_status matrix_init(struct matrix *matrix, int64_t rows, int64_t cols, bool is_complex,
                            uint64_t max_bytes, struct esp_error *error);
/* Frees the values; the matrix is all zero afterwards. NULL is fine. */
void matrix_clear(struct matrix *matrix);

/* Bytes of all values. */
size_t matrix_bytes(const struct matrix *matrix);

enum matrix_format { MATRIX_MARKET, HARWELL_BOEING };
enum matrix_field { FIELD_REAL, FIELD_INTEGER, FIELD_COMPLEX, FIELD_PATTERN };
enum matrix_symmetry { SYMMETRY_GENERAL, SYMMETRY_SYMMETRIC, SYMMETRY_SKEW, SYMMETRY_HERMITIAN };

const char *matrix_format_name(enum matrix_format format);
const char *matrix_field_name(enum matrix_field field);
const char *matrix_symmetry_name(enum matrix_symmetry symmetry);

/* What a file holds, and how it said it. */
struct matrix_file {
    enum matrix_format format;
    bool is_sparse;                /* coordinates or compressed columns; else every value is written out */
    enum matrix_field field;       /* a pattern is read as ones where an entry is, integers as reals */
    enum matrix_symmetry symmetry; /* as declared; `matrix` holds both triangles */
    int64_t entries;               /* written in the file */
    char title[73], key[9];        /* Harwell-Boeing's, without trailing blanks; else "" */
    struct matrix matrix;
    struct matrix rhs; /* right-hand sides in the same file; values == NULL: there are none */
};

/* Reads the file at `path` ("-": standard input). `max_bytes` caps each dense matrix (0: the default);
 * a cap that would be exceeded, or a count that so short a file cannot hold, is refused before memory
 * is taken. Integers beyond 2^53 that a double cannot hold, numbers beyond a double's range, entries
 * given twice and an entry outside the matrix are errors; nan and inf are values like others.
 * ESP_SYNTAX: "file:line: expected ..., found ..."; ESP_NOT_FOUND, ESP_SYSTEM, ESP_LIMIT, ESP_NO_MEMORY,
 * ESP_INVALID (a Harwell-Boeing kind that is not supported: unassembled elements).
 * On success matrix_file_clear() frees; on failure nothing is held. */
enum esp_status matrix_load(const char *path, uint64_t max_bytes, struct matrix_file *file,
                            struct esp_error *error);
/* The same from memory; `name` stands for the file in messages. */
enum esp_status matrix_parse(const char *text, size_t length, const char *name, uint64_t max_bytes,
                             struct matrix_file *file, struct esp_error *error);
void matrix_file_clear(struct matrix_file *file);

/* A matrix as typed: [1, 2; 3, 4], rows between semicolons, elements between commas or blanks; complex ones
 * as 1+2i. [] is 0 x 0. ESP_INVALID names row and column. On success matrix_clear() frees. */
enum esp_status matrix_parse_inline(const char *text, struct matrix *matrix, struct esp_error *error);
/* One such element. False when the text is not one. */
bool matrix_parse_number(const char *text, double *re, double *im);

enum matrix_layout { LAYOUT_ARRAY, LAYOUT_COORDINATE };

/* Writes a Matrix Market file (general; real or complex; 17 significant digits, so that reading gives
 * the same bits back). The file appears whole or not at all (temporary name, then rename), except where
 * `path` is a pipe, a device or a symbolic link: they are written through. "-" is standard output, which
 * the caller has flushed. LAYOUT_COORDINATE leaves zeros out. */
enum esp_status matrix_save(const char *path, const struct matrix *matrix, enum matrix_layout layout,
                            struct esp_error *error);

/* Both tell the element in question (0-based) when the answer is false; row and col may be NULL. */
bool matrix_is_finite(const struct matrix *matrix, int64_t *row, int64_t *col);
/* Exactly A = A^T (complex: A = A^H), which includes being square. */
bool matrix_is_symmetric(const struct matrix *matrix, int64_t *row, int64_t *col);
/* Square, and every diagonal element real and > 0: necessary for being positive definite. */
bool matrix_has_positive_diagonal(const struct matrix *matrix);
/* Elements that are not zero. */
int64_t matrix_nonzeros(const struct matrix *matrix);
/* The largest row sum of absolute values. */
double matrix_norm_inf(const struct matrix *matrix);

/* The normwise backward error of the columns of X as solutions of A X = B, in infinity norms: the
 * largest over the columns of ||b - A x|| / (||A|| ||x|| + ||b||) (Rigal and Gaches 1967; Higham,
 * Accuracy and Stability, theorem 7.1). NaN when a residual is. ESP_INVALID when shapes or kinds differ. */
enum esp_status matrix_backward_error(const struct matrix *a, const struct matrix *x, const struct matrix *b,
                                      double *result, struct esp_error *error);

#endif
