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

/* Makes the pages that lie wholly in the range present in the mapping, and for writing in its file. What
 * cannot be (an older kernel, no memory) faults when it is used. Any thread. */
void pages_touch(void *data, size_t bytes, bool write);

/* Takes the pages of a shared mapping out of it, by two threads where it is much: unmapping it is then quick.
 * What the file holds stays. */
void pages_leave_by_two(void *data, size_t bytes);

#endif
