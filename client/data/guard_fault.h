/* SPDX-License-Identifier: Apache-2.0
 *
 * The handler of SIGSEGV of client/data/guard.c, and the table of closed places that it looks at without a
 * lock. Who writes the table holds guard.c's.
 */
#ifndef CLIENT_GUARD_FAULT_H
#define CLIENT_GUARD_FAULT_H

#include "client/data/guard.h"

#include <stdbool.h>
#include <stdint.h>

#define GUARD_MOST 1024 /* arrays at the same time; more are not guarded */

struct guard_place {
    _Atomic uintptr_t from, to;  /* whole pages; from == to: none */
    _Atomic uint32_t generation; /* changes when the pages are open: who waits for that looks again */
    _Atomic bool wanted;         /* somebody waits */
    _Atomic bool lost;           /* nobody can bring it */
    char what[GUARD_WHAT];
};
extern struct guard_place guard_places[GUARD_MOST];

/* Before its pages are closed. */
void guard_place_take(struct guard_place *place, uintptr_t from, uintptr_t to, const char *what);
/* After they have been opened: wakes who waits. */
void guard_place_clear(struct guard_place *place);
/* It stays, but a look at it ends the process. */
void guard_place_lose(struct guard_place *place);
/* Whether somebody has begun to wait since the last time this was asked. */
bool guard_place_is_wanted(struct guard_place *place);
/* The one that is not lost and has that page; NULL. */
const struct guard_place *guard_place_at(uintptr_t at);

/* Whether a lost place has any of that memory. */
bool guard_places_lost(const void *memory, uint64_t bytes);
/* Lost places have nothing there any more. Whether one had. */
bool guard_places_cut(uintptr_t from, uintptr_t to);

/* Makes the handler the process's, if another one is. False: it cannot be. */
bool guard_fault_enter(void);
/* Where no place is left, and the handler still is the process's: the one of before is again. */
void guard_fault_leave(void);
/* Waits until somebody waits for a place, or guard_fault_wake(). */
void guard_fault_await(void);
void guard_fault_wake(void);
/* Whether this process was forked from the one that guard_fault_enter() was called in. */
bool guard_fault_is_child(void);

#endif
