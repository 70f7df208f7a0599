/* SPDX-License-Identifier: Apache-2.0
 *
 * "name=value" of a run: a parameter of the flow, or one of its inputs.
 */
#ifndef FLOW_SETTINGS_H
#define FLOW_SETTINGS_H

#include "core/flow/program.h"
#include "flow/inputs.h"

/* ESP_INVALID: a name that is neither, with those that there are. */
enum esp_status flow_settings_take(struct flow_program *program, const char *const *words, size_t n,
                                   struct inputs *inputs, struct esp_error *error);

#endif
