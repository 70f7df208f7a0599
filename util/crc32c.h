/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC32C (Castagnoli) by ISA-L, which takes the widest instructions that the processor has, or by
 * util/crc32c_x86.c where two kinds of them at once are faster: what has just come from a socket is read at
 * 40 GB/s, what comes from memory as fast as that gives it.
 */
#ifndef UTIL_CRC32C_H
#define UTIL_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of `crc`'s data followed by these; 0 for no data before. Any thread. */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);

#endif
