/* SPDX-License-Identifier: Apache-2.0
 *
 * Between matrices as people have them and as descriptions want them stored: packed, banded, compressed.
 */
#ifndef CORE_VALUES_STORAGE_H
#define CORE_VALUES_STORAGE_H

#include "core/values/values.h"

/* A matrix, or the array of three and more dimensions that it stands for. */
struct given_array {
    const struct matrix *matrix;
    unsigned n_dims; /* 0: it is the matrix */
    const int64_t *dims;
};

/* The extents of argument `index` are those of what is given. ESP_INVALID when it cannot be that argument. */
enum esp_status values_take_extents(struct values *values, size_t index, const struct given_array *given,
                                    struct esp_error *error);
/* Where, in memory, the element is that comes as number k when the first dimension is fastest. */
size_t values_place(const struct esp_problem_argument *formal, const struct esp_argument *extents, size_t k);
/* Tells what the limit of a file that was too large (ESP_LIMIT) is set with; returns the status. */
enum esp_status values_too_large(enum esp_status status, struct esp_error *error);
/* Whether it is a [], which may stand for any empty array. */
bool values_is_nothing(const struct matrix *matrix, const struct esp_problem_argument *formal);
/* esp_arguments_complete(), with such ones taken for what the others ask for. */
enum esp_status values_complete(struct values *values, struct esp_error *error);

/* Whether the argument is an array of characters that are letters, one text or one in each column; and the
 * length of such a text. */
bool values_is_characters(const struct values *values, size_t index);
size_t characters_length(const char *text, size_t size);

/* The argument as core/problem/problem.h describes it. */
const struct argument *values_argument(const struct values *values, size_t index);

/* The number that argument `index` has in the description. */
uint32_t values_described_index(const struct values *values, size_t index);

/* The values of the scalars that are known, by the description's indices (PROBLEM_MAX_ARGUMENTS of them). */
void values_scope(const struct values *values, struct number *scope);

/* Argument `index` is csc or csr: sets its elements, and the arrays of pointers and of numbers, from the
 * matrix. ESP_INVALID when these were given too, or an element does not fit its type. */
enum esp_status values_compress(struct values *values, size_t index, const struct matrix *matrix,
                                struct esp_error *error);

/* Before sizes are completed: numbers of diagonals that follow from the band matrices that were given. */
enum esp_status values_measure_bands(struct values *values, struct esp_error *error);

/* Argument `index` is packed or banded, the matrix sparse: nothing is made dense. A copy waits for
 * values_pack(). ESP_INVALID: it cannot be that argument. */
enum esp_status values_take_sparse(struct values *values, size_t index, const struct matrix *matrix,
                                   struct esp_error *error);

/* Where elements of argument `index`, which is packed or banded, lie when sizes are known. */
enum esp_status values_layout(const struct values *values, size_t index, struct layout *layout,
                              struct esp_error *error);

/* When sizes are known: of a symmetric or Hermitian matrix of which the problem reads one triangle, the other
 * one agrees up to rounding, or is not there (zeros, NaN), and the diagonal of a Hermitian matrix is real.
 * ESP_INVALID names a pair that differs, or an element of the diagonal. */
enum esp_status values_check_halves(const struct values *values, size_t index, struct esp_error *error);

/* After that: matrices that were given in full become packed or banded. ESP_INVALID names an element that is
 * not zero and has no place. */
enum esp_status values_pack(struct values *values, struct esp_error *error);

/* Elements that are stored of an array whose extents are known. ESP_INVALID when they overflow. */
enum esp_status values_count(const struct values *values, size_t index, uint64_t *count,
                             struct esp_error *error);

/* A csc or csr argument as a sparse matrix, its rows ascending. ESP_FAILED: the routine left pointers or
 * numbers that make no matrix. matrix_clear() frees. */
enum esp_status values_sparse(const struct values *values, size_t index, struct matrix *matrix,
                              struct esp_error *error);

/* Elements of typed memory (values.c, values_out.c). The first is false when the type cannot hold the value.
 */
bool value_store(enum esp_type type, void *memory, size_t index, double re, double im);
/* "data:", in front of an identity or a mode. */
#define VALUES_DATA "data:"
bool values_is_data(const char *word);
/* Takes the datum for an input: its extents are asked of the platform. ESP_NOT_FOUND, ESP_INVALID. */
enum esp_status values_take_datum(struct values *values, size_t index, const char *word,
                                  struct esp_error *error);
/* The same of one of which the extents are known, "ID" or "ID[section]": nobody is asked. */
enum esp_status values_give_datum(struct values *values, size_t index, const char *reference,
                                  enum esp_type type, int64_t rows, int64_t cols, struct esp_error *error);
/* "data:" or "data:persistent": the output stays on the server. */
enum esp_status values_keep(struct values *values, size_t index, const char *word, struct esp_error *error);
/* Of an input that is a datum: memory for what comes back. */
enum esp_status values_prepare_datum(struct values *values, size_t index, struct esp_error *error);

void value_load(enum esp_type type, const void *memory, size_t index, double *re, double *im);
/* Between typed memory and the stored values of a dense matrix, of complex numbers when the type is; integers
 * of 64 bits exactly. The first is false when the type cannot hold the value. */
bool value_store_element(enum esp_type type, void *memory, size_t to, const struct matrix *matrix,
                         size_t from);
enum esp_status value_load_element(enum esp_type type, const void *memory, size_t from, struct matrix *matrix,
                                   size_t to, struct esp_error *error);
/* Zeroed memory for an argument, as its data. */
enum esp_status value_memory(struct values *values, size_t index, size_t bytes, struct esp_error *error);

/* Room for an output whose extents are known, as -o says what is wanted. */
enum esp_status values_prepare_output(struct values *values, size_t index, struct esp_error *error);

/* ---- core/values/values_take.c ---- */

/* The value of that argument, as somebody wrote it. ESP_INVALID and what reading its file gives. */
enum esp_status value_take(struct values *values, size_t index, const char *text, struct esp_error *error);
/* One that is an array already. */
enum esp_status value_take_matrix(struct values *values, size_t index, const struct given_array *given,
                                  struct esp_error *error);

#endif
