/* SPDX-License-Identifier: Apache-2.0
 *
 * What the steps of a chain took, each against its forecast, and all of them.
 */
#ifndef COMMAND_STEPS_VIEW_H
#define COMMAND_STEPS_VIEW_H

#include <espalier.h>
#include <jansson.h>
#include <stdio.h>

/* Each step as session_print() has it, and a table with the sums behind. A single step has no table. */
void steps_print(const struct esp_session_info *const *infos, size_t n, FILE *stream);
/* A list of what session_json() has. */
json_t *steps_json(const struct esp_session_info *const *infos, size_t n);
/* The sums of their times, in seconds. */
json_t *steps_sums_json(const struct esp_session_info *const *infos, size_t n);

#endif
