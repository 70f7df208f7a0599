/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads memory that is a mapped file. If a disk fails, or the file was truncated, the kernel sends SIGBUS,
 * which would end the process. Here it only ends the reading. */
#ifndef UTIL_CAREFUL_H
#define UTIL_CAREFUL_H

#include <stdbool.h>

/* Runs `read` in the calling thread. False: a page could not be read, and `read` was left at that place by
 * a long jump, so it must own nothing: no memory, no lock, no descriptor. Any thread; not nested. A SIGBUS
 * in other threads, or outside of this call, has its usual effect. */
bool careful_read(void (*read)(void *arg), void *arg);

#endif
