/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for sessions: all that one needs is reserved in one step before its first byte moves, so that no
 * two sessions can each hold half of what they need and wait for the other.
 *
 * A session that can never fit is refused. A session that must wait holds nothing and stands in line. The
 * line is fair among clients, as the queue is (sed/sessions/queue.h): clients take turns, one session each, a
 * client's own sessions in their order. So a session waits for at most one session of each client that was
 * there before. While the first in line does not fit, later ones may overtake it, but only until they have
 * together taken as much memory as there is altogether. From then on nobody is admitted before it, so what is
 * given back adds up until it fits: a large session waits for at most one turnover of the memory.
 *
 * The total may change. Reserved memory stays reserved, even if it exceeds the new total. Entries in line
 * that are larger than the total wait, and do not block others, until the total is larger again.
 *
 * One thread at a time. Entries and owners lie in their users' structs; all zero is "not in line".
 */
#ifndef SED_ADMISSION_H
#define SED_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

/* In a client. */
struct admission_owner {
    uint64_t turn; /* of the last of its entries that came in line */
    uint32_t waiting;
};

/* In a session. */
struct admission_entry {
    uint64_t bytes;
    bool waiting;
    uint64_t turn; /* the line is in the order of these */
    struct admission_owner *owner;
    struct admission_entry *prev, *next;
};

struct admission {
    uint64_t total, used; /* bytes */
    uint64_t overtaken;   /* bytes admitted past the first in line */
    uint64_t turn;        /* of the last one that had been the first in line and was admitted */
    struct admission_entry *line;
    uint32_t waiting;
    void (*admitted)(void *arg, struct admission_entry *entry); /* for admission_admit() */
    void *arg;
};

enum admission_answer { ADMISSION_GRANTED, ADMISSION_WAITS, ADMISSION_NEVER };

void admission_init(struct admission *admission, uint64_t total_bytes);

/* Reserves `bytes`, or puts the entry in line, or (never fits) does nothing. The owner stays where it is as
 * long as it has entries in line. */
enum admission_answer admission_request(struct admission *admission, struct admission_owner *owner,
                                        struct admission_entry *entry, uint64_t bytes);

/* There is more or less memory from now on. Then ask admission_next(). */
void admission_resize(struct admission *admission, uint64_t total_bytes);

/* Gives back (part of) what was reserved. Then ask admission_next(). */
void admission_release(struct admission *admission, uint64_t bytes);

/* The next one in line whose turn it is, out of the line and with its memory reserved; NULL: none. To be
 * asked until NULL after every release and leave. */
struct admission_entry *admission_next(struct admission *admission);

/* Calls admission->admitted() for each entry in line whose turn it is. To be called after every release and
 * leave, unless admission_next() is. */
void admission_admit(struct admission *admission);

/* It no longer wants to wait. One that is not in line is left alone. */
void admission_leave(struct admission *admission, struct admission_entry *entry);

/* How many stand in line before it. */
uint32_t admission_ahead(const struct admission *admission, const struct admission_entry *entry);

#endif
