/* SPDX-License-Identifier: Apache-2.0
 *
 * One dimension of a redistribution: who sends how much to whom, and the symmetries that make schedules
 * cheap.
 *
 * With r and s divided by their gcd (lemma 6), f(p, q) = pr - qs mod g names the class of a pair of ranks; p
 * sends to q when f is the residue of a z with -r < z < s, and the length depends on the class alone
 * (proposition 5). g = r' s' g0 (lemma 8), so that
 *  - f depends on p modulo s' g0 and on q modulo r' g0 only: P = a s' g0 and Q = b r' g0 ranks are copies of
 * these;
 *  - (p, q) -> (p + s, q + r) keeps the class and turns each of g0 such ranks into the next.
 * A proper colouring of the messages of the senders p < s' and their copies against the receivers by orbits
 * (a bipartite multigraph of a s' and b r' nodes, P / g0 and Q / g0) therefore is one of all messages after
 * turning it g0 times, with the same degree, bounds and cost.
 */
#ifndef CORE_REDISTRIBUTION_PATTERN_H
#define CORE_REDISTRIBUTION_PATTERN_H

#include "core/redistribution/block_cyclic.h"
#include <stddef.h>

struct pattern {
    int64_t n, p, q, r, s; /* P, Q, and r and s without their common divisor */
    int64_t unit;          /* that divisor: an element of the pattern is so many elements */
    int64_t s1, r1, g0, g; /* s' = gcd(s, P), r' = gcd(r, Q), g0 = gcd(P / s', Q / r'), g = r' s' g0 */
    int64_t a, b;          /* copies of a sender and of a receiver */
    int64_t period;        /* L, elements after which all repeats; 0: more than n */
    int64_t period_tail;   /* elements of n after the last whole period; n without one */
};

/* Of two good layouts of the same n, 2^40 at most: then P r and Q s fit 64 bits. */
void pattern_open(const struct block_cyclic *from, const struct block_cyclic *to, struct pattern *pattern);

/* Whether scheduling class by class is optimal (proposition 7). */
bool pattern_has_classes(const struct pattern *pattern);

/* Elements, in units, that a pair of class k exchanges in a period (proposition 5, with the sum over z
 * written as the meeting of two intervals on the circle of g points). */
int64_t pattern_class_length(const struct pattern *pattern, int64_t k);

/* All z = k modulo g with -r < z < s: from the first on, every g. Their number. */
int64_t pattern_offsets(const struct pattern *pattern, int64_t k, int64_t *first);

/* The class of sender position p and receiver position q. */
int64_t pattern_class(const struct pattern *pattern, int64_t p, int64_t q);

/* Where in the period (in units) the run with offset z of positions p and q begins (equation E.3). Its length
 * in units is min(r, s - z) - max(0, -z). *start is INT64_MAX when it is beyond n. */
int64_t pattern_run(const struct pattern *pattern, int64_t p, int64_t q, int64_t z, int64_t *start);

/* Numbers modulo m, 1 <= m; a may be negative. */
int64_t residue(int64_t a, int64_t m);
int64_t greatest_common_divisor(int64_t a, int64_t b);
/* b with a b = 1 modulo m, for gcd(a, m) = 1; 0 for m = 1. */
int64_t inverse_modulo(int64_t a, int64_t m);
int64_t multiply_modulo(int64_t a, int64_t b, int64_t m);

#endif
