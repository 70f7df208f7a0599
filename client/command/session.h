/* SPDX-License-Identifier: Apache-2.0
 *
 * What the verbs share that talk to a platform: which one, the last error, what a session took.
 */
#ifndef CLIENT_COMMAND_SESSION_H
#define CLIENT_COMMAND_SESSION_H

#include "client/command/command.h"

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

/* ESP_UNREACHABLE, with what to install, in a build that has no network. */
enum esp_status session_check_network(struct esp_error *error);

/* From now on SIGINT, SIGTERM and SIGHUP cancel the sessions under way, so that no server goes on computing
 * for nobody; the library's calls then fail with ESP_CANCELLED. To be called before session_open(), by verbs
 * that compute. */
void session_catch_signals(void);
/* While the main thread reads files, which may be pipes that nobody writes to, such a signal ends the process
 * as soon as what else is under way has been cancelled. */
void session_reading(bool reading);
/* Ends the process by the signal that was caught, if one was: as the shell expects of it. */
void session_end_by_signal(void);

/* The library's last error, and how the command ends with it: what is not found on a platform is not an
 * input file. */
enum exit_code session_fail(const struct command_line *command);
/* The same where the command line names a state or a datum: what is not found is that. */
enum exit_code session_fail_kept(const struct command_line *command);

/* --timeout in seconds, 0 when it is not given. */
enum esp_status session_timeout(const struct command_line *command, double *seconds, struct esp_error *error);

/* A handle for the problem, bound when --server is given and no other constraint. */
enum exit_code session_handle(const struct command_line *command, const char *problem,
                              grpc_function_handle_t *handle);

/* The candidates with their forecasts (unless the session was bound to a server), who took the session, and
 * where its time went: the parts add up to the total. */
void session_print(const struct esp_session_info *info, FILE *stream);
json_t *session_json(const struct esp_session_info *info);

#endif
