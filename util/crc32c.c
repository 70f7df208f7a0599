/* SPDX-License-Identifier: Apache-2.0 */
#include "util/crc32c.h"

#include <string.h>

#define POLYNOMIAL UINT32_C(0x82f63b78) /* reflected */

uint32_t crc32c_portable(uint32_t crc, const void *data, size_t bytes)
{
    const uint8_t *next = data;
    crc = ~crc;
    while (bytes-- > 0) {
        crc ^= *next++;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (POLYNOMIAL & -(crc & 1));
    }
    return ~crc;
}

#ifdef __x86_64__

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *data, size_t bytes)
{
    const uint8_t *next = data;
    uint64_t state = (uint32_t)~crc;
    for (; bytes >= 8; bytes -= 8, next += 8) {
        uint64_t word;
        memcpy(&word, next, sizeof word);
        state = __builtin_ia32_crc32di(state, word);
    }
    for (; bytes > 0; bytes--)
        state = __builtin_ia32_crc32qi((uint32_t)state, *next++);
    return ~(uint32_t)state;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
    return __builtin_cpu_supports("sse4.2") ? crc32c_sse42(crc, data, bytes)
                                            : crc32c_portable(crc, data, bytes);
}

#else

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
    return crc32c_portable(crc, data, bytes);
}

#endif
