/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC32C of blocks by the CRC32 instruction and by carry-less multiplication at once, on x86-64 processors
 * that multiply 256 bits but have no AVX-512. Either alone takes 8 bytes a cycle there, and ISA-L takes one:
 * 25 GB/s from a cache where this has 40 (AMD Zen 3, bytes of a cache of 256 kB).
 */
#ifndef UTIL_CRC32C_X86_H
#define UTIL_CRC32C_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CRC32C_X86_BLOCK = 16384 };

/* Whether this processor is one of them. Elsewhere the function below must not be called. */
bool crc32c_x86_fits(void);

/* The state after `blocks` blocks of CRC32C_X86_BLOCK bytes, not inverted before or after. Any thread. */
uint32_t crc32c_x86(uint32_t state, const unsigned char *data, size_t blocks);

#endif
