/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/redistribution/redistribution_pattern.h"

__extension__ typedef __int128 wide;

int64_t residue(int64_t a, int64_t m)
{
    int64_t rest = a % m;
    return rest < 0 ? rest + m : rest;
}

int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int64_t multiply_modulo(int64_t a, int64_t b, int64_t m)
{
    return (int64_t)((wide)a * b % m);
}

int64_t inverse_modulo(int64_t a, int64_t m)
{
    int64_t r0 = m, r1 = residue(a, m), t0 = 0, t1 = 1;
    while (r1) {
        int64_t quotient = r0 / r1, rest = r0 - quotient * r1, t = t0 - quotient * t1;
        r0 = r1;
        r1 = rest;
        t0 = t1;
        t1 = t;
    }
    return residue(t0, m);
}

void pattern_open(const struct block_cyclic *from, const struct block_cyclic *to, struct pattern *pattern)
{
    /* A block beyond n is one that holds all. */
    int64_t n = from->n,
            r = from->block < n ? from->block
                : n > 0         ? n
                                : 1,
            s = to->block < n ? to->block
                : n > 0       ? n
                              : 1;
    int64_t unit = greatest_common_divisor(r, s), p = from->ranks, q = to->ranks;
    *pattern = (struct pattern){.n = n, .p = p, .q = q, .r = r / unit, .s = s / unit, .unit = unit};
    pattern->s1 = greatest_common_divisor(pattern->s, p);
    pattern->r1 = greatest_common_divisor(pattern->r, q);
    pattern->g0 = greatest_common_divisor(p / pattern->s1, q / pattern->r1);
    pattern->g = pattern->r1 * pattern->s1 * pattern->g0;
    pattern->a = p / pattern->s1 / pattern->g0;
    pattern->b = q / pattern->r1 / pattern->g0;
    /* L = P r Q s / g, times the unit */
    int64_t period = pattern->a * (q / pattern->r1);
    if (__builtin_mul_overflow(period, pattern->r, &period) ||
        __builtin_mul_overflow(period, pattern->s, &period) ||
        __builtin_mul_overflow(period, unit, &period) || period > n)
        period = 0;
    pattern->period = period;
    pattern->period_tail = period ? n % period : n;
}

bool pattern_has_classes(const struct pattern *pattern)
{
    return pattern->period && pattern->s1 == 1 && pattern->r1 == 1;
}

/* How many points of [from, from + length) modulo m lie in [0, to), lengths at most m. */
static int64_t meeting(int64_t from, int64_t length, int64_t to, int64_t m)
{
    int64_t end = from + length, count = 0;
    if (from < to)
        count += (end < to ? end : to) - from;
    if (end > m)
        count += end - m < to ? end - m : to;
    return count;
}

/* The pairs 0 <= x < r, 0 <= y < s with y - x = k modulo g: x and y go round the circle whole times and then
 * on to a rest. */
int64_t pattern_class_length(const struct pattern *pattern, int64_t k)
{
    int64_t g = pattern->g, rounds_x = pattern->r / g, rest_x = pattern->r % g, rounds_y = pattern->s / g,
            rest_y = pattern->s % g;
    return rounds_x * rounds_y * g + rounds_x * rest_y + rounds_y * rest_x + meeting(k, rest_x, rest_y, g);
}

int64_t pattern_offsets(const struct pattern *pattern, int64_t k, int64_t *first)
{
    int64_t least = 1 - pattern->r, z = least + residue(k - least, pattern->g);
    *first = z;
    return z >= pattern->s ? 0 : (pattern->s - 1 - z) / pattern->g + 1;
}

int64_t pattern_class(const struct pattern *pattern, int64_t p, int64_t q)
{
    int64_t g = pattern->g;
    return residue(multiply_modulo(p, pattern->r, g) - multiply_modulo(q, pattern->s, g), g);
}

/* i = (P l + p) r + x = (Q m + q) s + y with z = y - x gives P r l = q s - p r + z modulo Q s; all is
 * divisible by g, which leaves l modulo Q s / g. */
int64_t pattern_run(const struct pattern *pattern, int64_t p, int64_t q, int64_t z, int64_t *start)
{
    int64_t r = pattern->r, s = pattern->s, skipped = z < 0 ? -z : 0, end = s - z < r ? s - z : r;
    int64_t modulus = pattern->q * s / pattern->g, step = pattern->p * r / pattern->g % modulus;
    int64_t offset = residue((q * s - p * r + z) / pattern->g, modulus);
    wide found = multiply_modulo(offset, inverse_modulo(step, modulus), modulus);
    found = (found * pattern->p + p) * r + skipped;
    *start = found * pattern->unit < pattern->n ? (int64_t)found : INT64_MAX;
    return end - skipped;
}
