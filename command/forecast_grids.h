/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier forecast ROUTINE --grids: what a parallel routine would take on each process grid, by its model.
 */
#ifndef COMMAND_FORECAST_GRIDS_H
#define COMMAND_FORECAST_GRIDS_H

#include "command/command.h"
#include "fast.h"

/* The operand is the routine; `values` its numbers and letters. Needs no platform,
 * but for --server. */
enum exit_code forecast_grids(const struct command_line *command, const struct fast_value *values, size_t n);

#endif
