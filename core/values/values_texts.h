/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the values of a call: arrays of strings and of files.
 */
#ifndef CORE_VALUES_TEXTS_H
#define CORE_VALUES_TEXTS_H

#include "core/values/values.h"

static inline bool is_texts(const struct esp_problem_argument *formal)
{
    return formal->n_dims > 0 && (formal->type == ESP_TYPE_STRING || formal->type == ESP_TYPE_FILE);
}

/* Takes ["a", "b"] or @FILE (a line for each string), or @FILE,@FILE. ESP_INVALID, ESP_NOT_FOUND. */
enum esp_status values_take_texts(struct values *values, size_t index, const char *text,
                                  struct esp_error *error);
/* Room for a result of that many elements; of files, their names from -o. */
enum esp_status values_prepare_texts(struct values *values, size_t index, struct esp_error *error);
/* Copies the files of an array that goes in and comes back to files of ours, which take their places: the
 * library writes the results there. values_clear() ends them. ESP_INVALID: -o names another number of files.
 * ESP_SYSTEM, ESP_NOT_FOUND. */
enum esp_status values_copy_inputs(struct values *values, size_t index, struct esp_error *error);
/* The name of file i of an array, as -o says it ("a,b": the names, "part": part.1, part.2, ...); for free().
 * NULL: no memory. */
char *values_file_name(const struct value_slot *slot, uint64_t i);
/* Removes these files of ours. */
void values_remove_spools(struct value_slot *slot);
/* An empty file of ours in the folder of temporary files; *path is for free(). ESP_SYSTEM. */
enum esp_status values_make_spool(char **path, struct esp_error *error);
/* Frees what the library put into the slot's pointers; the slot's memory stays. */
void values_clear_texts(struct value_slot *slot);

/* Whether a file that goes in can be read, for the argument of that name: ESP_NOT_FOUND with the reason. */
enum esp_status value_check_file(const char *name, const char *path, struct esp_error *error);

#endif
