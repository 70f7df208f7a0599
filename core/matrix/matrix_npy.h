/* SPDX-License-Identifier: Apache-2.0
 *
 * Internal to the code that reads and writes NumPy's array files:
 *
 *     matrix_npy.c   reading and writing, also of a file whose elements are filled in later
 *     matrix_view.c  access to elements in a mapped file */
#ifndef CORE_MATRIX_NPY_H
#define CORE_MATRIX_NPY_H

#include "core/matrix/matrix_format.h"

#define NPY_MAGIC       "\x93NUMPY"
#define NPY_MAGIC_BYTES 6

struct npy {
    char kind; /* f, c, i, u, b */
    unsigned size;
    bool swapped; /* other than this machine's byte order */
    bool fortran_order;
    unsigned n_dims;
    int64_t dims[MATRIX_MAX_DIMS];
};

/* Parses the header that `lines` is at: file->matrix gets its extents and no values. `*data` is where the
 * elements begin. ESP_SYNTAX, ESP_INVALID. */
enum esp_status npy_parse_head(struct lines *lines, struct npy *npy, struct matrix_file *file,
                               const char **data, struct esp_error *error);
/* Checks that the bytes after `data` suffice for the elements. ESP_SYNTAX. */
enum esp_status npy_check_size(const struct lines *lines, const struct npy *npy, const char *data,
                               int64_t rows, int64_t cols, struct esp_error *error);
/* Returns the position in the file, in elements, of the element in that row and column of a rows x cols
 * matrix. */
int64_t npy_place(const struct npy *npy, int64_t rows, int64_t cols, int64_t row, int64_t col);
/* Stores the element at `raw` as number `to` of the matrix. ESP_SYNTAX: it exceeds 64 bits; ESP_NO_MEMORY. */
enum esp_status npy_load_element(const struct lines *lines, const struct npy *npy, const char *raw,
                                 struct matrix *matrix, size_t to, struct esp_error *error);

#endif
