/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder that is made together with the folders above it.
 */
#ifndef UTIL_FOLDERS_H
#define UTIL_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the folder `path` and the missing folders above it, each for this user alone (mode 0700). The first
 * `there` bytes of the path are taken to exist. True: the folder is there, made now or before. False with
 * errno: EPERM, when the lowest folder that exists belongs to another user than root or this one, who could
 * exchange what is made in it. Any thread. */
bool folders_make(const char *path, size_t there);

#endif
