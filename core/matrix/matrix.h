/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices in files, recognised by their content (compressed by gzip as well): Matrix Market, Harwell-Boeing,
 * Rutherford-Boeing, NumPy's .npy, Octave's text and CSV; and what can be said about a matrix and about the
 * solution of a system. What a file stores as a sparse matrix stays one. The formats are the rows of a table
 * (matrix_format.h).
 *
 * Nothing here depends on the locale or holds state: any thread may call.
 */
#ifndef CORE_MATRIX_H
#define CORE_MATRIX_H

#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory that one matrix may take at most, unless the caller says otherwise. */
#define MATRIX_DEFAULT_MAX_BYTES (UINT64_C(8) << 30)

/* Dimensions that an array in a file has at most. */
#define MATRIX_MAX_DIMS 7

#define MATRIX_NOTE 320 /* characters of a note about a file */

/* Dense (starts == NULL): rows * cols elements, column after column. Sparse: compressed columns (CSC), which
 * are the compressed rows (CSR) of the transpose; the rows of a column ascend, and no place comes twice. */
struct matrix {
    int64_t rows, cols;
    bool is_complex;  /* each element is two doubles: real part, imaginary part */
    double *values;   /* never NULL in a valid matrix */
    int64_t *starts;  /* sparse: cols + 1 of them; column j has the entries starts[j] to starts[j + 1] - 1 */
    int64_t *indices; /* sparse: the row of each entry, from 0 */
    int64_t *wide;    /* dense, real: integers that a double does not hold (`values` has them rounded), at all
                       * other places 0; NULL: there are none */
};

/* A dense matrix of zeros. ESP_INVALID for a negative extent, ESP_LIMIT when more than `max_bytes` would be
 * needed (0: MATRIX_DEFAULT_MAX_BYTES), ESP_NO_MEMORY. On success matrix_clear() frees the values. */
enum esp_status matrix_init(struct matrix *matrix, int64_t rows, int64_t cols, bool is_complex,
                            uint64_t max_bytes, struct esp_error *error);
/* A sparse one with room for `entries`; all zero: starts, indices and values are for the caller to fill. */
enum esp_status matrix_init_sparse(struct matrix *matrix, int64_t rows, int64_t cols, int64_t entries,
                                   bool is_complex, uint64_t max_bytes, struct esp_error *error);
/* Frees the values; the matrix is all zero afterwards. NULL is fine. */
void matrix_clear(struct matrix *matrix);

static inline bool matrix_is_sparse(const struct matrix *matrix)
{
    return matrix->starts != NULL;
}
/* Values that are stored: entries of a sparse matrix, elements of a dense one. */
int64_t matrix_stored(const struct matrix *matrix);
/* Bytes of all stored values. */
size_t matrix_bytes(const struct matrix *matrix);
/* The element in that row and column, from 0. */
void matrix_element(const struct matrix *matrix, int64_t row, int64_t col, double *re, double *im);

/* A stored value as an integer: exactly, where it is one. */
static inline int64_t matrix_integer(const struct matrix *matrix, size_t index)
{
    return matrix->wide && matrix->wide[index] ? matrix->wide[index] : (int64_t)matrix->values[index];
}
/* Puts one there; the matrix is dense and real. ESP_NO_MEMORY. */
enum esp_status matrix_set_integer(struct matrix *matrix, size_t index, int64_t integer,
                                   struct esp_error *error);
/* ESP_INVALID tells an integer that a double does not hold, when there is one. */
enum esp_status matrix_check_doubles(const struct matrix *matrix, struct esp_error *error);

/* A dense matrix with the same elements. Errors as of matrix_init(). */
enum esp_status matrix_to_dense(const struct matrix *matrix, uint64_t max_bytes, struct matrix *dense,
                                struct esp_error *error);
/* A sparse one with the elements that are not zero (of a sparse one: with all that are stored). */
enum esp_status matrix_to_sparse(const struct matrix *matrix, struct matrix *sparse, struct esp_error *error);
/* Makes it dense, if it is not yet. Errors as of matrix_init(), then it is as it was. */
enum esp_status matrix_make_dense(struct matrix *matrix, uint64_t max_bytes, struct esp_error *error);
/* The transpose of a sparse matrix, also sparse: its columns are the rows of `matrix` (CSR). Without
 * conjugation. */
enum esp_status matrix_transpose_sparse(const struct matrix *matrix, struct matrix *transpose,
                                        struct esp_error *error);

enum matrix_field { FIELD_REAL, FIELD_INTEGER, FIELD_COMPLEX, FIELD_PATTERN };
enum matrix_symmetry { SYMMETRY_GENERAL, SYMMETRY_SYMMETRIC, SYMMETRY_SKEW, SYMMETRY_HERMITIAN };

const char *matrix_field_name(enum matrix_field field);
const char *matrix_symmetry_name(enum matrix_symmetry symmetry);

/* A row of the table of formats. */
struct matrix_format;
const char *matrix_format_name(const struct matrix_format *format); /* "Matrix Market" */
const char *matrix_format_word(const struct matrix_format *format); /* "mtx" */
/* The format that people call so ("mtx", "rb", "npy", ...: a usual ending of file names), or NULL. */
const struct matrix_format *matrix_format_find(const char *word);
/* By the ending of a file's name (x.npy, x.csv.gz), or NULL. */
const struct matrix_format *matrix_format_of_path(const char *path);
/* Whether matrix_save() without a format knows what to write there: a name without an ending is Matrix
 * Market. ESP_INVALID names the endings that there are. */
enum esp_status matrix_check_ending(const char *path, struct esp_error *error);
/* Whether such files have arrays of more than two dimensions. */
bool matrix_format_has_arrays(const struct matrix_format *format);
/* The formats one by one, from 0; NULL behind the last. */
const struct matrix_format *matrix_format_at(unsigned index);

/* What a file holds, and how it said it. */
struct matrix_file {
    const struct matrix_format *format;
    bool is_sparse;                /* only entries are written; else every value is */
    enum matrix_field field;       /* a pattern is read as ones where an entry is, integers as reals */
    bool is_unsigned;              /* Matrix Market: no integer may be negative */
    enum matrix_symmetry symmetry; /* as declared; `matrix` holds both triangles */
    bool is_vector;                /* NumPy's: one dimension; `matrix` is its one column */
    unsigned n_dims; /* NumPy's, with more than two: `matrix` has the first as rows, and all others */
    int64_t dims[MATRIX_MAX_DIMS]; /* as columns, the second dimension fastest; else n_dims is 0 */
    bool is_short;                 /* NumPy's: numbers of 32 bits (float, int32) */
    int64_t entries;               /* written in the file */
    char title[73], key[9];        /* Harwell-Boeing's, without trailing blanks; else "" */
    char note[MATRIX_NOTE];        /* what the user must be told about a file that was read, or "" */
    struct matrix matrix;          /* sparse when the file is */
    struct matrix rhs; /* dense right-hand sides in the same file; values == NULL: there are none */
};

/* How files are read. All zero: the defaults. */
struct matrix_reading {
    uint64_t max_bytes;  /* caps each matrix; 0: MATRIX_DEFAULT_MAX_BYTES */
    bool sum_duplicates; /* entries at one place are added up; otherwise the second one is an error */
    void (*tell)(
        const char *note); /* called with the note of a file that was read, if there is one; or NULL */
};

/* Reads the file at `path` ("-": standard input). A matrix beyond the cap, or a count that so short a file
 * cannot hold, is refused before memory is taken. These are errors: a content that no format explains
 * completely, a table of numbers whose file name has the ending of another format, an integer that a double
 * cannot hold (where the file says that it is an integer; in tables it is rounded as other numbers), a number
 * beyond a double's range, an entry outside the matrix, and an entry given twice (see struct matrix_reading).
 * nan and inf are values like others. ESP_SYNTAX: "file:line: expected ..., found ... (read as FORMAT)" (of a
 * binary file: "file: byte 10: ..."); also for a kind that is not supported (unassembled elements).
 * ESP_NOT_FOUND, ESP_SYSTEM, ESP_LIMIT, ESP_NO_MEMORY. `reading` may be NULL. On success matrix_file_clear()
 * frees; on failure nothing is held. */
enum esp_status matrix_load(const char *path, const struct matrix_reading *reading, struct matrix_file *file,
                            struct esp_error *error);
/* The same, also of arrays with three to MATRIX_MAX_DIMS dimensions, and of dense arrays with integers that
 * no double holds (matrix.wide), which matrix_load() refuses (ESP_SYNTAX). */
enum esp_status matrix_load_array(const char *path, const struct matrix_reading *reading,
                                  struct matrix_file *file, struct esp_error *error);
/* matrix_load(), then dense whatever the file is. */
enum esp_status matrix_load_dense(const char *path, const struct matrix_reading *reading,
                                  struct matrix_file *file, struct esp_error *error);
/* For who takes a file that announces more than its limit or memory holds for a wrong file: ESP_LIMIT and
 * ESP_NO_MEMORY become ESP_SYNTAX, in `error` too (may be NULL); others stay. */
enum esp_status matrix_file_fault(enum esp_status status, struct esp_error *error);
/* matrix_load_array() from memory; `name` stands for the file in messages. */
enum esp_status matrix_parse(const char *text, size_t length, const char *name,
                             const struct matrix_reading *reading, struct matrix_file *file,
                             struct esp_error *error);
void matrix_file_clear(struct matrix_file *file);

/* A matrix as typed: [1, 2; 3, 4], rows between semicolons, elements between commas or blanks; complex ones
 * as 1+2i. [] is 0 x 0. ESP_INVALID names row and column. On success matrix_clear() frees. */
enum esp_status matrix_parse_inline(const char *text, struct matrix *matrix, struct esp_error *error);
/* One such element. False when the text is not one. */
bool matrix_parse_number(const char *text, double *re, double *im);

/* A matrix as a file to be written: general, real or complex, sparse when it is. It shares the matrix's
 * memory. */
struct matrix_file matrix_as_file(const struct matrix *matrix);

/* Writes a file of `format` (NULL: by the ending of the path, else Matrix Market), compressed when the path
 * ends in .gz. Texts have 17 significant digits, so that reading gives the same bits back; of a symmetric
 * matrix one triangle is written. `is_sparse` chooses coordinates where a format has both; formats without
 * sparse matrices write all elements, and those without dense ones leave zeros out. The file appears whole or
 * not at all (temporary name, then rename), except where `path` is a pipe, a device or a symbolic link: they
 * are written through. "-" is standard output, which the caller has flushed. ESP_INVALID: the format has no
 * such matrix; ESP_SYSTEM. */
enum esp_status matrix_save(const char *path, const struct matrix_file *file,
                            const struct matrix_format *format, struct esp_error *error);

/* Both tests tell the element in question (0-based) when the answer is false; row and col may be NULL. */
bool matrix_is_finite(const struct matrix *matrix, int64_t *row, int64_t *col);
/* A = A^T (complex: A = A^H), which includes being square: exactly with epsilon 0, else up to the rounding of
 * numbers that are `epsilon` apart at 1, as a product A^T A is. */
bool matrix_is_symmetric(const struct matrix *matrix, double epsilon, int64_t *row, int64_t *col);
/* How far a(row,col) and a(col,row) of a square matrix may be apart for that: 64 epsilon times the largest of
 * |a(row,col)|, |a(row,row)| and |a(col,col)|. */
double matrix_asymmetry_bound(const struct matrix *matrix, double epsilon, int64_t row, int64_t col);
/* Square, and every diagonal element real (as above) and > 0: necessary for being positive definite. */
bool matrix_has_positive_diagonal(const struct matrix *matrix, double epsilon);
/* Elements that are not zero. */
int64_t matrix_nonzeros(const struct matrix *matrix);
/* The largest row sum of absolute values. */
double matrix_norm_inf(const struct matrix *matrix);

/* The normwise backward error of the columns of X as solutions of A X = B, in infinity norms: the
 * largest over the columns of ||b - A x|| / (||A|| ||x|| + ||b||) (Rigal and Gaches 1967; Higham,
 * Accuracy and Stability, theorem 7.1). NaN when a residual is. A may be sparse, X and B are dense.
 * ESP_INVALID when shapes or kinds differ. */
enum esp_status matrix_backward_error(const struct matrix *a, const struct matrix *x, const struct matrix *b,
                                      double *result, struct esp_error *error);

#endif
