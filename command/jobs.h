/* SPDX-License-Identifier: Apache-2.0
 *
 * What the verbs about jobs share.
 */
#ifndef COMMAND_JOBS_H
#define COMMAND_JOBS_H

#include "command/command.h"

#include <espalier.h>

/* The library's last error, in the words and with the exit code of a verb about jobs: of one that is not in
 * the list, or is lost (EXIT_GONE), or cannot be asked. */
enum exit_code jobs_fail(const struct command_line *command);
/* The exit code alone. */
enum exit_code jobs_exit_code(enum esp_status status);

/* Whether it will never become another one. */
bool job_has_ended(const struct esp_job_state *state);

/* Since when a job cannot be looked after; all zero while it can. */
struct job_absence {
    int64_t since_ns;
};

/* When looking after a job has failed, by the library's last error: whether its server may answer yet, or
 * another one take it, for who waits, which is for a minute. Then pauses for `pause_s`. */
bool jobs_may_come_back(struct job_absence *absence, double pause_s);

/* Opens the platform, calls `run` with each job that the operands name, and closes it. The first exit code
 * that is not EXIT_DONE; the others are still visited. */
enum exit_code jobs_each(const struct command_line *command,
                         enum exit_code (*run)(const struct command_line *command,
                                               const struct esp_job *job));

#endif
