/* SPDX-License-Identifier: Apache-2.0
 *
 * `espalier sweep --resume FILE`: which calls the rows of an earlier sweep already tell of.
 */
#ifndef COMMAND_SWEEP_RESUME_H
#define COMMAND_SWEEP_RESUME_H

#include "command/sweep.h"
#include <stdbool.h>
#include <stdio.h>

/* Opens FILE, in which a sweep goes on, and marks in `done` (n_points values, all false) the points whose
 * calls have a row without an error there, and for which `is_whole(context, point)` holds. Rows of the other
 * points of this sweep, and a last row that has no end, leave the file, which is replaced as a whole; rows of
 * points that this sweep does not have stay. A file that is not there is made. `heading` is the first line
 * with its end, and the last columns are "sweep", "error" and "note". Each row has `identity` in the column
 * "sweep": the problem and the options that decide what the calls are.
 * On ESP_OK the caller writes further rows to *file, and closes it. ESP_SYNTAX: FILE has another heading, a
 * row with another number of cells, or a row of another sweep; FILE is as it was. Other errors: of files. */
enum esp_status sweep_resume(const struct sweep *sweep, const char *path, const char *heading,
                             const char *identity, bool (*is_whole)(void *context, size_t point),
                             void *context, bool *done, FILE **file, struct esp_error *error);

#endif
