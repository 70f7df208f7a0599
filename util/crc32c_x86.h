/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC32C of blocks by the CRC32 instruction and by carry-less multiplication together, on x86-64
 * processors that multiply 256 bits but lack AVX-512. Each alone takes 8 bytes a cycle there, and ISA-L
 * uses one. */
#ifndef UTIL_CRC32C_X86_H
#define UTIL_CRC32C_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CRC32C_X86_BLOCK = 16384 };

/* Whether this processor has these instructions. If not, crc32c_x86() must not be called. */
bool crc32c_x86_fits(void);

/* The state after `blocks` blocks of CRC32C_X86_BLOCK bytes, not inverted before or after. Any thread. */
uint32_t crc32c_x86(uint32_t state, const unsigned char *data, size_t blocks);

#endif
