/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections of arrays, `a[size:start,end,skip]`: of an array that a routine sees whole, only the elements
 * from start to end, each skip-th of them, travel.
 */
#ifndef CORE_SECTION_H
#define CORE_SECTION_H

#include "core/problem/problem.h"
#include "util/text.h"

/* A section in one call. Dimensions in the order of memory: the first varies fastest. */
struct section {
    uint32_t n_dims;
    uint32_t element; /* bytes of one */
    int64_t dims[PROBLEM_MAX_DIMS];
    int64_t start[PROBLEM_MAX_DIMS], skip[PROBLEM_MAX_DIMS];
    int64_t count[PROBLEM_MAX_DIMS]; /* elements that travel, at least 1 */
};

/* The section of argument `index`, one with argument.is_section, whose dimensions are these. ESP_INVALID
 * unless 0 <= start <= end < size and skip >= 1. */
enum esp_status problem_section(const struct problem *problem, uint32_t index,
                                const struct number *scope_values, const int64_t *dims,
                                struct section *section, struct esp_error *error);

/* A matrix as a routine gets it that is told by leading() how far its columns lie apart: an odd number of
 * cache lines, so that the elements of a row do not have to share a few sets of a cache. Small, narrow and
 * very large ones stay as they are: dims[0] == count[0]. `dims` are those of the argument. */
void section_of_columns(const struct argument *argument, const int64_t *dims, struct section *section);

/* Elements that travel, and elements of the whole array. */
uint64_t section_count(const struct section *section);
uint64_t section_whole(const struct section *section);
/* Whether it lies within its array, and both can be counted in 63 bits of bytes: for one that others wrote.
 */
bool section_is_sane(const struct section *section);

/* Copies the elements of the section out of a whole array, one behind the other, and back to their places.
 * Either may be unaligned. */
void section_gather(const struct section *section, const void *whole, void *elements);
void section_scatter(const struct section *section, const void *elements, void *whole);

/* "[n, m:0,m - 1,2]"; nothing of a scalar. */
void argument_write_dims(struct text *text, const struct argument *argument);
/* "index(n)", "signed-index(n)", of an array of indices. */
void argument_write_index(struct text *text, const struct argument *argument);

#endif
