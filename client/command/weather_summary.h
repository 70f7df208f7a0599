/* SPDX-License-Identifier: Apache-2.0
 *
 * The weather in one line a node, as agents hear of it with the records of their nodes: one request for a
 * tree of any size.
 */
#ifndef CLIENT_COMMAND_WEATHER_SUMMARY_H
#define CLIENT_COMMAND_WEATHER_SUMMARY_H

#include "client/command/command.h"

#include <espalier.h>

enum exit_code weather_summary(const struct command_line *command, const struct esp_node *nodes, size_t n);

#endif
