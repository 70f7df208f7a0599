/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory in which a result belongs that is on a server only. It is filled with a mark, so that what the
 * program writes there is told from what it has not touched, also where it writes what had been there before.
 *
 * The mark is a quiet NaN as a double, and two of them as floats, with a payload that is drawn once for each
 * process: no computation makes it, and who looks at the memory too early sees NaNs and no old numbers.
 */
#ifndef CLIENT_VACANT_H
#define CLIENT_VACANT_H

#include "core/problem/problem.h"

#include <stdbool.h>
#include <stdint.h>

enum vacancy {
    VACANT_NOT, /* all of it was written to */
    VACANT_PARTLY,
    VACANT_WHOLLY
};

/* Whether memory of that type can be marked: each number that a program writes there differs from the mark.
 * Small integers do not. */
bool vacant_can_be(enum base_type type);

/* `bytes` is a multiple of the type's. Any thread. */
void vacant_mark(void *memory, uint64_t bytes);
enum vacancy vacant_look(const void *memory, uint64_t bytes, enum base_type type);
/* What is still marked takes its value from there (as many bytes). */
void vacant_fill(void *memory, const void *from, uint64_t bytes, enum base_type type);

#endif
