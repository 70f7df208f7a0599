/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of services/settings: the schemas (settings_tables.c), and rules between keys (settings.c, for
 * platforms settings_platform.c), which complete the settings or refuse them with ESP_CONFIG. */
#ifndef SERVICES_SETTINGS_TABLES_H
#define SERVICES_SETTINGS_TABLES_H

#include "services/settings.h"

/* Keys for reading the directory; further keys for servers only. */
extern const struct config_key settings_directory_keys[], settings_directory_more_keys[];
/* Checks what rows cannot express (the form of the URL, keys that belong together), and that the named
 * files can be read. ESP_CONFIG. */
enum esp_status settings_finish_directory(const struct settings_directory *directory,
                                          struct esp_error *error);
enum esp_status settings_check_directory(const struct settings_directory *directory, struct esp_error *error);
extern const struct config_schema settings_schemas[SETTINGS_N_KINDS];

enum esp_status settings_finish_redirector(void *settings, struct arena *arena, struct esp_error *error);
enum esp_status settings_finish_agent(void *settings, struct arena *arena, struct esp_error *error);
/* Like the check of a server's file, without its parent. */
enum esp_status settings_finish_server(struct settings_sed *sed, struct arena *arena,
                                       struct esp_error *error);
enum esp_status settings_finish_platform(void *settings, struct arena *arena, struct esp_error *error);

#endif
