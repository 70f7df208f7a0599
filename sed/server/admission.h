/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for sessions: all that one needs is reserved in one step before its first byte moves, so that no
 * two sessions can each hold half of what they need and wait for the other.
 *
 * What can never fit is refused. What must wait holds nothing and stands in line. First come, first served
 * among those that fit: while the first in line does not fit, later ones may overtake it, but only until they
 * have together taken as much memory as there is altogether. From then on nobody is admitted before it, so
 * what is given back adds up until it fits: a large session waits for at most one turnover of the memory.
 *
 * One thread at a time. Entries lie in their users' structs; all zero is "not in line".
 */
#ifndef SED_ADMISSION_H
#define SED_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

struct admission_entry {
    uint64_t bytes;
    bool waiting;
    struct admission_entry *prev, *next;
};

struct admission {
    uint64_t total, used; /* bytes */
    uint64_t overtaken;   /* bytes admitted past the first in line */
    struct admission_entry *line;
    uint32_t waiting;
};

enum admission_answer { ADMISSION_GRANTED, ADMISSION_WAITS, ADMISSION_NEVER };

void admission_init(struct admission *admission, uint64_t total_bytes);

/* Reserves `bytes`, or puts the entry in line, or (never fits) does nothing. */
enum admission_answer admission_request(struct admission *admission, struct admission_entry *entry,
                                        uint64_t bytes);

/* Gives back (part of) what was reserved. Then ask admission_next(). */
void admission_release(struct admission *admission, uint64_t bytes);

/* The next one in line whose turn it is, out of the line and with its memory reserved; NULL: none. To be
 * asked until NULL after every release and leave. */
struct admission_entry *admission_next(struct admission *admission);

/* It no longer wants to wait. One that is not in line is left alone. */
void admission_leave(struct admission *admission, struct admission_entry *entry);

/* How many stand in line before it. */
uint32_t admission_ahead(const struct admission *admission, const struct admission_entry *entry);

#endif
