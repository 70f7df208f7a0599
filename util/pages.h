/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of large mappings, made present and taken out again in batches, which is cheaper than a fault for
 * each.
 *
 * Measured with 256 MB of a fresh memory file: 165 to 190 ms to fill it page by page, 148 when its pages are
 * made present first, of which two threads take half each. Pages that are there already cost 25 (to read) or
 * 56 (to write) microseconds per MiB for nothing: so only for memory that is fresh, or mapped afresh.
 */
#ifndef UTIL_PAGES_H
#define UTIL_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the pages that lie wholly in the range present in the mapping, and for writing in its file. What
 * cannot be (an older kernel, no memory) faults when it is used. Any thread. */
void pages_touch(void *data, size_t bytes, bool write);

/* Reserves addresses for `bytes` (whole pages) of a file from `offset` (of a page) on, such that its large
 * pages fit, with `guard` bytes (whole pages) on both sides of them: nobody may touch any of it until the
 * caller maps the file there with MAP_FIXED. Returns where the file goes; the caller unmaps it, guards
 * included. NULL: errno says why. Any thread. */
char *pages_reserve(size_t bytes, uint64_t offset, size_t guard);

/* Has what a mapping from pages_reserve() shows of a memory file lie in pages of PAGES_LARGE bytes, wherever
 * a whole one fits in it and the system can: mapping it again, and leaving it, then takes next to nothing. It
 * is copied for that by the kernel (measured: 0.4 ms per MiB, 2.5 where the machine never used the memory
 * before), so only for memory that is mapped again and again. What nobody has written yet stays as it is.
 * False: not all of it does (an older kernel, no memory, somebody else holds it just now). Contents never
 * change. Any thread. */
bool pages_make_large(void *data, size_t bytes);
#define PAGES_LARGE (2u << 20)

/* Whether something is mapped at all of these addresses. It may be of no use all the same (of a file that is
 * shorter). Takes some microseconds per MiB. Any thread. */
bool pages_are_mapped(const void *data, size_t bytes);

/* How many bytes from `data` on can be read, or written; the bytes stay as they are. Slow: for who wants to
 * know why it failed. Any thread; no other one writes there meanwhile. */
size_t pages_reachable(void *data, size_t bytes, bool write);

/* Whether the first and the last of `bytes` (1 or more) can be read, or written; they stay as they are. One
 * system call to read, two to write. Any thread; no other one writes there meanwhile. */
bool pages_ends_reachable(void *data, size_t bytes, bool write);

/* Takes the pages of a shared mapping out of it, by two threads where it is much: unmapping it is then quick.
 * What the file holds stays. */
void pages_leave_by_two(void *data, size_t bytes);

#endif
