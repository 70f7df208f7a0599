/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking many nodes the same side by side: one that hangs keeps nobody waiting but for itself.
 */
#ifndef COMMAND_ASKING_H
#define COMMAND_ASKING_H

#include <stddef.h>

/* Calls ask() once for each of the `n` items of `size` bytes, many at a time, each by a thread, and returns
 * when all have returned. A bar shows how many have. What they share is for ask() to lock. */
void asking_all(void (*ask)(void *item), void *items, size_t n, size_t size);

#endif
