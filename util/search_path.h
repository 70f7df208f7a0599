/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that are named without a folder, as execvp(3) and posix_spawnp(3) find them.
 */
#ifndef UTIL_SEARCH_PATH_H
#define UTIL_SEARCH_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* The folders that are searched, with colons between them: PATH, or what the system takes where there is
 * none. As long as the environment is as it is. */
const char *search_path(void);

/* Whether that is a file that can be executed. */
bool search_path_is_program(const char *path);

/* Finds it there, and writes where it is. False: there is none. */
bool search_path_find(const char *name, char *path, size_t size);

#endif
