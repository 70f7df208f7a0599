/* SPDX-License-Identifier: Apache-2.0
 *
 * Forecasts as tables, or JSON.
 */
#ifndef COMMAND_FORECAST_TABLES_H
#define COMMAND_FORECAST_TABLES_H

#include "command/command.h"
#include "fast.h"

/* EXIT_UNREACHABLE when all of them are excluded, as a call would end. */
enum exit_code forecast_show_servers(const struct command_line *command, const struct fast_server *servers,
                                     size_t n);
/* Of abstract problems: a row for each step. */
enum exit_code forecast_show_steps(const struct command_line *command, const struct fast_step *steps,
                                   size_t n);

#endif
