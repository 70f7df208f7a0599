/* SPDX-License-Identifier: Apache-2.0
 *
 * Callbacks on the command line: functions given as expressions of their parameters.
 */
#ifndef CORE_VALUES_FUNCTION_H
#define CORE_VALUES_FUNCTION_H

#include "core/values/values.h"

/* Makes the callback `index` of the text: one expression (core/problem/expr.h), or several between brackets
 * and semicolons, one for each element of what comes back, in the order of the declaration. They may name
 * scalars that go in, and elements of vectors that do (y[1]). ESP_INVALID, ESP_SYNTAX with the callback's
 * name. What fails when the routine calls ends the call with that text. */
enum esp_status values_take_function(struct values *values, size_t index, const char *text,
                                     struct esp_error *error);
/* When the scalars of the problem are known: gives the functions those that their sizes use. ESP_INVALID. */
enum esp_status values_size_functions(struct values *values, struct esp_error *error);
/* NULL is fine; no call that has it is under way. */
void value_function_destroy(struct value_function *function);

#endif
