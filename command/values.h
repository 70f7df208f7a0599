/* SPDX-License-Identifier: Apache-2.0
 *
 * Results as the command shows them: tables, JSON and files.
 */
#ifndef COMMAND_VALUES_H
#define COMMAND_VALUES_H

#include "command/command.h"
#include "core/values/values.h"

#include <stdio.h>

/* For values_init(). */
extern const struct values_library values_library;

/* In place of assigning and preparing: room for the results of a job, of which the inputs are not known but
 * for scalars. ESP_INVALID: an output that cannot be read without them. */
enum esp_status values_of_job(struct values *values, const struct esp_job *job, struct esp_error *error);

/* After the call: writes what -o named. */
enum esp_status values_write(const struct values *values, struct esp_error *error);
/* What stayed otherwise than it was to (values_look_at_kept()), for people. */
void values_warn(const struct values *values, FILE *stream);
/* The outputs that were not saved, for people: scalars in full, arrays as short tables. */
void values_print(const struct values *values);
json_t *values_json(const struct values *values);

/* Whether a file among the operands is so large that the platform is asked what it can take. */
bool values_have_large_file(const struct command_line *command);
/* What --max-input and --sum-duplicates say. Without the first one, a large file is bounded by the memory of
 * the largest server, for which the library must be initialised. Notes about files go to standard error.
 * ESP_INVALID:
 * --max-input is no size. */
enum esp_status values_reading(const struct command_line *command, struct matrix_reading *reading,
                               struct esp_error *error);
/* The format that --format names, NULL without it. ESP_INVALID with those that there are. */
enum esp_status values_format(const struct command_line *command, const struct matrix_format **format,
                              struct esp_error *error);

/* The first rows and columns of a matrix; integers with all their digits. */
void matrix_print(const struct matrix *matrix, bool integers);
/* A list of rows, or, of a single column of an array with one dimension, of elements. */
json_t *matrix_json(const struct matrix *matrix, bool as_vector, bool integers);

#endif
