/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of strings in the results of a call.
 */
#ifndef CLIENT_COMMAND_TEXTS_OUT_H
#define CLIENT_COMMAND_TEXTS_OUT_H

#include "client/values_texts.h"

#include <jansson.h>

void values_print_texts(const struct values *values, size_t index);
json_t *values_json_texts(const struct values *values, size_t index);
/* A line for each string. */
enum esp_status values_write_texts(const struct values *values, size_t index, struct esp_error *error);

#endif
