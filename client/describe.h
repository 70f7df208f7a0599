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

#endif
