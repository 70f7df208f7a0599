/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens files that must be regular files: those of state directories and of folders of descriptions. A
 * FIFO there would block a daemon until a process writes into it, and a device has no end. */
#ifndef UTIL_REGULAR_FILE_H
#define UTIL_REGULAR_FILE_H

#include "util/error.h"

#include <stdio.h>
#include <sys/types.h>

/* Returns the kind of a file with that mode (of stat(2)) if it is no regular one, "a FIFO"; else NULL. */
const char *regular_file_kind(mode_t mode);

/* Calls open(2) with O_CLOEXEC, without blocking. -1: ESP_NOT_FOUND, ESP_SYSTEM, or ESP_INVALID for a file
 * that is not regular ("PATH: expected a regular file, found a FIFO"). A file made by O_CREAT has mode
 * 0666 less the umask. Any thread. */
int regular_file_descriptor(const char *path, int flags, struct esp_error *error);
/* Opens a stream to read ("r"), to read and write ("r+"), to append ("a") or to write anew ("w"). NULL:
 * errors as above. */
FILE *regular_file_open(const char *path, const char *mode, struct esp_error *error);

/* Checks that a file can be created at the path or replace the one there, as far as its folder shows. The
 * error names the file and the folder, not the temporary file or lock that would be created beside it.
 * ESP_NOT_FOUND, ESP_SYSTEM, ESP_INVALID (the path is no regular file). Any thread. */
enum esp_status regular_file_replaceable(const char *path, struct esp_error *error);

#endif
