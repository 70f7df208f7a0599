/* SPDX-License-Identifier: Apache-2.0
 *
 * Entries out of what daemons' files say (services/directory/schema.h). All functions may fail with ESP_LIMIT
 * and ESP_NO_MEMORY; what was added before stays. ESP_BUSY: another entry has that name in other letters,
 * large or small; there cannot be both, and the later one is left out.
 */
#ifndef SERVICES_DIRECTORY_GATHER_H
#define SERVICES_DIRECTORY_GATHER_H

#include "core/forecast/cost_model.h"
#include "core/problem/problem.h"
#include "services/directory/tree.h"
#include "services/settings.h"

/* The base and the units below it, as far as they are not there yet. */
enum esp_status gather_base(struct directory_tree *tree, struct esp_error *error);
/* A problem with its implementations. One that is there already stays as it is. ESP_BUSY may be that of an
 * implementation: the others are there. */
enum esp_status gather_problem(struct directory_tree *tree, const struct problem *problem,
                               struct esp_error *error);
/* The files of descriptions that these problems were read from, as they are, each with a name of its own
 * (services/directory/descriptions.h). ESP_NOT_FOUND, ESP_SYSTEM. */
enum esp_status gather_descriptions(struct directory_tree *tree, const struct problem_set *problems,
                                    struct esp_error *error);
/* A server's machine, by its name. */
enum esp_status gather_machine(struct directory_tree *tree, const struct settings_sed *settings,
                               struct esp_error *error);
/* A cost model below that machine: of that number, or a later one where another problem's has its name. */
enum esp_status gather_model(struct directory_tree *tree, const char *machine, const struct cost_model *model,
                             unsigned number, struct esp_error *error);
/* All models of a server's state_dir (NULL: there are none). Files that are wrong are told to `wrong` and
 * left out. */
enum esp_status gather_models(struct directory_tree *tree, const struct settings_node *node,
                              void (*wrong)(void *arg, const struct esp_error *error), void *arg,
                              struct esp_error *error);
/* Where a daemon is reached, where its parent is (NULL: it has none), and others to try behind it. */
enum esp_status gather_entry(struct directory_tree *tree, const char *name, const char *role,
                             const char *address, const char *parent, const struct config_strings *parents,
                             struct esp_error *error);

#endif
