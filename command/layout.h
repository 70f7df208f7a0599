/* SPDX-License-Identifier: Apache-2.0
 *
 * How a matrix lies in pieces, as the command is told: --grid 2x3 --block 64, or --block 64x32.
 */
#ifndef COMMAND_LAYOUT_H
#define COMMAND_LAYOUT_H

#include "command/command.h"
#include "core/redistribution/block_cyclic.h"
#include "espalier.h"

/* *given: both options are there. ESP_INVALID: one without the other, or what they say is no layout. */
enum esp_status layout_option(const struct command_line *command, bool *given, struct esp_data_layout *layout,
                              struct esp_error *error);
/* Of a vector or matrix with those extents. */
struct block_cyclic_matrix layout_of(const struct esp_data_info *info, const struct esp_data_layout *layout);
/* Tells, on standard error, where the server has ranks, and fewer than the grid: no call there computes with
 * the matrix as it lies. That is no mistake where it only waits there. A session is open. */
void layout_remark(const struct command_line *command, const struct esp_data_layout *layout,
                   const char *server);

#endif
