/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of the process's own memory that nobody may touch: client/data/guard.h decides which, and when.
 *
 * A page that is closed carries a stamp, so that memory which the program has given back since, and which the
 * system has given to somebody else, is told from it and left alone. Closed pages are read and written
 * through /proc/self/mem, which goes past their protection: they are filled before anybody can read them.
 */
#ifndef CLIENT_GUARD_PAGES_H
#define CLIENT_GUARD_PAGES_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes at both ends of an array that are never closed: allocators write into what they get back. */
#define GUARD_EDGE 64u

/* The pages of an array that can be closed: those that lie wholly in it, without its edges. Also *from ==
 * *to: none. */
void guard_pages_within(const void *memory, uint64_t bytes, uintptr_t *from, uintptr_t *to);

/* Whether that memory may have closed pages, as the calling thread, which is the program's, sees it. Not:
 * stacks (a signal needs them); what the C library carves blocks out of (it writes between them while it
 * holds a lock, and who fetches what belongs there needs memory too); what is shared with others, but memory
 * of esp_alloc(); what the program cannot read and write anyway. `is_closed` says so of pages that are closed
 * already. */
bool guard_pages_can(const void *memory, uint64_t bytes, bool (*is_closed)(uintptr_t from, uintptr_t to));

/* Closes them; what they held is lost. They may be closed already. False: they cannot be, and are open. */
bool guard_pages_close(uintptr_t from, uintptr_t to);
/* Which of them are closed: others have been opened, or other memory is there. */
enum guard_pages { GUARD_PAGES_NONE, GUARD_PAGES_SOME, GUARD_PAGES_ALL };
enum guard_pages guard_pages_closed(uintptr_t from, uintptr_t to);
/* Opens those that are closed. They hold `contents` then (NULL: nothing of use); an allocator that had the
 * system take their contents away gets zeros, as it expects. */
void guard_pages_open(uintptr_t from, uintptr_t to, const char *contents);

#endif
