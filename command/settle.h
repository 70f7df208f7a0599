/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon that was just started, until the platform works with it.
 */
#ifndef COMMAND_SETTLE_H
#define COMMAND_SETTLE_H

#include "command/command.h"

/* Waits until the tree of the platform that is open shows it, `patience_s` at most. A server that was removed
 * in an earlier life is drained still: it is told to take sessions again, and *remark says so (else ""). */
enum exit_code settle_in_tree(const struct command_line *command, const char *name, double patience_s,
                              const char **remark);

#endif
