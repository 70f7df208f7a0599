/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside util/config: single values from text into a field and back, and looking up rows.
 */
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

/* Writes the field's value as a file would have it, quoted where needed. */
void config_write_value(const struct config_key *key, const void *field, FILE *file);

/* True when the field equals the key's default, or is empty (zero) where there is none. */
bool config_value_is_initial(const struct config_key *key, const void *field);

/* The row of that name, or NULL. */
const struct config_key *config_key_find(const struct config_schema *schema, const char *name);
const struct config_section *config_section_find(const struct config_schema *schema, const char *name);

/* The first line (from 1) with a quote that is not closed in it; 0: none. */
int config_open_quote(const char *text);

/* True when `word` is a unit of durations, sizes or fractions ("ms", "GiB", "%"). */
bool config_is_unit(const char *word);

#endif
