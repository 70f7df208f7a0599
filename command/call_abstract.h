/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier call and submit of an abstract problem.
 */
#ifndef COMMAND_CALL_ABSTRACT_H
#define COMMAND_CALL_ABSTRACT_H

#include "command/abstract_arguments.h"
#include "command/problem_verb.h"

/* `problem` is abstract; when a matrix that is given is complex and it is not, its complex namesake with a z
 * before the name is taken, by `run_plain` if that is not abstract. Says on standard error, or in its JSON,
 * which problems did it. */
enum exit_code call_abstract(const struct command_line *command, const struct esp_problem *problem,
                             problem_run *run_plain);

/* espalier submit: the job is of the problem that does it. */
enum exit_code submit_abstract(const struct command_line *command, const struct esp_problem *problem,
                               problem_run *run_plain);

/* The same verbs with --leave. */
enum exit_code refuse_to_leave(const struct command_line *command, const struct esp_problem *problem,
                               problem_run *run_plain);

/* What a verb does with the arguments, and what it shows when that was done. */
struct abstract_use {
    enum esp_status (*run)(struct abstract_arguments *arguments, const struct esp_call_options *options,
                           struct esp_error *error);
    enum exit_code (*show)(const struct command_line *command, const struct abstract_arguments *arguments);
};
/* The same for any verb: `run_plain` has those that are not abstract after all. */
enum exit_code use_abstract(const struct command_line *command, const struct esp_problem *problem,
                            const struct abstract_use *use, problem_run *run_plain);

#endif
