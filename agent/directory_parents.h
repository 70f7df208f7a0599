/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads parents from the site's directory, at the start and while the agent runs.
 */
#ifndef AGENT_DIRECTORY_PARENTS_H
#define AGENT_DIRECTORY_PARENTS_H

#include "agent/agent.h"
#include "services/settings.h"

/* If the configuration file names a `directory`, adds the parents that the directory lists for this agent
 * (espalierParent) behind those of the file. While the directory cannot be reached, its last answer,
 * stored in state_dir, is used and the log says so. Blocks at most for the directory's timeout.
 *
 * Returns an error of the directory if there is no stored answer and the file names neither a parent nor a
 * redirector: the agent would wrongly become a master agent, so the caller must try again. On such a
 * repetition, `again` suppresses the log lines about wrong entries. Also returns ESP_NO_MEMORY. */
enum esp_status agent_directory_parents(struct settings_agent *settings, bool again, struct esp_error *error);

/* Interval of attempts while the directory is away. */
int64_t agent_directory_patience_ns(const struct settings_agent *settings);

/* Starts a thread that reads the directory every directory_refresh, and passes new parents to
 * agent_learn_parents(). Returns NULL if there is no directory, or if the thread cannot be started (the
 * log says so). The settings and the agent are borrowed until it is destroyed; destroying NULL does
 * nothing. */
struct directory_look_out;
struct directory_look_out *agent_directory_look_out(const struct settings_agent *settings,
                                                    struct agent *agent);
void agent_directory_look_out_destroy(struct directory_look_out *look_out);

#endif
