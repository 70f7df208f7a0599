/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of esp_alloc(). It lies in memory files, so that servers of the same user on this host can use it in
 * place. Any thread.
 *
 * An array ends at the end of its last page, as in a server's segments (util/segment.h): a routine that
 * writes past the end of a result is stopped at the first byte.
 */
#ifndef CLIENT_BUFFER_H
#define CLIENT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* esp_alloc(). NULL with errno ENOMEM. */
void *buffer_alloc(size_t bytes);
/* Frees what buffer_alloc() has returned, after `forget` was called with its pages. False: it is no such
 * memory. */
bool buffer_free(void *memory, void (*forget)(const void *pages, uint64_t bytes));

/* Where such memory lies in its file. */
struct buffer_place {
    int file; /* a descriptor of its own, for close() */
    uint64_t offset;
};

/* Lends [memory, memory + bytes). `write`: to one borrower at a time, until buffer_return(), and only from an
 * address that esp_alloc() returned, because the borrower also gets what lies before it in its page. False:
 * the range is not in such memory, or cannot be lent now. */
bool buffer_lend(const void *memory, uint64_t bytes, bool write, struct buffer_place *place);
/* Whether the range is in such memory. */
bool buffer_holds(const void *memory, uint64_t bytes);
/* Writes to such memory, even if its pages are protected. False: the range is not in such memory. */
bool buffer_put(void *memory, const void *from, uint64_t bytes);
/* Ends a loan for writing. Not `well`: the borrower may go on writing, so the contents are copied to another
 * file, at the same address. */
void buffer_return(const void *memory, bool well);

/* Before a new life of the library in a forked child. False: another thread of the parent was in the middle
 * of a change at the fork. */
bool buffer_after_fork(void);

#endif
