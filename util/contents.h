/* SPDX-License-Identifier: Apache-2.0
 *
 * The contents of files that travel as arguments.
 */
#ifndef UTIL_CONTENTS_H
#define UTIL_CONTENTS_H

#include "util/error.h"
#include <stdint.h>

/* Opens a regular file for reading; its size is what it is now. ESP_NOT_FOUND, ESP_SYNTAX (a folder, a pipe),
 * ESP_SYSTEM. Waits for nobody. */
enum esp_status contents_open(const char *path, int *file, uint64_t *bytes, struct esp_error *error);

/* Reads a whole regular file into malloc'ed memory (never NULL on success). ESP_NOT_FOUND, ESP_SYNTAX
 * (a folder, a pipe), ESP_SYSTEM, ESP_NO_MEMORY. Waits for nobody. */
enum esp_status contents_load(const char *path, void **data, uint64_t *bytes, struct esp_error *error);

/* Reads a text file of at most 64 MB into malloc'ed memory. ESP_INVALID: the file has a zero byte; ESP_LIMIT.
 */
enum esp_status contents_load_text(const char *path, char **text, struct esp_error *error);

/* Writes the file: first under a temporary name beside it, so that nobody sees half of it; devices and pipes
 * are written to as they are. ESP_SYSTEM. */
enum esp_status contents_save(const char *path, const void *data, uint64_t bytes, struct esp_error *error);

#endif
