/* SPDX-License-Identifier: Apache-2.0
 *
 * Internal to what reads and writes NumPy's array files:
 *
 *     matrix_npy.c   reading, and writing, also a file whose elements come later
 *     matrix_view.c  elements where they lie
 */
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

/* All that the header says, at which `lines` stands: file->matrix gets its extents and no values. `*data` is
 * where the elements begin. ESP_SYNTAX, ESP_INVALID. */
enum esp_status npy_parse_head(struct lines *lines, struct npy *npy, struct matrix_file *file,
                               const char **data, struct esp_error *error);
/* Whether behind `data` there are as many bytes as so many elements have. ESP_SYNTAX. */
enum esp_status npy_check_size(const struct lines *lines, const struct npy *npy, const char *data,
                               int64_t rows, int64_t cols, struct esp_error *error);
/* Where the element in that row and column of a matrix of so many lies in the file, counted in elements. */
int64_t npy_place(const struct npy *npy, int64_t rows, int64_t cols, int64_t row, int64_t col);
/* The element at `raw` becomes number `to` of the matrix. ESP_SYNTAX: 64 bits do not hold it; ESP_NO_MEMORY.
 */
enum esp_status npy_load_element(const struct lines *lines, const struct npy *npy, const char *raw,
                                 struct matrix *matrix, size_t to, struct esp_error *error);

#endif
