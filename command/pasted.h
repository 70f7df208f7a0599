/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of a problem that can be pasted, as the end of its page shows them.
 */
#ifndef COMMAND_PASTED_H
#define COMMAND_PASTED_H

#include "command/command.h"

#include <espalier.h>

/* Prints a call with files, where the state that it takes comes from, and a call with numbers; or what stands
 * in the way of one. What the command line says of the platform is part of them. */
void pasted_print(const struct command_line *command, const struct esp_problem *problem);

#endif
