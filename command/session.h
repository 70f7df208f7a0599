/* SPDX-License-Identifier: Apache-2.0
 *
 * What the verbs share that talk to a platform: which one, the last error, what a session took.
 */
#ifndef COMMAND_SESSION_H
#define COMMAND_SESSION_H

#include "command/command.h"

#include <stdint.h>
#include <stdio.h>

/* Opens the client library for the platform that the options, $ESPALIER_CONFIG, a platform that
 * 'espalier up' runs here, or the user's or system's client.conf name, in this order. EXIT_DONE, or
 * the message has been printed. grpc_finalize() ends it. */
enum exit_code session_open(const struct command_line *command);
/* The same for verbs of jobs, whose records name their servers: where no platform is known, these are asked.
 */
enum exit_code session_open_for_jobs(const struct command_line *command);
/* The same for verbs that move data: --timeout is what is waited for room and for a slow link, also where the
 * client's file says less. */
enum exit_code session_open_for_data(const struct command_line *command);

/* --timeout, if it is given, is from now on what all questions of the verb have together. Returns `opened`.
 */
enum exit_code session_within(const struct command_line *command, enum exit_code opened);

/* From now on SIGINT, SIGTERM and SIGHUP cancel the sessions under way, so that no server goes on computing
 * for nobody; the library's calls then fail with ESP_CANCELLED. To be called before session_open(), by verbs
 * that compute. */
void session_catch_signals(void);
/* While the main thread reads files, which may be pipes that nobody writes to, such a signal ends the process
 * as soon as what else is under way has been cancelled. */
void session_reading(bool reading);
/* Whether such a signal has come: what fails from now on fails because the library was closed. */
bool session_interrupted(void);
/* Where such a signal has come, returns true and makes the error that of a cancelled session: the library's
 * own would say that it was closed. */
bool session_explain(struct esp_error *error);
/* Ends the process by the signal that was caught, if one was: as the shell expects of it. */
void session_end_by_signal(void);

/* The library's last error, and how the command ends with it: what is not found on a platform is not an
 * input file. */
enum exit_code session_fail(const struct command_line *command);
enum exit_code session_fail_with(const struct command_line *command, const struct esp_error *error);
/* The status; of a function of the library that has failed, with the library's error. */
enum esp_status session_told(enum esp_status status, struct esp_error *error);
/* The same where the command line names a state or a datum: what is not found is that. */
enum exit_code session_fail_kept(const struct command_line *command);

/* --timeout in seconds, 0 when it is not given. */
enum esp_status session_timeout(const struct command_line *command, double *seconds, struct esp_error *error);
/* What looking up problems and servers, and calls, have left of it. ESP_TIMEOUT: nothing. */
enum esp_status session_time_left(const struct command_line *command, double *seconds,
                                  struct esp_error *error);
/* As esp_problem_describe(), within what is left of that time. */
enum esp_status session_describe(const struct command_line *command, const char *name,
                                 struct esp_problem **problem, struct esp_error *error);
/* The same before the call's data are looked up, and behind that: what is left is `look_ns` of the values
 * that take them, which counts down; 0: no --timeout. */
enum esp_status session_look_begin(const struct command_line *command, int64_t *look_ns,
                                   struct esp_error *error);
void session_look_end(int64_t look_ns);
/* A call began then and is over. On the system's clock. */
void session_called(int64_t since_ns);
/* A handle for the problem at `server`, NULL: where the agents say, within what is left of that time. */
enum esp_status session_find(const struct command_line *command, const char *problem, const char *server,
                             grpc_function_handle_t *handle, struct esp_error *error);

/* A handle for the problem, bound when --server is given and no other constraint. */
enum exit_code session_handle(const struct command_line *command, const char *problem,
                              grpc_function_handle_t *handle);

/* The candidates with their forecasts (unless the session was bound to a server), who took the session, its
 * forecast where that is known, and where its time went: the parts add up to the total. */
void session_print(const struct esp_session_info *info, FILE *stream);

/* What the problem's description notes on the results of a session that is done; "" else. */
const char *session_note(const struct esp_session_info *info);
/* The same for people, on standard error; nothing when there is none. `problem`: that was called for. */
void session_print_note(const struct esp_session_info *info, const char *problem);
json_t *session_json(const struct esp_session_info *info);
/* A list of what of a session, or of a job, lives on servers. */
json_t *session_data_json(const struct esp_session_datum *data, size_t n);

#endif
