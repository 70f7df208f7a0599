/* SPDX-License-Identifier: Apache-2.0
 *
 * The times that calls of single problems took on a server. Each grows with the declared work. A problem
 * without a cost model is forecast by its own calls, never by calls of another problem: the speed of one
 * routine says nothing about another routine. Servers report these times to agents, so that servers and
 * agents forecast alike.
 */
#ifndef CORE_PROBLEM_SPEEDS_H
#define CORE_PROBLEM_SPEEDS_H

#include "core/message/message_basic.h"
#include "util/arena.h"

#include <stdint.h>

/* Tag of an extension of a server's record: 32 bytes for each problem, little-endian: its digest, the speed
 * in flop/s, the seconds beside it and the share of waiting as doubles. The extension lists all problems that
 * were called; a record without the extension says that nothing has changed, within one incarnation. */
#define EXTENSION_PROBLEM_SPEEDS 116
#define CAP_PROBLEM_SPEEDS       512

struct problem_speed {
    uint64_t digest; /* of the problem's signature */
    double flops;    /* > 0 and finite */
    double base_s;   /* time that a call takes independent of its declared work; >= 0 and finite */
    double waits;    /* fraction of its time, 0 to 1, that it waits; other load does not slow it */
};

/* In the order of their digests. All-zero is empty. */
struct problem_speeds {
    struct problem_speed *items;
    uint32_t n;
};

/* The problem's entry; NULL when the problem was not called (`speeds` may be NULL). */
const struct problem_speed *problem_speed_find(const struct problem_speeds *speeds, uint64_t digest);
/* Adds the entry, or replaces the one with its digest. False: without memory, or there are
 * CAP_PROBLEM_SPEEDS others. */
bool problem_speeds_set(struct problem_speeds *speeds, const struct problem_speed *item);
/* Returns the seconds of a call with that work. */
double problem_speed_s(const struct problem_speed *speed, double work_flop);
/* Returns the factor by which a call takes longer when other processes leave `available` (0 to 1) of a
 * processor. */
double problem_slowdown(double waits, double available);
/* Returns the largest fraction of waiting among the problems. */
double problem_speed_waits(const struct problem_speeds *speeds);
/* Returns the largest of the speeds and of `otherwise`. No call takes less than its work over this speed. */
double problem_speed_most(const struct problem_speeds *speeds, double otherwise);

/* Appends the extension, unless `speeds` is empty; false without memory. */
bool problem_speeds_add(struct extensions *extensions, const struct problem_speeds *speeds,
                        struct arena *arena);
/* Reads such an extension; skips implausible entries. The caller frees the items; false without memory. */
bool problem_speeds_read(const struct extension *extension, struct problem_speeds *speeds);

#endif
