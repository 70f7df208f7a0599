/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading memory that is a mapped file: where a disk fails, or the file was cut off, the kernel has nothing
 * to give but a signal (SIGBUS), which would end the whole process. Here it ends what was being read.
 */
#ifndef UTIL_CAREFUL_H
#define UTIL_CAREFUL_H

#include <stdbool.h>

/* Runs `read`, in the thread that calls. False: a page of what it read could not be had; it was left at that
 * place, so it must own nothing meanwhile: no memory, no lock, no descriptor. Any thread; not within itself.
 * A SIGBUS of other threads, and of those outside, is as deadly as before. */
bool careful_read(void (*read)(void *arg), void *arg);

#endif
