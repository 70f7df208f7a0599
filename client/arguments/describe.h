/* SPDX-License-Identifier: Apache-2.0
 *
 * Problems as espalier.h shows them (struct esp_problem), made from functions.
 */
#ifndef CLIENT_DESCRIBE_H
#define CLIENT_DESCRIBE_H

#include "client/arguments/function.h"
#include "espalier.h"

/* Describes the function. Takes over the caller's use of it, also on failure. esp_problem_free() frees the
 * description. */
enum esp_status describe_function(struct function *function, struct esp_problem **problem,
                                  struct esp_error *error);

/* Says which servers have this signature and which have another one of that name. NULL: all have this one.
 * The text lives as long as the problem. */
const char *describe_signatures(const struct esp_problem *problem);

/* esp_arguments_complete() without the library. The problem is one of describe_function(). */
enum esp_status describe_complete(const struct esp_problem *problem, struct esp_argument *arguments,
                                  size_t n_arguments, struct esp_error *error);

/* esp_arguments_elements() and esp_arguments_cut() without the library, with no pointer NULL. */
enum esp_status describe_elements(const struct esp_problem *problem, const struct esp_argument *arguments,
                                  size_t n_arguments, uint64_t *elements, struct esp_error *error);
enum esp_status describe_cut(const struct esp_problem *problem, struct esp_argument *arguments,
                             size_t n_arguments, struct esp_error *error);

#endif
