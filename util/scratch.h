/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for contents that may be large: beyond SCRATCH_HEAP_BYTES it is an unnamed file in $TMPDIR or
 * /var/tmp, which the system can write out when memory is short. If there is no room for that file, it is
 * ordinary memory. One thread at a time. */
#ifndef UTIL_SCRATCH_H
#define UTIL_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

#define SCRATCH_HEAP_BYTES ((size_t)8 << 20)

/* All zero: empty. */
struct scratch {
    char *memory; /* moves when it grows */
    size_t size;
    int file; /* when `mapped`; -1: the file is the caller's */
    bool mapped;
};

/* Grows it to at least that many bytes; keeps the contents. False without memory: unchanged. */
bool scratch_grow(struct scratch *scratch, size_t size);
/* Maps the file's first bytes for reading; the scratch must be empty. False: it cannot be mapped (a pipe).
 * If another process truncates the file meanwhile, this process is killed by SIGBUS. */
bool scratch_map(struct scratch *scratch, int file, size_t size);
/* Frees the memory; the scratch is empty. */
void scratch_clear(struct scratch *scratch);

#endif
