/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of strings as files: a line for each.
 */
#ifndef COMMAND_LINES_H
#define COMMAND_LINES_H

#include "util/error.h"
#include <stddef.h>
#include <stdint.h>

struct lines {
    char **strings; /* that lead into the text */
    int64_t n;
    char *text;
};

/* The last one may do without its end. ESP_NOT_FOUND, ESP_INVALID (a byte 0), ESP_LIMIT. */
enum esp_status lines_read(const char *path, struct lines *lines, struct esp_error *error);
void lines_clear(struct lines *lines);

/* "-": to standard output. ESP_INVALID: a string has a line break in it, and nothing is written. */
enum esp_status lines_write(const char *path, char *const *strings, size_t n, struct esp_error *error);

#endif
