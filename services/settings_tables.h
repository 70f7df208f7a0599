/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside services/settings: the schemas (settings_tables.c), and rules between keys (settings.c, of platforms
 * settings_platform.c), which complete what was read and refuse it with ESP_CONFIG.
 */
#ifndef SERVICES_SETTINGS_TABLES_H
#define SERVICES_SETTINGS_TABLES_H

#include "services/settings.h"

/* Of what reads the directory; and those of servers only. */
extern const struct config_key settings_directory_keys[], settings_directory_more_keys[];
/* What rows cannot say of it (the form of the URL, what goes together); and whether the files that it names
 * can be read. ESP_CONFIG. */
enum esp_status settings_finish_directory(const struct settings_directory *directory,
                                          struct esp_error *error);
enum esp_status settings_check_directory(const struct settings_directory *directory, struct esp_error *error);
extern const struct config_schema settings_schemas[SETTINGS_N_KINDS];

enum esp_status settings_finish_redirector(void *settings, struct arena *arena, struct esp_error *error);
enum esp_status settings_finish_agent(void *settings, struct arena *arena, struct esp_error *error);
/* As that of a server's file, but without its parent. */
enum esp_status settings_finish_server(struct settings_sed *sed, struct arena *arena,
                                       struct esp_error *error);
enum esp_status settings_finish_platform(void *settings, struct arena *arena, struct esp_error *error);

#endif
