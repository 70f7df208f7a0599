/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces a small file as a whole: after a crash or a power cut either the old or the new one is there. */
#ifndef UTIL_DURABLE_FILE_H
#define UTIL_DURABLE_FILE_H

#include "util/error.h"

#include <stdbool.h>
#include <stdio.h>

/* Replaces folder/name by the output of `write` (false: it failed), creating the folder if needed. After
 * ESP_OK, a power cut does not undo it. ESP_CONFIG: the path is too long; ESP_SYSTEM (a full disk),
 * ESP_INVALID (the path is no regular file): the old file is unchanged. Waits for the disk. */
enum esp_status durable_file_replace(const char *folder, const char *name,
                                     bool (*write)(FILE *file, const void *arg), const void *arg,
                                     struct esp_error *error);
/* Writes the path of that file. ESP_CONFIG: it is too long. `path` has PATH_MAX bytes. */
enum esp_status durable_file_path(const char *folder, const char *name, const char *suffix, char *path,
                                  struct esp_error *error);

#endif
