/* SPDX-License-Identifier: Apache-2.0 */
#include "util/crc32c_x86.h"

#if defined __x86_64__

#include <immintrin.h>
#include <string.h>

/* A block consists of four lanes and a run as long as all of them. Lanes are summed by the CRC32
 * instruction in parallel, because it takes three cycles but one can start in each cycle. The run is
 * folded in registers of 256 bits. Longer lanes are faster for data from memory, so small blocks are used
 * only for the remainder after large ones. */
enum { LANES = 4, WIDTH = 32, FOLDERS = 4, LARGE_BLOCK = 131072 };

/* Powers of x modulo the Castagnoli polynomial P; bit 31 stands for x^0. The carry-less product of two
 * such reflected numbers is that of the polynomials times x, and the instruction multiplies its input by
 * x^32: hence the exponents. */
#define X1087 UINT64_C(0x6577b245) /* 8 * WIDTH * FOLDERS + 63 */
#define X1023 UINT64_C(0x7417153f) /* 8 * WIDTH * FOLDERS - 1 */
#define X191  UINT64_C(0x3743f7bd) /* 128 + 63 */
#define X127  UINT64_C(0x3171d430) /* 128 - 1 */

struct kind {
    size_t block;
    uint64_t behind[LANES]; /* x^(8 n - 33), n the bytes of a block after each lane */
};
static const struct kind small = {CRC32C_X86_BLOCK, {0x1994f83a, 0xc1f19ee1, 0xe2f1a204, 0x54a86326}},
                         large = {LARGE_BLOCK, {0x1a0e568c, 0xec132bea, 0xa0535a61, 0xc5013a36}};

#define IN_LINE static inline __attribute__((always_inline))
#define FOR_IT  __attribute__((target("sse4.2,pclmul,avx2,vpclmulqdq")))

bool crc32c_x86_fits(void)
{
    return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.2") &&
           !__builtin_cpu_supports("avx512f");
}

IN_LINE uint64_t word(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

FOR_IT IN_LINE __m256i wide(const unsigned char *at)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

/* Adds the next 8 bytes of each lane. */
FOR_IT IN_LINE void sum_words(uint64_t sums[LANES], const unsigned char *at, size_t lane_bytes)
{
#pragma GCC unroll 4
    for (int lane = 0; lane < LANES; lane++)
        sums[lane] = _mm_crc32_u64(sums[lane], word(at + (size_t)lane * lane_bytes));
}

/* Shifts the folded value of the earlier bytes onto the next ones. */
FOR_IT IN_LINE __m256i fold(__m256i folded, __m256i next)
{
    const __m256i ahead = _mm256_set_epi64x(X1023 << 32, X1087 << 32, X1023 << 32, X1087 << 32);
    return _mm256_xor_si256(_mm256_xor_si256(_mm256_clmulepi64_epi128(folded, ahead, 0x00), next),
                            _mm256_clmulepi64_epi128(folded, ahead, 0x11));
}

FOR_IT static uint64_t sum_of_folded(const __m256i folded[FOLDERS])
{
    const __m128i ahead = _mm_set_epi64x(X127 << 32, X191 << 32);
    __m128i all = _mm_setzero_si128();
#pragma GCC unroll 8
    for (int i = 0; i < 2 * FOLDERS; i++) {
        const __m128i half =
            i % 2 == 0 ? _mm256_castsi256_si128(folded[i / 2]) : _mm256_extracti128_si256(folded[i / 2], 1);
        all = _mm_xor_si128(
            _mm_xor_si128(_mm_clmulepi64_si128(all, ahead, 0x00), _mm_clmulepi64_si128(all, ahead, 0x11)),
            half);
    }
    return _mm_crc32_u64(_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(all)),
                         (uint64_t)_mm_extract_epi64(all, 1));
}

/* Shifts each lane's sum past the bytes that follow the lane, and combines them. */
FOR_IT static uint64_t sum_of_lanes(const uint64_t sums[LANES], const uint64_t behind[LANES])
{
    __m128i all = _mm_setzero_si128();
    for (int lane = 0; lane < LANES; lane++)
        all = _mm_xor_si128(all, _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)sums[lane]),
                                                      _mm_cvtsi64_si128((long long)behind[lane]), 0x00));
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(all));
}

FOR_IT IN_LINE uint32_t sum_block(uint32_t state, const unsigned char *lanes, const struct kind *kind)
{
    const size_t lane = kind->block / (2 * LANES);
    const unsigned char *run = lanes + LANES * lane;
    uint64_t sums[LANES] = {state};
    __m256i folded[FOLDERS];
#pragma GCC unroll 4
    for (size_t i = 0; i < FOLDERS; i++) {
        folded[i] = wide(run + i * WIDTH);
        sum_words(sums, lanes + 8 * i, lane);
    }
    for (size_t at = 8 * FOLDERS; at < lane; at += 8 * FOLDERS)
#pragma GCC unroll 4
        for (size_t i = 0; i < FOLDERS; i++) {
            folded[i] = fold(folded[i], wide(run + LANES * at + i * WIDTH));
            sum_words(sums, lanes + at + 8 * i, lane);
        }
    return (uint32_t)(sum_of_lanes(sums, kind->behind) ^ sum_of_folded(folded));
}

FOR_IT uint32_t crc32c_x86(uint32_t state, const unsigned char *data, size_t blocks)
{
    const unsigned char *end = data + blocks * CRC32C_X86_BLOCK;
    for (; (size_t)(end - data) >= LARGE_BLOCK; data += LARGE_BLOCK)
        state = sum_block(state, data, &large);
    for (; data < end; data += CRC32C_X86_BLOCK)
        state = sum_block(state, data, &small);
    return state;
}

#else

bool crc32c_x86_fits(void)
{
    return false;
}

uint32_t crc32c_x86(uint32_t state, const unsigned char *data, size_t blocks)
{
    (void)data;
    (void)blocks;
    return state;
}

#endif
