/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that are made up: A=rand, A=rand(n,n), A=rand:7. The same words give the same numbers on every
 * machine; arguments of other names have others.
 */
#ifndef CORE_VALUES_RANDOM_H
#define CORE_VALUES_RANDOM_H

#include "core/values/values.h"

/* Whether the text asks for such an array where an array of numbers is wanted. */
bool values_is_random(const struct esp_problem_argument *formal, const char *text);

/* Notes what is asked for. ESP_INVALID: it is not understood. */
enum esp_status values_take_random(struct values *values, size_t index, const char *text,
                                   struct esp_error *error);

/* Makes those that can be made: before sizes are known those that tell their extents, afterwards all.
 * ESP_INVALID: an extent is not known or the array is compressed; ESP_LIMIT: more than the limit. */
enum esp_status values_make_random(struct values *values, bool sizes_are_known, struct esp_error *error);

/* One as a matrix (matrix_clear() frees), when its extents follow from the scalars and arrays that are given:
 * dims[ESP_MAX_DIMS] has them, and the matrix all but the first as its columns. Of an argument that is
 * positive definite the matrix is. */
enum esp_status values_random_matrix(const struct values *values, size_t index, const char *text,
                                     int64_t *dims, struct matrix *matrix, struct esp_error *error);

#endif
