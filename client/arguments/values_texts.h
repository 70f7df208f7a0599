/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the values of a call: arrays of strings and of files.
 */
#ifndef CLIENT_VALUES_TEXTS_H
#define CLIENT_VALUES_TEXTS_H

#include "client/arguments/values.h"

static inline bool is_texts(const struct esp_problem_argument *formal)
{
    return formal->n_dims > 0 && (formal->type == ESP_TYPE_STRING || formal->type == ESP_TYPE_FILE);
}

/* Takes ["a", "b"] or @FILE (a line for each string), or @FILE,@FILE. ESP_INVALID, ESP_NOT_FOUND. */
enum esp_status values_take_texts(struct values *values, size_t index, const char *text,
                                  struct esp_error *error);
/* Room for a result of that many elements; of files, their names from -o. */
enum esp_status values_prepare_texts(struct values *values, size_t index, struct esp_error *error);
/* Frees what the library put into the slot's pointers; the slot's memory stays. */
void values_clear_texts(struct value_slot *slot);

/* Whether a file that goes in can be read, for the argument of that name: ESP_NOT_FOUND with the reason. */
enum esp_status value_check_file(const char *name, const char *path, struct esp_error *error);
/* The text of a file (values.c); *text is the caller's. */
enum esp_status value_read_text(const char *path, char **text, struct esp_error *error);

#endif
