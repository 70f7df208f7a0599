/* SPDX-License-Identifier: Apache-2.0
 *
 * What ranks are like, for `espalier forecast ROUTINE --grids`: as measured (--ranks), as given (--machine),
 * or assumed.
 */
#ifndef CLIENT_COMMAND_FORECAST_MACHINE_H
#define CLIENT_COMMAND_FORECAST_MACHINE_H

#include "client/command/command.h"
#include "core/forecast/parallel_profile.h"

/* ESP_SYNTAX: --machine is not as it should be, or both are given; else as parallel_profile_load(). */
enum esp_status forecast_machine(const struct command_line *command, struct parallel_profile *profile,
                                 struct esp_error *error);

#endif
