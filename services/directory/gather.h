/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds entries (services/directory/schema.h) from daemons' files. All functions may fail with ESP_LIMIT
 * and ESP_NO_MEMORY; entries added before stay. ESP_BUSY: another entry has that name in other upper and
 * lower case; the directory cannot have both, so the later one is left out. */
#ifndef SERVICES_DIRECTORY_GATHER_H
#define SERVICES_DIRECTORY_GATHER_H

#include "core/forecast/cost_model.h"
#include "core/problem/problem.h"
#include "services/directory/tree.h"
#include "services/settings.h"

/* Adds the base and the units below it, unless they exist. */
enum esp_status gather_base(struct directory_tree *tree, struct esp_error *error);
/* Adds a problem with its implementations, unless it exists. ESP_BUSY may concern an implementation: the
 * others are added. */
enum esp_status gather_problem(struct directory_tree *tree, const struct problem *problem,
                               struct esp_error *error);
/* Adds the description files that these problems were read from, unchanged, each with its own name
 * (services/directory/descriptions.h). ESP_NOT_FOUND, ESP_SYSTEM. */
enum esp_status gather_descriptions(struct directory_tree *tree, const struct problem_set *problems,
                                    struct esp_error *error);
/* Adds a server's machine, by its name. */
enum esp_status gather_machine(struct directory_tree *tree, const struct settings_sed *settings,
                               struct esp_error *error);
/* Adds a cost model below that machine, with that number, or a later one if another problem's entry has
 * its name. */
enum esp_status gather_model(struct directory_tree *tree, const char *machine, const struct cost_model *model,
                             unsigned number, struct esp_error *error);
/* Adds all models of a server's state_dir (NULL: there are none). Calls `wrong` for each malformed file
 * and skips it. */
enum esp_status gather_models(struct directory_tree *tree, const struct settings_node *node,
                              void (*wrong)(void *arg, const struct esp_error *error), void *arg,
                              struct esp_error *error);
/* Adds a daemon's address, that of its parent (NULL: none), and fallback parents. */
enum esp_status gather_entry(struct directory_tree *tree, const char *name, const char *role,
                             const char *address, const char *parent, const struct config_strings *parents,
                             struct esp_error *error);

#endif
