/* SPDX-License-Identifier: Apache-2.0
 *
 * "Did you mean": finds the known name most similar to an unknown one. */
#ifndef UTIL_NAMES_H
#define UTIL_NAMES_H

#include <stddef.h>

/* Returns the fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`,
 * or any number above `most` when it needs more than that. Ignores case. */
size_t names_distance(const char *a, const char *b, size_t most);

/* Returns the candidate most similar to `name` (at most a third of its letters wrong), or NULL. Among
 * equals the first. */
const char *names_closest(const char *name, const char *const *candidates, size_t n_candidates);

/* Like names_closest(), for names that may be short: for names of one or two letters only the case may
 * differ, because every other short name is similar. */
const char *names_closest_word(const char *name, const char *const *candidates, size_t n_candidates);

#endif
