/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside espalier-crd: the values of arguments as files of a command, in the formats of
 * core/problem/problem_command.h.
 */
#ifndef SED_CRD_VALUES_H
#define SED_CRD_VALUES_H

#include "sed/pool/ring.h"
#include <stdio.h>

/* Writes the value, which lies at `value`. Whether that succeeded is told by ferror(stream). */
void value_write(FILE *stream, const struct ring_file *file, const void *value);

/* Reads all numbers of FORMAT_TEXT from where *at stands, which moves behind them; the bytes of FORMAT_RAW;
 * the matrix of FORMAT_MATRIX_MARKET. `name` stands for the file in messages. ESP_FAILED tells what was
 * expected and found. */
enum esp_status value_read(const char **at, const char *end, const char *name, const struct ring_file *file,
                           void *value, struct esp_error *error);

/* ESP_FAILED when there is more than white space left. */
enum esp_status value_read_rest(const char *at, const char *end, const char *name, struct esp_error *error);

#endif
