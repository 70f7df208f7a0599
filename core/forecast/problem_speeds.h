/* SPDX-License-Identifier: Apache-2.0
 *
 * The speeds that calls of single problems have reached on a server. Where there is no cost model, a problem
 * that was called is forecast by its own speed, and no other one by it: what a routine reaches says nothing
 * of those that wait for memory less, or more. Servers tell agents, so that both forecast by the same.
 */
#ifndef CORE_PROBLEM_SPEEDS_H
#define CORE_PROBLEM_SPEEDS_H

#include "core/message/message_basic.h"
#include "util/arena.h"

#include <stdint.h>

/* Tag of an extension of a server's record: 16 bytes for each problem, little-endian: its digest, and the
 * speed as a double, in flop/s. All of them; a record without it says that nothing has changed, within one
 * incarnation. */
#define EXTENSION_PROBLEM_SPEEDS 116
#define CAP_PROBLEM_SPEEDS       512

struct problem_speed {
    uint64_t digest; /* of the problem's signature */
    double flops;    /* > 0 and finite */
};

/* In the order of their digests. All-zero: none are known. */
struct problem_speeds {
    struct problem_speed *items;
    uint32_t n;
};

/* What that problem reaches; `otherwise` for one that is not there (`speeds` may be NULL). */
double problem_speed(const struct problem_speeds *speeds, uint64_t digest, double otherwise);
/* The greatest of them and of `otherwise`. */
double problem_speed_most(const struct problem_speeds *speeds, double otherwise);

/* Appends the extension; false without memory. None is nothing to do. */
bool problem_speeds_add(struct extensions *extensions, const struct problem_speeds *speeds,
                        struct arena *arena);
/* Reads such an extension; what is nonsense in it is left out. The items are for free(); false without
 * memory.
 */
bool problem_speeds_read(const struct extension *extension, struct problem_speeds *speeds);

#endif
