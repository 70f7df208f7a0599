/* SPDX-License-Identifier: Apache-2.0
 *
 * The sensor of memory, after the Network Weather Service's freeMemory: what a program could take now without
 * anything being swapped out, or the kernel ending something.
 */
#ifndef SERVICES_NWS_MEMORY_H
#define SERVICES_NWS_MEMORY_H

#include "util/control_group.h"

#include <stdint.h>

/* Where to look; a test has files of its own. */
struct memory_files {
    const char *meminfo; /* NULL: /proc/meminfo */
    struct control_group_files groups;
};

/* Bytes: what the kernel could give (MemAvailable: caches of files count as free), and no more than the limit
 * of any control group that this process is in leaves beside what is used in it and cannot be dropped.
 * UINT64_MAX: neither can be read. `files` NULL: those of the system. Any thread; reads a few files. */
uint64_t memory_available(const struct memory_files *files);

#endif
