/* SPDX-License-Identifier: Apache-2.0
 *
 * A problem's signature for people.
 */
#ifndef CORE_SIGNATURE_H
#define CORE_SIGNATURE_H

#include "espalier.h"
#include <stdbool.h>
#include <stdio.h>

const char *mode_name(enum esp_mode mode);
bool argument_in(const struct esp_problem_argument *argument);
bool argument_out(const struct esp_problem_argument *argument);

/* "A[n, n]", or the name alone. Returns `text`, cut at `size`. */
const char *signature_shape(const struct esp_problem_argument *argument, char *text, size_t size);

/* "dgesv(in int n, in int nrhs = 1, inout double A[n, n], ...)" on one line. */
void signature_print(const struct esp_problem *problem, FILE *stream);

/* The argument of that name, or -1. */
int signature_find(const struct esp_problem *problem, const char *name);

#endif
