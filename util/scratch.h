/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for contents that may be large: beyond SCRATCH_HEAP_BYTES it is a file without a name, in $TMPDIR or
 * /var/tmp, which the system can write out when memory is short. Where there is no room for that file it is
 * ordinary memory. One thread at a time.
 */
#ifndef UTIL_SCRATCH_H
#define UTIL_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

#define SCRATCH_HEAP_BYTES ((size_t)8 << 20)

/* All zero: empty. */
struct scratch {
    char *memory; /* moves when it grows */
    size_t size;
    int file; /* when `mapped`; -1: somebody else's */
    bool mapped;
};

/* At least so many bytes; what was there is kept. False without memory: it is as it was. */
bool scratch_grow(struct scratch *scratch, size_t size);
/* An empty one becomes that file's first bytes, to be read. False: it cannot be mapped (a pipe). Who cuts the
 * file meanwhile kills the process. */
bool scratch_map(struct scratch *scratch, int file, size_t size);
/* Empty again. */
void scratch_clear(struct scratch *scratch);

#endif
