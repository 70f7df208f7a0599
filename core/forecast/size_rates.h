/* SPDX-License-Identifier: Apache-2.0
 *
 * Rates by size. A link has one rate; between two programs of one host there is none, only processors, caches
 * and memory, and what stays in a cache moves several times as quickly as what does not. So transfers are
 * kept by classes of sizes, powers of four, and the time of a size that was not measured lies between those
 * of its neighbours: times add up, rates do not. Pure data, not thread-safe: the owner's lock.
 */
#ifndef CORE_SIZE_RATES_H
#define CORE_SIZE_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many bytes take so long. */
struct size_point {
    double bytes, seconds;
};
/* Bytes per second at that size, by points of ascending sizes, which are changed: a size takes no longer than
 * a greater one has. Less than the first, and more than the last, go at the rate of those. 0: without points.
 */
double size_points_rate(struct size_point *points, size_t n, double bytes);

#define SIZE_CLASSES 6         /* the last one has no end */
#define SIZE_FIRST   (1 << 20) /* the first one ends there, */
#define SIZE_STEP    4         /* the next one so many times further on */
#define SIZE_EACH    3         /* transfers of each class count, the last ones: their median */

/* All-zero: nothing is known. */
struct size_rates {
    struct size_class {
        struct size_rate {
            double rate_bps, bytes;
        } last[SIZE_EACH];
        unsigned n; /* ever */
    } classes[SIZE_CLASSES];
};

void size_rates_add(struct size_rates *rates, double bytes, double rate_bps);
/* Bytes per second at that size; 0: nothing is known. */
double size_rates_at(const struct size_rates *rates, double bytes);
/* So many bytes were quicker than that: what is known of their like, and of fewer, is forgotten. */
void size_rates_disprove(struct size_rates *rates, double bytes);
/* What counts of the i-th class; false: it has nothing. */
bool size_rates_class(const struct size_rates *rates, unsigned i, struct size_rate *rate);

#endif
