/* SPDX-License-Identifier: Apache-2.0
 *
 * The sensor of memory, after the Network Weather Service's freeMemory: how much a program could allocate
 * now without swapping, or the kernel killing a process. */
#ifndef SERVICES_NWS_MEMORY_H
#define SERVICES_NWS_MEMORY_H

#include "util/control_group.h"

#include <stdint.h>

/* The files to read; tests use their own. */
struct memory_files {
    const char *meminfo; /* NULL: /proc/meminfo */
    struct control_group_files groups;
};

/* Returns bytes: what the kernel could give (MemAvailable: caches of files count as free), limited by what
 * the control groups of this process leave besides used memory that cannot be reclaimed. UINT64_MAX:
 * neither can be read. `files` NULL: those of the system. Any thread; reads a few files. */
uint64_t memory_available(const struct memory_files *files);

#endif
