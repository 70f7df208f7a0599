/* SPDX-License-Identifier: Apache-2.0
 *
 * What the site's directory says to a server: descriptions of problems, and for its machine cost models and
 * agents to join. It is read when the server starts and from time to time after that; the last good state is
 * kept in state_dir (directory.ldif, directory.problems/), and serves while the directory is away.
 */
#ifndef SED_DIRECTORY_WATCH_H
#define SED_DIRECTORY_WATCH_H

#include "core/forecast/cost_model.h"
#include "services/settings.h"

struct directory_watch;

/* Reads the directory, or what is kept of it; neither is no failure: the log tells, and the server does with
 * its files. Blocks as long as the directory's timeout. No thread yet. The settings are borrowed. ESP_CONFIG
 * (no URL), ESP_NO_MEMORY. */
enum esp_status directory_watch_create(const struct settings_sed *settings, struct directory_watch **watch,
                                       struct esp_error *error);
/* Reads it again from now on, in a thread, and calls `changed` from there when it says something else than
 * before. ESP_SYSTEM. */
enum esp_status directory_watch_start(struct directory_watch *watch, void (*changed)(void *arg), void *arg,
                                      struct esp_error *error);
void directory_watch_destroy(struct directory_watch *watch);

/* The folder with the descriptions that it has now; NULL: none. Lives as long as the watch. */
const char *directory_watch_problems(struct directory_watch *watch);
/* Adds the machine's models to the set. ESP_NO_MEMORY. */
enum esp_status directory_watch_models(struct directory_watch *watch, struct cost_set *set,
                                       struct esp_error *error);
/* Tells the log of models of problems that are not among these. */
void directory_watch_check(struct directory_watch *watch, const struct problem_set *problems);
/* Copies of the addresses that it names as this machine's parents, at most `most`, for free(). Returns how
 * many. */
size_t directory_watch_parents(struct directory_watch *watch, char **addresses, size_t most);
/* What it knows of this machine's ranks (core/forecast/parallel_profile.h), for free(); NULL: nothing, or no
 * memory.
 */
char *directory_watch_ranks(struct directory_watch *watch);
/* Whether it is away, nothing is kept of it, and descriptions are still to come from it. */
bool directory_watch_may_bring(struct directory_watch *watch);
/* While it is away: "; the directory is away (...): what it last said serves"; else "". */
void directory_watch_health(struct directory_watch *watch, char *text, size_t size);

#endif
