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

/* The function that the problem describes. It lives as long as the problem. */
const struct function *description_function(const struct esp_problem *problem);

/* The numbers among the arguments, indexed as in the description. The vector has all arguments. */
void describe_scope(const struct problem *problem, const struct esp_argument *arguments,
                    struct number scope[PROBLEM_MAX_ARGUMENTS]);

/* esp_arguments_complete() without the library. The problem is one of describe_function(). */
enum esp_status describe_complete(const struct esp_problem *problem, struct esp_argument *arguments,
                                  size_t n_arguments, struct esp_error *error);

/* esp_arguments_elements() and esp_arguments_cut() without the library, with no pointer NULL. */
enum esp_status describe_elements(const struct esp_problem *problem, const struct esp_argument *arguments,
                                  size_t n_arguments, uint64_t *elements, struct esp_error *error);
enum esp_status describe_cut(const struct esp_problem *problem, struct esp_argument *arguments,
                             size_t n_arguments, struct esp_error *error);

#endif
