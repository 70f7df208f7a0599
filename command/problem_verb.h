/* SPDX-License-Identifier: Apache-2.0
 *
 * What verbs have in common whose first operand is a problem and whose further ones are its arguments.
 */
#ifndef COMMAND_PROBLEM_VERB_H
#define COMMAND_PROBLEM_VERB_H

#include "command/command.h"
#include "command/values.h"

typedef enum exit_code problem_run(const struct command_line *command, const struct esp_problem *problem,
                                   struct values *values);
typedef enum exit_code problem_run_abstract(const struct command_line *command,
                                            const struct esp_problem *problem, problem_run *run_plain);

/* Opens the library, looks the problem up and runs one of the two, with empty values (the second is
 * told the first). Signals cancel what is
 * under way, and end the process afterwards. */
enum exit_code problem_verb(const struct command_line *command, problem_run *run,
                            problem_run_abstract *run_abstract);

/* The exit code for it: what the platform did not find is no input file, but a state, a datum or a server. To
 * be asked before the library is called again. */
enum exit_code problem_exit_code(const struct command_line *command, const struct esp_error *error);
/* command_fail(); errors of the arguments come with what the problem wants. */
enum exit_code problem_fail(const struct command_line *command, const struct esp_problem *problem,
                            const struct esp_error *error);

#endif
