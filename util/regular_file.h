/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that nothing but a regular file may be: those of state directories and of folders of descriptions. A
 * FIFO there would hold a daemon up until somebody writes into it, and a device has no end.
 */
#ifndef UTIL_REGULAR_FILE_H
#define UTIL_REGULAR_FILE_H

#include "util/error.h"

#include <stdio.h>
#include <sys/types.h>

/* What a file of that mode (of stat(2)) is in place of a regular one, "a FIFO"; NULL: it is one. */
const char *regular_file_kind(mode_t mode);

/* open(2) with O_CLOEXEC, which waits for nobody. -1: ESP_NOT_FOUND, ESP_SYSTEM, or ESP_INVALID for what is
 * no regular file ("PATH: expected a regular file, found a FIFO"). A file that O_CREAT makes has mode 0666
 * less the umask. Any thread. */
int regular_file_descriptor(const char *path, int flags, struct esp_error *error);
/* The same as a stream to read ("r"), to read and write ("r+"), to write at its end ("a") or anew ("w").
 * NULL: as above.
 */
FILE *regular_file_open(const char *path, const char *mode, struct esp_error *error);

/* Whether a file can take the place of that one, or be new there, so far as its folder tells. The texts name
 * it and the folder, and not the temporary file or lock beside it that could not be made. ESP_NOT_FOUND,
 * ESP_SYSTEM, ESP_INVALID (what is there is no regular file). Any thread. */
enum esp_status regular_file_replaceable(const char *path, struct esp_error *error);

#endif
