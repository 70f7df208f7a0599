/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections of arrays, `a[size:start,end,skip]`: only the elements from start to end, each skip-th of them,
 * travel; the routine sees the whole array. */
#ifndef CORE_SECTION_H
#define CORE_SECTION_H

#include "core/problem/problem.h"
#include "util/text.h"

/* A section in one call. Dimensions are in the order of memory: the first varies fastest. */
struct section {
    uint32_t n_dims;
    uint32_t element; /* bytes of one element */
    int64_t dims[PROBLEM_MAX_DIMS];
    int64_t start[PROBLEM_MAX_DIMS], skip[PROBLEM_MAX_DIMS];
    int64_t count[PROBLEM_MAX_DIMS]; /* elements that travel, at least 1 */
};

/* Computes the section of argument `index`, which has argument.is_section, with these dimensions.
 * ESP_INVALID unless 0 <= start <= end < size and skip >= 1. */
enum esp_status problem_section(const struct problem *problem, uint32_t index,
                                const struct number *scope_values, const int64_t *dims,
                                struct section *section, struct esp_error *error);

/* Computes the padded layout of a matrix for a routine that receives leading(): columns are an odd number
 * of cache lines apart, so that the elements of a row do not share a few sets of a cache. Small, narrow
 * and very large matrices are not padded: dims[0] == count[0]. `dims` are those of the argument. */
void section_of_columns(const struct argument *argument, const int64_t *dims, struct section *section);

/* Return the number of elements that travel, and of the whole array. */
uint64_t section_count(const struct section *section);
uint64_t section_whole(const struct section *section);
/* Whether the section lies within its array, and the bytes of both fit 63 bits: for sections from other
 * processes. */
bool section_is_sane(const struct section *section);

/* section_gather() copies the elements of the section out of a whole array into consecutive memory;
 * section_scatter() copies them back. Either pointer may be unaligned. */
void section_gather(const struct section *section, const void *whole, void *elements);
void section_scatter(const struct section *section, const void *elements, void *whole);

/* Writes "[n, m:0,m - 1,2]"; nothing for a scalar. */
void argument_write_dims(struct text *text, const struct argument *argument);
/* Writes "index(n)", "signed-index(n)" for an array of indices. */
void argument_write_index(struct text *text, const struct argument *argument);

#endif
