/* SPDX-License-Identifier: Apache-2.0
 *
 * "Did you mean": the known name nearest to one that is not known.
 */
#ifndef UTIL_NAMES_H
#define UTIL_NAMES_H

#include <stddef.h>

/* The fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, or any
 * number above `most` when it takes more than that. The case of letters does not count. */
size_t names_distance(const char *a, const char *b, size_t most);

/* The candidate that is probably meant by `name` (a third of its letters wrong at most), or NULL. Among
 * equals the first. */
const char *names_closest(const char *name, const char *const *candidates, size_t n_candidates);

/* The same for names that may be short: of one or two letters only the case may be wrong, as every other one
 * is near. */
const char *names_closest_word(const char *name, const char *const *candidates, size_t n_candidates);

#endif
