/* SPDX-License-Identifier: Apache-2.0
 *
 * A small file that is replaced as a whole: after a crash or a power cut the old one is there, or the new
 * one.
 */
#ifndef UTIL_DURABLE_FILE_H
#define UTIL_DURABLE_FILE_H

#include "util/error.h"

#include <stdbool.h>
#include <stdio.h>

/* Replaces folder/name by what `write` writes (false: it could not), making the folder if it is not there.
 * When it returns ESP_OK, a power cut does not undo it. ESP_CONFIG: the path is too long; ESP_SYSTEM (a full
 * disk), ESP_INVALID (no regular file is there): the old file is still there. Waits for the disk. */
enum esp_status durable_file_replace(const char *folder, const char *name,
                                     bool (*write)(FILE *file, const void *arg), const void *arg,
                                     struct esp_error *error);
/* The path of that file. ESP_CONFIG: it is too long. `path` has PATH_MAX bytes. */
enum esp_status durable_file_path(const char *folder, const char *name, const char *suffix, char *path,
                                  struct esp_error *error);

#endif
