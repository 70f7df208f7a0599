/* SPDX-License-Identifier: Apache-2.0
 *
 * Populates and removes pages of large mappings in batches, which is cheaper than a page fault for each.
 *
 * Populating fresh memory first saves up to a fifth of the time to fill it, and two threads can share the
 * work. Populating pages that are present already is wasted (25 to 56 microseconds per MiB), so use it
 * only for fresh memory, or fresh mappings. */
#ifndef UTIL_PAGES_H
#define UTIL_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Populates the pages that lie wholly in the range in the mapping, and for writing also in its file. Pages
 * that cannot be populated (an older kernel, no memory) fault when they are used. Any thread. */
void pages_touch(void *data, size_t bytes, bool write);

/* Reserves addresses for `bytes` (whole pages) of a file from `offset` (of a page) on, so that its large
 * pages are aligned, with `guard` bytes (whole pages) on both sides. Nothing is accessible until the
 * caller maps the file there with MAP_FIXED. Returns where to map the file; the caller unmaps it, guards
 * included. NULL: errno says why. Any thread. */
char *pages_reserve(size_t bytes, uint64_t offset, size_t guard);

/* Converts a memory file mapped by pages_reserve() to pages of PAGES_LARGE bytes, where a whole one fits
 * and the system can: mapping and unmapping it again then takes next to no time. The kernel copies the
 * memory for that (0.4 ms per MiB, 2.5 in memory that the machine has not used before), so use it only for
 * memory that is mapped repeatedly. Pages that were never written stay unchanged. False: not all of it was
 * converted (an older kernel, no memory, another process holds it now). Contents never change. Any thread. */
bool pages_make_large(void *data, size_t bytes);
#define PAGES_LARGE (2u << 20)

/* Whether all of these addresses are mapped. Access may fail nevertheless (beyond the end of a file).
 * Takes some microseconds per MiB. Any thread. */
bool pages_are_mapped(const void *data, size_t bytes);

/* Returns how many bytes from `data` on can be read, or written; they are not changed. Slow: for
 * explaining a failure. Any thread; no other thread may write there meanwhile. */
size_t pages_reachable(void *data, size_t bytes, bool write);

/* Whether the first and the last of `bytes` (1 or more) can be read, or written; they are not changed. One
 * system call to read, two to write. Any thread; no other thread may write there meanwhile. */
bool pages_ends_reachable(void *data, size_t bytes, bool write);

/* Removes the pages of a shared mapping from it, with two threads if there are many: unmapping is then
 * quick. The file keeps its contents. */
void pages_leave_by_two(void *data, size_t bytes);

#endif
