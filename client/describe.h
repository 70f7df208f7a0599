/* SPDX-License-Identifier: Apache-2.0
 *
 * From a function to what espalier.h shows of it.
 */
#ifndef CLIENT_DESCRIBE_H
#define CLIENT_DESCRIBE_H

#include "client/session/function.h"

/* Takes the use of the function over, also when it fails. The result goes back to esp_problem_free(). */
enum esp_status describe_function(struct function *function, struct esp_problem **problem,
                                  struct esp_error *error);

/* Which servers have this signature, and which another one of that name; NULL: all have this one. Lives as
 * long as the problem. */
const char *describe_signatures(const struct esp_problem *problem);

/* As esp_problem_describe(), but who may know the problem and cannot be reached is not waited for: for one of
 * several ways to a result. */
enum esp_status problem_describe_soon(const char *name, struct esp_problem **problem);

#endif
