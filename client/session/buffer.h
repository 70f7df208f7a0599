/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of esp_alloc(): memory files, so that servers of the same user on the same host can use it where it
 * is. Any thread.
 *
 * An array ends at the end of its last page, as in a server's segments (util/segment.h): a routine that
 * writes a result there is stopped at the first byte behind it.
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

/* False: [memory, memory + bytes) is not in one of them, or cannot be lent now. `write`: to one borrower at a
 * time, until buffer_return(), and only from where esp_alloc() said: what lies in front of it in its page is
 * the borrower's too. */
bool buffer_lend(const void *memory, uint64_t bytes, bool write, struct buffer_place *place);
/* Whether it is in one of them. */
bool buffer_holds(const void *memory, uint64_t bytes);
/* Writes there whatever the protection of its pages is. False: it is in none of them. */
bool buffer_put(void *memory, const void *from, uint64_t bytes);
/* What was lent for writing is the program's alone again. Not `well`: the borrower may go on writing; the
 * program keeps its address and the contents as they are now, in another file. */
void buffer_return(const void *memory, bool well);

/* Before a new life of the library in a forked child. False: another thread of the parent was in the middle
 * of a change at the fork. */
bool buffer_after_fork(void);

#endif
