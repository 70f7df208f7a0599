/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds Espalier's own libraries for workers (libespalier-*.so). */
#ifndef UTIL_OWN_LIBRARY_H
#define UTIL_OWN_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the path of the library `name`, if it is one of Espalier's own: as built beside this program, or
 * as installed. False when there is none. Any thread. */
bool own_library_path(const char *name, char *path, size_t size);

#endif
