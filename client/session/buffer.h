/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of esp_alloc(). It lies in memory files, so that servers of the same user on this host can use it
 * in place. All functions may be called from any thread.
 *
 * An array ends at the end of its last page, as in a server's segments (util/segment.h). A routine that
 * writes past the end of a result is thus stopped at the first byte.
 */
#ifndef CLIENT_BUFFER_H
#define CLIENT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Implements esp_alloc(). Returns NULL with errno ENOMEM. */
void *buffer_alloc(size_t bytes);
/* Frees memory of buffer_alloc(), after calling `forget` with its pages. Returns false if it is not such
 * memory. */
bool buffer_free(void *memory, void (*forget)(const void *pages, uint64_t bytes));

/* Position of such memory in its file. */
struct buffer_place {
    int file; /* a descriptor for the caller, who closes it */
    uint64_t offset;
};

/* Lends [memory, memory + bytes). For writing (`write`), memory is lent to one borrower at a time, until
 * buffer_return(), and only from an address that esp_alloc() returned, because the borrower also gets the
 * bytes before it in its page. Returns false if the range is not in such memory, or cannot be lent now. */
bool buffer_lend(const void *memory, uint64_t bytes, bool write, struct buffer_place *place);
/* Whether the range is in such memory. */
bool buffer_holds(const void *memory, uint64_t bytes);
/* Writes to such memory, even if its pages are protected. Returns false if the range is not in such
 * memory. */
bool buffer_put(void *memory, const void *from, uint64_t bytes);
/* Ends a loan for writing. If `well` is false, the borrower may go on writing, so the contents are copied
 * to another file at the same address. */
void buffer_return(const void *memory, bool well);

/* Called before the library is initialized in a forked child. Returns false if another thread of the
 * parent was changing the list during the fork. */
bool buffer_after_fork(void);

#endif
