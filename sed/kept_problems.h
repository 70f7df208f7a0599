/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptions of problems that a server has from the site's directory: as last read, in a folder of its
 * state_dir, where its calibration finds them too.
 */
#ifndef SED_KEPT_PROBLEMS_H
#define SED_KEPT_PROBLEMS_H

#include "core/problem/problem.h"
#include "services/settings.h"

/* The path of that folder, whether it is there or not; false: the server reads no directory, or keeps
 * nothing. */
bool kept_problems_path(const struct settings_sed *settings, char *path, size_t size);
/* The problems of the server's own files (as its file names them now), and of the folder what those do not
 * have. Where the settings name a directory, its own folders may be empty. ESP_SYNTAX, ESP_NOT_FOUND (of its
 * own files), ESP_NO_MEMORY. */
enum esp_status kept_problems_load(const struct settings_sed *settings, const struct config_strings *own,
                                   const char *folder, struct problem_set **problems,
                                   struct esp_error *error);

#endif
