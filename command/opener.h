/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a problem that takes a state has it from.
 */
#ifndef COMMAND_OPENER_H
#define COMMAND_OPENER_H

#include "core/problem/problem.h"

/* The problem of the platform that leaves the state: the first that leaves one of those which the title or
 * the texts of `problem` name, else of those whose name begins as that of `problem` up to its last '_'. The
 * caller destroys the set of one problem; NULL: none is named, or the platform does not tell. */
struct problem_set *opener_find(const struct problem *problem);

/* "F=$(espalier call dumfpack_open A='[4,1;1,5]' | grep -o 'state:[^ ]*')": a shell command that opens a
 * state and keeps its name in a variable, called as the argument by which `problem` takes it; `options` as of
 * problem_trial(). 0: there is none; else as snprintf(). */
size_t opener_command(const struct problem *opener, const struct problem *problem, const char *options,
                      char *buffer, size_t size);

#endif
