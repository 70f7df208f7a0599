/* SPDX-License-Identifier: Apache-2.0
 *
 * The agents that the site's directory wants this one to join, when it starts and while it runs.
 */
#ifndef AGENT_DIRECTORY_PARENTS_H
#define AGENT_DIRECTORY_PARENTS_H

#include "agent/agent.h"
#include "services/settings.h"

/* With `directory` in its file: the parents that the directory names for this agent (espalierParent) are
 * added behind those of the file. What it last said, kept in state_dir, serves while it is away; the log says
 * so. Blocks as long as the directory's timeout. Errors of the directory where nothing was kept, and the file
 * names neither a parent nor a redirector: it would become a master agent by mistake, and is to look again
 * (`again`: what is nonsense in the directory was told). ESP_NO_MEMORY. */
enum esp_status agent_directory_parents(struct settings_agent *settings, bool again, struct esp_error *error);

/* How often it is looked for while it is away. */
int64_t agent_directory_patience_ns(const struct settings_agent *settings);

/* From then on a thread looks again, every directory_refresh: agents that are named then become known to that
 * one (agent_learn_parents()). NULL where there is no directory, or without a thread (the log says so). The
 * settings and the agent are borrowed until it is destroyed; NULL is nothing to do. */
struct directory_look_out;
struct directory_look_out *agent_directory_look_out(const struct settings_agent *settings,
                                                    struct agent *agent);
void agent_directory_look_out_destroy(struct directory_look_out *look_out);

#endif
