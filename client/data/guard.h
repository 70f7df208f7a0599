/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of the program whose contents are elsewhere, and are fetched when the program accesses them.
 *
 * The whole pages of a guarded array are closed (client/data/guard.c). A thread that reads or writes there
 * gets SIGSEGV. The handler asks a thread of this module for the contents and waits; then the instruction
 * continues as if they had been there. Faults at other addresses, and in memory that is no longer the
 * array, go to the previous handler.
 *
 * System calls on such memory fail (EFAULT) instead, and other processes cannot read it,
 * either. The library therefore calls guard_bring() before it passes memory to them.
 */
#ifndef CLIENT_GUARD_H
#define CLIENT_GUARD_H

#include "util/error.h"

#include <stdbool.h>
#include <stdint.h>

#define GUARD_WHAT 256 /* bytes of an array's name in messages */

enum guard_end {
    GUARD_CAME,    /* the contents are there */
    GUARD_DROPPED, /* other contents are there, or the memory is gone */
    GUARD_LOST     /* guard_stop(): they cannot be fetched any more */
};

struct guard_ops {
    /* Writes all of the array's contents, ends included, to `contents`. Blocks. Called from any thread
     * without a lock of this module, one at a time for an array. */
    enum esp_status (*fetch)(void *arg, void *contents, struct esp_error *error);
    /* Called once, as the last operation. Any thread, without a lock. */
    void (*ended)(void *arg, enum guard_end end);
};

/* Whether that memory can be guarded, in the view of the calling thread, which must be one of the
 * program's. */
bool guard_can(const void *memory, uint64_t bytes);
/* How many bytes at both ends a guard leaves out; the caller writes these. */
void guard_edges(const void *memory, uint64_t bytes, uint64_t *head, uint64_t *tail);

/* Guards an array for which guard_can() returned true. Guards of arrays inside it end (GUARD_DROPPED);
 * other guards may not overlap it. `what` is its name in messages. Any thread. Returns false if it cannot
 * be guarded after all; its memory is open then. */
bool guard_set(void *memory, uint64_t bytes, const struct guard_ops *ops, void *arg, const char *what);
/* Whether the guard with that `arg` is whole: it was not accessed, and its memory still exists. */
bool guard_is_set(const void *arg);

/* Fetches all contents that belong in that memory. Returns ESP_OK, or the first failure. Any thread. */
enum esp_status guard_bring(const void *memory, uint64_t bytes, struct esp_error *error);
/* guard_bring() for arrays that lie partly outside only. */
enum esp_status guard_bring_around(const void *memory, uint64_t bytes, struct esp_error *error);
/* Opens the arrays inside that memory, because it gets other contents. */
void guard_forget(const void *memory, uint64_t bytes);

/* From now on nothing can be fetched: accessing a guarded array ends the process with a message. */
void guard_stop(void);

/* Drops the parent's threads before the library is initialized in a forked child. Returns false if another
 * thread of the parent was changing this state during the fork. */
bool guard_after_fork(void);

#endif
