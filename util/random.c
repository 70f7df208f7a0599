/* SPDX-License-Identifier: Apache-2.0 */
#include "util/random.h"

#include <errno.h>
#include <sys/random.h>

enum esp_status random_bytes(void *data, size_t bytes, struct esp_error *error)
{
    char *next = data;
    while (bytes > 0) {
        ssize_t n = getrandom(next, bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(error, "cannot get random numbers");
        next += n;
        bytes -= (size_t)n;
    }
    return ESP_OK;
}

/* Steele, Lea and Flood, 2014: spreads a seed over a state that is never all zero. */
static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void random_seed(struct random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        random->state[i] = splitmix64(&seed);
}

static uint64_t rotate(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

uint64_t random_next(struct random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9, shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t random_below(struct random *random, uint64_t bound)
{
    if (bound == 0)
        return 0;
    uint64_t x,
        uneven =
            -bound %
            bound; /* 2^64 mod bound: smaller results are rejected, because they would occur once too often */
    do
        x = random_next(random);
    while (x < uneven);
    return x % bound;
}

double random_real(struct random *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}
