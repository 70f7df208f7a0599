/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices in files, recognised by their content (also compressed by gzip): Matrix Market, Harwell-Boeing,
 * Rutherford-Boeing, NumPy's .npy, Octave's text and CSV; and properties of matrices and of solutions of
 * systems. A sparse matrix in a file stays sparse in memory. The formats are the rows of a table
 * (matrix_format.h).
 *
 * Independent of the locale, and stateless: any thread may call. */
#ifndef CORE_MATRIX_H
#define CORE_MATRIX_H

#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Default for the most bytes of one matrix. */
#define MATRIX_DEFAULT_MAX_BYTES (UINT64_C(8) << 30)

/* Most dimensions of an array in a file. */
#define MATRIX_MAX_DIMS 7

#define MATRIX_NOTE 320 /* characters of a note about a file */

/* Dense (starts == NULL): rows * cols elements, column after column. Sparse: compressed columns (CSC),
 * which are the compressed rows (CSR) of the transpose; the rows of a column ascend, without repetitions. */
struct matrix {
    int64_t rows, cols;
    bool is_complex;  /* each element is two doubles: real part, imaginary part */
    double *values;   /* never NULL in a valid matrix */
    int64_t *starts;  /* sparse: cols + 1 of them; column j has the entries starts[j] to starts[j + 1] - 1 */
    int64_t *indices; /* sparse: the row of each entry, from 0 */
    int64_t *wide; /* dense, real: integers that a double cannot represent (`values` has them rounded), 0 for
                      other elements; NULL: there are none */
};

/* A dense matrix of zeros. ESP_INVALID for a negative extent, ESP_LIMIT when more than `max_bytes` would be
 * needed (0: MATRIX_DEFAULT_MAX_BYTES), ESP_NO_MEMORY. On success matrix_clear() frees the values. */
enum esp_status matrix_init(struct matrix *matrix, int64_t rows, int64_t cols, bool is_complex,
                            uint64_t max_bytes, struct esp_error *error);
/* Makes a sparse matrix with room for `entries`; all zero: the caller fills starts, indices and values. */
enum esp_status matrix_init_sparse(struct matrix *matrix, int64_t rows, int64_t cols, int64_t entries,
                                   bool is_complex, uint64_t max_bytes, struct esp_error *error);
/* Frees the values; the matrix is all zero afterwards. NULL is ignored. */
void matrix_clear(struct matrix *matrix);

static inline bool matrix_is_sparse(const struct matrix *matrix)
{
    return matrix->starts != NULL;
}
/* Returns the number of stored values: entries of a sparse matrix, elements of a dense one. */
int64_t matrix_stored(const struct matrix *matrix);
/* Bytes of all stored values. */
size_t matrix_bytes(const struct matrix *matrix);
/* The element in that row and column, from 0. */
void matrix_element(const struct matrix *matrix, int64_t row, int64_t col, double *re, double *im);

/* Returns a stored value as an integer: exact if it is one. */
static inline int64_t matrix_integer(const struct matrix *matrix, size_t index)
{
    return matrix->wide && matrix->wide[index] ? matrix->wide[index] : (int64_t)matrix->values[index];
}
/* Stores an integer; the matrix is dense and real. ESP_NO_MEMORY. */
enum esp_status matrix_set_integer(struct matrix *matrix, size_t index, int64_t integer,
                                   struct esp_error *error);
/* ESP_INVALID names an integer that a double cannot represent, if there is one. */
enum esp_status matrix_check_doubles(const struct matrix *matrix, struct esp_error *error);

/* Makes a dense matrix with the same elements. Errors as for matrix_init(). */
enum esp_status matrix_to_dense(const struct matrix *matrix, uint64_t max_bytes, struct matrix *dense,
                                struct esp_error *error);
/* Makes a sparse matrix with the elements that are not zero (from a sparse one: all stored elements). */
enum esp_status matrix_to_sparse(const struct matrix *matrix, struct matrix *sparse, struct esp_error *error);
/* Makes the matrix dense in place. Errors as for matrix_init(); then it is unchanged. */
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
/* Finds a format by its word ("mtx", "rb", "npy", ...: a usual ending of file names), or NULL. */
const struct matrix_format *matrix_format_find(const char *word);
/* Finds a format by the ending of a file's name (x.npy, x.csv.gz), or NULL. */
const struct matrix_format *matrix_format_of_path(const char *path);
/* Whether matrix_save() can choose a format for the path: a name without an ending is Matrix Market.
 * ESP_INVALID lists the endings. */
enum esp_status matrix_check_ending(const char *path, struct esp_error *error);
/* Whether files of the format can have arrays of more than two dimensions. */
bool matrix_format_has_arrays(const struct matrix_format *format);
/* Returns format number `index`, from 0; NULL after the last. */
const struct matrix_format *matrix_format_at(unsigned index);

/* The contents of a file, and its form there. */
struct matrix_file {
    const struct matrix_format *format;
    bool is_sparse;                /* the file lists entries; else every value */
    enum matrix_field field;       /* a pattern is read as ones, integers as reals */
    bool is_unsigned;              /* Matrix Market: no integer may be negative */
    enum matrix_symmetry symmetry; /* as declared; `matrix` holds both triangles */
    bool is_vector;                /* NumPy's: one dimension; `matrix` is its one column */
    unsigned n_dims; /* NumPy's, with more than two: `matrix` has the first as rows, and all others */
    int64_t dims[MATRIX_MAX_DIMS]; /* as columns, the second dimension fastest; else n_dims is 0 */
    bool is_short;                 /* NumPy's: numbers of 32 bits (float, int32) */
    int64_t entries;               /* written in the file */
    char title[73], key[9];        /* Harwell-Boeing's, without trailing blanks; else "" */
    char note[MATRIX_NOTE];        /* a note for the user about the file, or "" */
    struct matrix matrix;          /* sparse when the file is */
    struct matrix rhs; /* dense right-hand sides in the same file; values == NULL: there are none */
};

/* How files are read. All zero: the defaults. */
struct matrix_reading {
    uint64_t max_bytes;  /* caps each matrix; 0: MATRIX_DEFAULT_MAX_BYTES */
    bool sum_duplicates; /* repeated entries are added up; otherwise they are an error */
    void (*tell)(
        const char *note); /* called with the note of a file that was read, if there is one; or NULL */
};

/* Reads the file at `path` ("-": standard input). A matrix beyond the cap, or a count that does not fit
 * the length of the file, is refused before memory is allocated. Errors are: a content that no format
 * explains completely, a table of numbers with the ending of another format, an integer that a double
 * cannot represent (if the file declares integers; in tables it is rounded), a number beyond a double's
 * range, an entry outside the matrix, and a repeated entry (see struct matrix_reading). nan and inf are
 * valid values. ESP_SYNTAX: "file:line: expected ..., found ... (read as FORMAT)" (for a binary file:
 * "file: byte 10: ..."); also for an unsupported kind (unassembled elements). ESP_NOT_FOUND, ESP_SYSTEM,
 * ESP_LIMIT, ESP_NO_MEMORY. `reading` may be NULL. On success matrix_file_clear() frees; on failure
 * nothing is allocated. */
enum esp_status matrix_load(const char *path, const struct matrix_reading *reading, struct matrix_file *file,
                            struct esp_error *error);
/* Like matrix_load(), and also reads arrays with three to MATRIX_MAX_DIMS dimensions, and dense arrays
 * with integers that no double can represent (matrix.wide); matrix_load() refuses both (ESP_SYNTAX). */
enum esp_status matrix_load_array(const char *path, const struct matrix_reading *reading,
                                  struct matrix_file *file, struct esp_error *error);
/* Calls matrix_load(), then makes the matrix dense. */
enum esp_status matrix_load_dense(const char *path, const struct matrix_reading *reading,
                                  struct matrix_file *file, struct esp_error *error);
/* For callers that treat a file announcing more than the limit or memory as malformed: ESP_LIMIT and
 * ESP_NO_MEMORY become ESP_SYNTAX, also in `error` (may be NULL); others stay. */
enum esp_status matrix_file_fault(enum esp_status status, struct esp_error *error);
/* Like matrix_load_array(), from memory; messages call it `name`. */
enum esp_status matrix_parse(const char *text, size_t length, const char *name,
                             const struct matrix_reading *reading, struct matrix_file *file,
                             struct esp_error *error);
void matrix_file_clear(struct matrix_file *file);

/* Parses a typed matrix: [1, 2; 3, 4], rows between semicolons, elements between commas or blanks; complex
 * ones as 1+2i. [] is 0 x 0. ESP_INVALID names row and column. On success matrix_clear() frees. */
enum esp_status matrix_parse_inline(const char *text, struct matrix *matrix, struct esp_error *error);
/* Parses one such element. False when the text is malformed. */
bool matrix_parse_number(const char *text, double *re, double *im);

/* Prepares a matrix for writing: general, real or complex, sparse if it is. It shares the matrix's memory. */
struct matrix_file matrix_as_file(const struct matrix *matrix);

/* Writes a file of `format` (NULL: by the ending of the path, else Matrix Market), compressed when the
 * path ends in .gz. Texts have 17 significant digits, so that reading returns the same bits; of a
 * symmetric matrix one triangle is written. `is_sparse` chooses coordinates if a format has both forms.
 * Formats without sparse matrices write all elements; formats without dense ones leave zeros out. The file
 * appears completely or not at all (temporary name, then rename), unless `path` is a pipe, a device or a
 * symbolic link, which are written directly. "-" is standard output, which the caller has flushed.
 * ESP_INVALID: the format cannot represent the matrix; ESP_SYSTEM. */
enum esp_status matrix_save(const char *path, const struct matrix_file *file,
                            const struct matrix_format *format, struct esp_error *error);

/* If the answer is false, both tests set row and col (0-based; may be NULL) to the offending element. */
bool matrix_is_finite(const struct matrix *matrix, int64_t *row, int64_t *col);
/* Whether A = A^T (complex: A = A^H), which includes being square: exactly with epsilon 0, else up to
 * rounding errors for a precision of `epsilon`, as in a product A^T A. */
bool matrix_is_symmetric(const struct matrix *matrix, double epsilon, int64_t *row, int64_t *col);
/* Returns the largest difference of a(row,col) and a(col,row) of a square matrix for that: 64 epsilon
 * times the largest of |a(row,col)|, |a(row,row)| and |a(col,col)|. */
double matrix_asymmetry_bound(const struct matrix *matrix, double epsilon, int64_t row, int64_t col);
/* Whether the matrix is square, and every diagonal element real (as above) and > 0: necessary for being
 * positive definite. */
bool matrix_has_positive_diagonal(const struct matrix *matrix, double epsilon);
/* Counts the elements that are not zero. */
int64_t matrix_nonzeros(const struct matrix *matrix);
/* Returns the largest row sum of absolute values. */
double matrix_norm_inf(const struct matrix *matrix);

/* The normwise backward error of the columns of X as solutions of A X = B, in infinity norms: the
 * largest over the columns of ||b - A x|| / (||A|| ||x|| + ||b||) (Rigal and Gaches 1967; Higham,
 * Accuracy and Stability, theorem 7.1). NaN when a residual is. A may be sparse, X and B are dense.
 * ESP_INVALID when shapes or kinds differ. */
enum esp_status matrix_backward_error(const struct matrix *a, const struct matrix *x, const struct matrix *b,
                                      double *result, struct esp_error *error);

/* The error of the columns of X as least squares solutions of A X = B, in infinity norms: the largest over
 * the columns of ||A^H (b - A x)|| / (||A^H|| (||A|| ||x|| + ||b||)), of the normal equations. A may have any
 * rank and shape. Otherwise as matrix_backward_error(). */
enum esp_status matrix_fit_error(const struct matrix *a, const struct matrix *x, const struct matrix *b,
                                 double *result, struct esp_error *error);

#endif
