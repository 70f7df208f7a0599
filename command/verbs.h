/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs of the `espalier` command and their table. For the table (verbs.c), for the files that define
 * verbs, and for those that read the table: options.c and complete.c. Nothing that verbs use includes this
 * header.
 */
#ifndef COMMAND_VERBS_H
#define COMMAND_VERBS_H

#include "command/command.h"

/* Ends with a row without a name. */
extern const struct verb command_verbs[];

/* Runs the whole command: finds the verb, reads its options, runs it. */
enum exit_code command_run(int argc, char **argv);

/* What could stand in the place of the last of `words` (those behind "espalier"), one a line. */
enum exit_code command_complete(int n, char **words);

enum exit_code verb_up(const struct command_line *command);
enum exit_code verb_down(const struct command_line *command);
enum exit_code verb_problems(const struct command_line *command);
enum exit_code verb_problems_check(const struct command_line *command);
enum exit_code verb_call(const struct command_line *command);
enum exit_code verb_submit(const struct command_line *command);
enum exit_code verb_jobs(const struct command_line *command);
enum exit_code verb_fetch(const struct command_line *command);
enum exit_code verb_wait(const struct command_line *command);
enum exit_code verb_output(const struct command_line *command);
enum exit_code verb_cancel(const struct command_line *command);
enum exit_code verb_sweep(const struct command_line *command);
enum exit_code verb_solve(const struct command_line *command);
enum exit_code verb_accuracy(const struct command_line *command);
enum exit_code verb_weather(const struct command_line *command);
enum exit_code verb_forecast(const struct command_line *command);
enum exit_code verb_calibrate(const struct command_line *command);
enum exit_code verb_directory_export(const struct command_line *command);
enum exit_code verb_directory_import(const struct command_line *command);
enum exit_code verb_directory_show(const struct command_line *command);
enum exit_code verb_directory_client(const struct command_line *command);
enum exit_code verb_tree(const struct command_line *command);
enum exit_code verb_trace(const struct command_line *command);
enum exit_code verb_admin_move(const struct command_line *command);
enum exit_code verb_admin_drain(const struct command_line *command);
enum exit_code verb_admin_undrain(const struct command_line *command);
enum exit_code verb_admin_disable(const struct command_line *command);
enum exit_code verb_admin_enable(const struct command_line *command);
enum exit_code verb_admin_reload(const struct command_line *command);
enum exit_code verb_admin_add(const struct command_line *command);
enum exit_code verb_admin_apply(const struct command_line *command);
enum exit_code verb_admin_restart(const struct command_line *command);
enum exit_code verb_admin_stop(const struct command_line *command);
enum exit_code verb_admin_remove(const struct command_line *command);
enum exit_code verb_config_check(const struct command_line *command);
enum exit_code verb_data_put(const struct command_line *command);
enum exit_code verb_data_get(const struct command_line *command);
enum exit_code verb_data_ls(const struct command_line *command);
enum exit_code verb_data_info(const struct command_line *command);
enum exit_code verb_data_show(const struct command_line *command);
enum exit_code verb_data_rm(const struct command_line *command);
enum exit_code verb_data_cp(const struct command_line *command);
enum exit_code verb_data_mv(const struct command_line *command);
enum exit_code verb_flow_run(const struct command_line *command);
enum exit_code verb_flow_cancel(const struct command_line *command);
enum exit_code verb_flow_check(const struct command_line *command);
enum exit_code verb_flow_simulate(const struct command_line *command);
enum exit_code verb_matrix_info(const struct command_line *command);
enum exit_code verb_matrix_convert(const struct command_line *command);

#endif
