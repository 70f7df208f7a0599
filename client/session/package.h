/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes out to the program in one piece: a struct or an array, and behind it all that it points to.
 */
#ifndef CLIENT_PACKAGE_H
#define CLIENT_PACKAGE_H

#include "util/arena.h"

/* `bytes` of zeroed memory with an arena of its own, or NULL. */
void *package_create(size_t bytes);
struct arena *package_arena(void *payload);
/* NULL is nothing to do. */
void package_destroy(void *payload);

/* A copy of the text in the package's arena; NULL without memory, and for NULL. */
const char *package_text(void *payload, const char *text);

#endif
