/* SPDX-License-Identifier: Apache-2.0
 *
 * What the command line gives to an abstract problem.
 */
#ifndef COMMAND_ABSTRACT_ARGUMENTS_H
#define COMMAND_ABSTRACT_ARGUMENTS_H

#include "client/abstract/abstract.h"
#include "command/overflow.h"
#include "command/values.h"

struct abstract_arguments {
    struct values values;         /* scalars, and the outputs */
    struct abstract_run run;      /* matrices */
    char overflow[OVERFLOW_TEXT]; /* or "" */
    struct esp_job *job;          /* owned: as which it was submitted; NULL: it was not */
    struct fast_step *steps;      /* owned: what it would take; NULL: it was not asked */
    size_t n_steps;
};

/* Operands and -o into values and run, which are open. *too_real: a complex matrix is given, and the problem
 * is real; then they are not complete. Errors as values_assign() has them. */
enum esp_status abstract_arguments_read(const struct command_line *command,
                                        struct abstract_arguments *arguments, bool *too_real,
                                        struct esp_error *error);
void abstract_arguments_clear(struct abstract_arguments *arguments);

#endif
