/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes that a listing had to do without: each is named on standard error and in the list of --json, and the
 * exit code says that the listing is not whole.
 */
#ifndef COMMAND_MISSING_H
#define COMMAND_MISSING_H

#include "command/admin.h"

/* From missing_begin() to missing_end(). */
struct missing {
    const struct command_line *command;
    json_t *list;
    enum exit_code code; /* of the first of them; EXIT_DONE: there is none */
};
struct missing missing_begin(const struct command_line *command);

/* One that has not told what it was asked, and why. */
void missing_add(struct missing *missing, const char *node, enum esp_status status, const char *why);
/* One that cannot be reached, as the tree shows it; an agent stands for all that is below it. */
void missing_lost(struct missing *missing, const struct esp_node *node);
/* All such nodes of the view: agents and servers. */
void missing_all_lost(struct missing *missing, const struct view *view);

/* Appends an object for each, {"node": ..., "missing": why}, to the listing. */
void missing_json(struct missing *missing, json_t *listing);
/* Returns the code. */
enum exit_code missing_end(struct missing *missing);

#endif
