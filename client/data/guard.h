/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of the program whose contents are elsewhere, and come when it looks.
 *
 * The whole pages of a guarded array are closed (client/data/guard.c). Whoever reads or writes there is
 * stopped by SIGSEGV, whose handler asks a thread of this module for the contents and waits; the instruction
 * then goes on as if they had been there. Faults at other addresses, and in memory that is not the array any
 * more, go to the handler that was there before.
 *
 * System calls are not stopped, but fail (EFAULT), and so do other processes that read this one's memory:
 * before the library hands memory to them it calls guard_bring().
 */
#ifndef CLIENT_GUARD_H
#define CLIENT_GUARD_H

#include "util/error.h"

#include <stdbool.h>
#include <stdint.h>

#define GUARD_WHAT 256 /* bytes of what an array is called in messages */

enum guard_end {
    GUARD_CAME,    /* the contents are there */
    GUARD_DROPPED, /* others are, or the memory is not there any more */
    GUARD_LOST     /* guard_stop(): nobody can bring them any more */
};

struct guard_ops {
    /* All of the array's contents, edges included, into `contents`. Blocks; any thread, with no lock of this
     * module held, one at a time for an array. */
    enum esp_status (*fetch)(void *arg, void *contents, struct esp_error *error);
    /* Once, and last. Any thread, with no lock held. */
    void (*ended)(void *arg, enum guard_end end);
};

/* Whether that memory can be guarded, as seen by the calling thread, which is one of the program's. */
bool guard_can(const void *memory, uint64_t bytes);
/* How many bytes at both ends guards leave out: what belongs there the caller writes. */
void guard_edges(const void *memory, uint64_t bytes, uint64_t *head, uint64_t *tail);

/* Guards an array of which guard_can() was said. Guards of arrays within it end (GUARD_DROPPED); others may
 * not overlap it. `what` names it to the program's user. Any thread. False: it cannot be guarded after all,
 * and its memory is open. */
bool guard_set(void *memory, uint64_t bytes, const struct guard_ops *ops, void *arg, const char *what);
/* Whether the guard set with that `arg` is whole: nobody has looked, and the memory is still there. */
bool guard_is_set(const void *arg);

/* Brings all that belongs in that memory. ESP_OK, or why the first of them cannot come. Any thread. */
enum esp_status guard_bring(const void *memory, uint64_t bytes, struct esp_error *error);
/* The same, but of arrays that lie partly outside only. */
enum esp_status guard_bring_around(const void *memory, uint64_t bytes, struct esp_error *error);
/* Opens the arrays that lie within it: other contents are to come. */
void guard_forget(const void *memory, uint64_t bytes);

/* Nothing can be brought any more: a look at what is still guarded then ends the process with a message. */
void guard_stop(void);

/* Forgets the threads of the parent, before a new life of the library in a forked child. False: another
 * thread of the parent was in the middle of a change at the fork. */
bool guard_after_fork(void);

#endif
