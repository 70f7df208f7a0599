/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier forecast ROUTINE --strategies: what a factorisation would take on processors of different speed,
 * by the strategies of core/unequal/strategies.h.
 */
#ifndef COMMAND_FORECAST_STRATEGIES_H
#define COMMAND_FORECAST_STRATEGIES_H

#include "command/command.h"
#include "fast.h"

/* The operand is the routine; `values` are n and block. Needs no platform, but for --server. */
enum exit_code forecast_strategies(const struct command_line *command, const struct fast_value *values,
                                   size_t n);

#endif
