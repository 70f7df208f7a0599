/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of espalier-crd: converts values of arguments to and from files of a command, in the formats
 * of core/problem/problem_command.h. */
#ifndef SED_CRD_VALUES_H
#define SED_CRD_VALUES_H

#include "sed/pool/ring.h"
#include <stdio.h>

/* Writes the value at `value`. The caller checks ferror(stream). */
void value_write(FILE *stream, const struct ring_file *file, const void *value);

/* Reads all numbers of FORMAT_TEXT from *at, and moves *at past them; the bytes of FORMAT_RAW; the matrix
 * of FORMAT_MATRIX_MARKET. `name` is the file's name in messages. ESP_FAILED says what was expected and
 * found. */
enum esp_status value_read(const char **at, const char *end, const char *name, const struct ring_file *file,
                           void *value, struct esp_error *error);

/* ESP_FAILED when more than white space is left. */
enum esp_status value_read_rest(const char *at, const char *end, const char *name, struct esp_error *error);

#endif
