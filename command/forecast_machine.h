/* SPDX-License-Identifier: Apache-2.0
 *
 * What ranks are like, for `espalier forecast ROUTINE --grids`: as measured (--ranks FILE, --server NAME,
 * which is asked), as given (--machine), or assumed.
 */
#ifndef COMMAND_FORECAST_MACHINE_H
#define COMMAND_FORECAST_MACHINE_H

#include "command/command.h"
#include "core/forecast/parallel_profile.h"

/* EXIT_DONE, or what was wrong has been told: --machine is not as it should be, more than one of the options
 * is given, or the file or the server does not tell. */
enum exit_code forecast_machine(const struct command_line *command, struct parallel_profile *profile);

#endif
