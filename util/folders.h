/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates a folder together with the missing folders above it. */
#ifndef UTIL_FOLDERS_H
#define UTIL_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the folder `path` and the missing folders above it, each for this user alone (mode 0700). The
 * first `there` bytes of the path are assumed to exist. True: the folder exists, made now or before. False
 * with errno: EPERM, when the lowest existing folder belongs to another user than root or this one,
 * because that user could exchange what is made in it. Any thread. */
bool folders_make(const char *path, size_t there);

#endif
