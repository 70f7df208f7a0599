/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds programs that are named without a folder, like execvp(3) and posix_spawnp(3). */
#ifndef UTIL_SEARCH_PATH_H
#define UTIL_SEARCH_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the searched folders, separated by colons: PATH, or the system's default. Valid until the
 * environment changes. */
const char *search_path(void);

/* Whether the path is an executable file. */
bool search_path_is_program(const char *path);

/* Finds the program and writes its path. False: there is none. */
bool search_path_find(const char *name, char *path, size_t size);

#endif
