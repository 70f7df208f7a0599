/* SPDX-License-Identifier: Apache-2.0
 *
 * The weather in a line a node, as the agents have heard of it.
 */
#ifndef COMMAND_WEATHER_SUMMARY_H
#define COMMAND_WEATHER_SUMMARY_H

#include "command/missing.h"

/* Whether agents hear of that resource. */
bool weather_summary_has(const char *resource);

/* Of each server, and of each agent whose link to its parent was measured; of `node` alone, and of this
 * resource alone (NULL: of all). Those that cannot be reached are left out, those that are missing told in
 * the list. */
enum exit_code weather_summary(const struct command_line *command, const struct view *view, const char *node,
                               const char *resource, struct missing *missing);

#endif
