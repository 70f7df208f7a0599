/* SPDX-License-Identifier: Apache-2.0
 *
 * For programs that a shell test runs: what must succeed and what must hold, else they end with 1 and say
 * why.
 */
#ifndef TESTS_E2E_MUST_H
#define TESTS_E2E_MUST_H

#include "espalier.h"

#include <stdio.h>

static inline int told(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, esp_last_error()->text);
    return 1;
}
#define MUST(call)                                                                                           \
    if ((call) != 0)                                                                                         \
    return told(#call)
#define HOLDS(condition)                                                                                     \
    if (!(condition))                                                                                        \
    return fprintf(stderr, "line %d: not so: %s (%s)\n", __LINE__, #condition, esp_last_error()->text), 1

#endif
