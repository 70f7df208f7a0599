/* SPDX-License-Identifier: Apache-2.0
 *
 * Which servers a call may go to, as --server, --property, --deadline and --memory say.
 */
#ifndef COMMAND_CONSTRAINTS_H
#define COMMAND_CONSTRAINTS_H

#include "command/command.h"
#include "core/choice/terms.h"
#include "espalier.h"

/* Where the words of the options lie; lives as long as they are used. */
struct constraint_words {
    const char *properties[CAP_PROPERTIES];
};

/* Sets the members of the options that are constraints. ESP_INVALID: an option is no such thing. */
enum esp_status constraints_read(const struct command_line *command, struct constraint_words *words,
                                 struct esp_call_options *options, struct esp_error *error);

/* --server, if it is the only constraint: then no agent need be asked. NULL: let the agents choose. */
const char *constraints_bound(const struct command_line *command);

#endif
