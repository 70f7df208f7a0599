/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of strings in the results of a call.
 */
#ifndef COMMAND_TEXTS_OUT_H
#define COMMAND_TEXTS_OUT_H

#include "core/values/values_texts.h"

#include <jansson.h>

void values_print_texts(const struct values *values, size_t index);
json_t *values_json_texts(const struct values *values, size_t index);
/* A line for each string. */
enum esp_status values_write_texts(const struct values *values, size_t index, struct esp_error *error);

/* Arrays of characters: one text, or one in each column, without what pads them. */
void values_print_characters(const struct values *values, size_t index);
json_t *values_json_characters(const struct values *values, size_t index); /* NULL: not UTF-8 */
enum esp_status values_write_characters(const struct values *values, size_t index, struct esp_error *error);

/* A file of ours to where -o says: a file, or standard output for "-". ESP_SYSTEM. */
enum esp_status values_copy_file(const struct values *values, size_t index, struct esp_error *error);
/* The same of an array of files that went in. */
enum esp_status values_copy_files(const struct values *values, size_t index, struct esp_error *error);
/* The same for JSON: a text as it is, other bytes as {"base64": "..."}; null when it cannot be read. */
json_t *values_json_file(const struct values *values, size_t index);

#endif
