/* SPDX-License-Identifier: Apache-2.0
 *
 * The agents that the site's directory wants this one to join.
 */
#ifndef AGENT_DIRECTORY_PARENTS_H
#define AGENT_DIRECTORY_PARENTS_H

#include "services/settings.h"

/* With `directory` in its file: the parents that the directory names for this agent (espalierParent) are
 * added behind those of the file. What it last said, kept in state_dir, serves while it is away; the log says
 * so. Blocks as long as the directory's timeout. Errors of the directory where nothing was kept, and the file
 * names neither a parent nor a redirector: it would become a master agent by mistake. ESP_NO_MEMORY. */
enum esp_status agent_directory_parents(struct settings_agent *settings, struct esp_error *error);

#endif
