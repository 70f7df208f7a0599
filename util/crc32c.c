/* SPDX-License-Identifier: Apache-2.0 */
#include "util/crc32c.h"
#include "util/crc32c_x86.h"

#include <isa-l/crc.h>
#include <limits.h>

/* The library names the Castagnoli polynomial after the protocol that chose it (iSCSI), counts bytes in an
 * int, and does not invert the value before and after. */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
    unsigned char *next = (unsigned char *)(uintptr_t)data;
    uint32_t state = ~crc;
    if (bytes >= CRC32C_X86_BLOCK && crc32c_x86_fits()) {
        const size_t blocks = bytes / CRC32C_X86_BLOCK;
        state = crc32c_x86(state, next, blocks);
        next += blocks * CRC32C_X86_BLOCK;
        bytes -= blocks * CRC32C_X86_BLOCK;
    }
    while (bytes > 0) {
        const size_t n = bytes < INT_MAX ? bytes : INT_MAX;
        state = crc32_iscsi(next, (int)n, state);
        next += n;
        bytes -= n;
    }
    return ~state;
}
