/* SPDX-License-Identifier: Apache-2.0
 *
 * Internal to util/config: converts single values between text and fields, and looks up rows. */
#ifndef UTIL_CONFIG_VALUE_H
#define UTIL_CONFIG_VALUE_H

#include "util/config.h"

struct unit {
    const char *name;
    uint64_t factor;
};

extern const struct unit config_durations[], config_sizes[]; /* end with a row without a name */

/* True for the types that hold several values. */
bool config_type_is_list(enum config_type type);

/* Reads `text` as a value of the key, within its bounds, into `field` (of a list: one item, a char *).
 * `arena` holds strings. ESP_CONFIG: "slots: expected a whole number from 1 to 4096, found \"many\"". */
enum esp_status config_read_value(const struct config_key *key, const char *text, void *field,
                                  struct arena *arena, struct esp_error *error);

/* Writes the field's value as in a file, quoted where needed. */
void config_write_value(const struct config_key *key, const void *field, FILE *file);

/* True when the field equals the key's default, or is empty (zero) where there is none. */
bool config_value_is_initial(const struct config_key *key, const void *field);

/* Returns the row of that name, or NULL. */
const struct config_key *config_key_find(const struct config_schema *schema, const char *name);
const struct config_section *config_section_find(const struct config_schema *schema, const char *name);

/* Returns the first line (from 1) with an unclosed quote; 0: none. */
int config_open_quote(const char *text);

/* True when `word` is a unit of durations, sizes or fractions ("ms", "GiB", "%"). */
bool config_is_unit(const char *word);

#endif
