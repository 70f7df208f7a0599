/* SPDX-License-Identifier: Apache-2.0 */
#include "util/fingerprint.h"

#include <string.h>

#define LANES 4

/* Odd, so that multiplication by it is invertible; no pattern in its bits. */
#define FACTOR UINT64_C(0xd6e8feb86659fd93)

static uint64_t turn(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

/* Every step is invertible for a given word, so a lane depends on each word that it has read. */
static uint64_t step(uint64_t lane, uint64_t word)
{
    return turn((lane ^ word) * FACTOR, 29);
}

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 32) * FACTOR;
    return value ^ value >> 29;
}

uint64_t fingerprint(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t lanes[LANES] = {bytes, ~(uint64_t)bytes, FACTOR, ~FACTOR}, words[LANES];
    for (; bytes >= sizeof words; bytes -= sizeof words, at += sizeof words) {
        memcpy(words, at, sizeof words);
        for (unsigned i = 0; i < LANES; i++)
            lanes[i] = step(lanes[i], words[i]);
    }
    memset(words, 0, sizeof words);
    if (bytes > 0)
        memcpy(words, at, bytes);
    uint64_t value = 0;
    for (unsigned i = 0; i < LANES; i++)
        value = mix(value ^ mix(step(lanes[i], words[i])));
    return value;
}
