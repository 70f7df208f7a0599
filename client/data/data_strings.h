/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of strings as data: what lies on servers is what travels with a call (core/problem/texts.h).
 */
#ifndef CLIENT_DATA_STRINGS_H
#define CLIENT_DATA_STRINGS_H

#include "client/data/data.h"

/* Puts n strings on that server as a new datum, whose identity comes into `id` of DATUM_TEXT bytes. Blocks.
 * ESP_INVALID: one of them is NULL; ESP_LIMIT: there are too many. */
enum esp_status data_put_strings(struct engine *engine, const char *server, const char *const *strings,
                                 int64_t n, enum esp_data_mode mode, struct data_told told, char *id,
                                 struct esp_error *error);
/* Reads all of one: *value, of *bytes with *n strings, was looked at, and is for free(). Blocks. ESP_INVALID:
 * it is no array of strings. */
enum esp_status data_get_strings(struct engine *engine, const char *id, void **value, uint64_t *bytes,
                                 uint64_t *n, struct esp_error *error);

#endif
