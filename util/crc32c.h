/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC32C (Castagnoli), computed by ISA-L with the widest instructions of the processor, or by
 * util/crc32c_x86.c if using two kinds of them together is faster. */
#ifndef UTIL_CRC32C_H
#define UTIL_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Returns the checksum of the data of `crc` followed by these; 0 for no earlier data. Any thread. */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);

#endif
