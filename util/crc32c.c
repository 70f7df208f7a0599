/* SPDX-License-Identifier: Apache-2.0 */
#include "util/crc32c.h"

#include <pthread.h>
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

/* The instruction takes three cycles but a new one can begin in each: three lanes side by side are three
 * times as fast as one. Their checksums are put together by what a lane of zeros would make of the one
 * before. */
#define LANE 4096

static uint32_t behind_zeros[4][256]; /* by byte of the checksum; a linear map, as every CRC is */
static pthread_once_t once = PTHREAD_ONCE_INIT;

__attribute__((target("sse4.2"))) static uint32_t over_zeros(uint32_t state)
{
    uint64_t wide = state;
    for (unsigned i = 0; i < LANE / 8; i++)
        wide = __builtin_ia32_crc32di(wide, 0);
    return (uint32_t)wide;
}

static void make_table(void)
{
    for (unsigned place = 0; place < 4; place++) {
        uint32_t bits[8];
        for (unsigned bit = 0; bit < 8; bit++)
            bits[bit] = over_zeros(UINT32_C(1) << (8 * place + bit));
        for (unsigned byte = 0; byte < 256; byte++)
            for (unsigned bit = 0; bit < 8; bit++)
                behind_zeros[place][byte] ^= byte >> bit & 1 ? bits[bit] : 0;
    }
}

static uint32_t skip_lane(uint32_t state)
{
    return behind_zeros[0][state & 0xff] ^ behind_zeros[1][state >> 8 & 0xff] ^
           behind_zeros[2][state >> 16 & 0xff] ^ behind_zeros[3][state >> 24];
}

static inline uint64_t load(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Three lanes at a time; *next and *bytes move on to what is left. */
__attribute__((target("sse4.2"))) static uint32_t take_lanes(uint32_t state, const uint8_t **next,
                                                             size_t *bytes)
{
    pthread_once(&once, make_table);
    for (; *bytes >= 3 * LANE; *next += 3 * LANE, *bytes -= 3 * LANE) {
        const uint8_t *data = *next;
        uint64_t first = state, second = 0, third = 0;
        for (size_t i = 0; i < LANE; i += 8) {
            first = __builtin_ia32_crc32di(first, load(data + i));
            second = __builtin_ia32_crc32di(second, load(data + LANE + i));
            third = __builtin_ia32_crc32di(third, load(data + 2 * LANE + i));
        }
        state = skip_lane(skip_lane((uint32_t)first) ^ (uint32_t)second) ^ (uint32_t)third;
    }
    return state;
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *data, size_t bytes)
{
    const uint8_t *next = data;
    uint64_t state = (uint32_t)~crc;
    if (bytes >= 3 * LANE)
        state = take_lanes((uint32_t)state, &next, &bytes);
    for (; bytes >= 8; bytes -= 8, next += 8)
        state = __builtin_ia32_crc32di(state, load(next));
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
