/* SPDX-License-Identifier: Apache-2.0
 *
 * What a server measures, on its way into the site's directory (directory_write in its file).
 */
#ifndef SED_DIRECTORY_WRITE_H
#define SED_DIRECTORY_WRITE_H

#include "services/directory/directory.h"
#include "services/settings.h"

/* The models of the server's state_dir as entries. ESP_SYSTEM, ESP_LIMIT, ESP_NO_MEMORY. */
enum esp_status directory_write_gather(const struct settings_sed *settings, struct directory_tree *own,
                                       struct esp_error *error);
/* Whether one of them is not in the directory as it was read, or is another one there. */
bool directory_write_lacks(const struct directory_tree *known, const struct directory_tree *own);
/* Brings them in; where the machine is not there it comes too, but one that an administrator has entered
 * stays as it is. Blocks. As directory_write(). */
enum esp_status directory_write_models(const struct settings_sed *settings, bool has_machine,
                                       struct directory_tree *own, struct esp_error *error);

#endif
