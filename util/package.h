/* SPDX-License-Identifier: Apache-2.0
 *
 * A package: one allocation with an arena behind it, so that a struct or an array and all that it points to
 * are freed together. The caller sees only the payload.
 */
#ifndef UTIL_PACKAGE_H
#define UTIL_PACKAGE_H

#include "util/arena.h"

/* Returns `bytes` of zeroed memory with an empty arena, or NULL without memory. package_destroy() frees it.
 */
void *package_create(size_t bytes);
/* Returns the arena of the package. Memory from it lives as long as the package. */
struct arena *package_arena(void *payload);
/* Frees the payload and its arena. Does nothing for NULL. */
void package_destroy(void *payload);

/* Copies the text into the package's arena. Returns NULL without memory, and for NULL. */
const char *package_text(void *payload, const char *text);

#endif
