/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC32C (Castagnoli), with the processor's instruction where it has one.
 */
#ifndef UTIL_CRC32C_H
#define UTIL_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of `crc`'s data followed by these; 0 for no data before. Any thread. */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);

/* The same without the instruction, for the test that compares the two. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t bytes);

#endif
