/* SPDX-License-Identifier: Apache-2.0
 *
 * For GridRPC programs of end-to-end tests that do one of several steps: what is expected, or the line that
 * is not so and why.
 */
#ifndef TESTS_E2E_STEPS_H
#define TESTS_E2E_STEPS_H

#include "espalier.h"

#include <stdio.h>
#include <stdlib.h>

/* In a function that returns 0 when all is as expected. */
#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("line %d: %s; %s\n", __LINE__, #condition, esp_last_error()->text);                       \
            return 1;                                                                                        \
        }                                                                                                    \
    } while (0)

/* A handle; without it there is nothing to test. */
static inline grpc_function_handle_t handle(const char *problem)
{
    grpc_function_handle_t made;
    if (grpc_function_handle_default(&made, (char *)problem) != GRPC_NO_ERROR) {
        printf("%s: %s\n", problem, esp_last_error()->text);
        exit(1);
    }
    return made;
}

#endif
