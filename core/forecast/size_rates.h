/* SPDX-License-Identifier: Apache-2.0
 *
 * Rates by size. A link has one rate. Between two programs of one host, processors, caches and memory
 * determine the rate, and bytes that stay in a cache move several times faster. So transfers are recorded
 * by classes of sizes, powers of four, and the time of a size that was not measured is interpolated
 * between its neighbours (times, because times add up and rates do not). Pure data, not thread-safe: the
 * owner's lock. */
#ifndef CORE_SIZE_RATES_H
#define CORE_SIZE_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A transfer of that many bytes took that long. */
struct size_point {
    double bytes, seconds;
};
/* Returns the bytes per second at that size, by points of ascending sizes. Changes the points: a smaller
 * size never takes longer than a larger one. Below the first and above the last point, their rates apply.
 * 0: no points. */
double size_points_rate(struct size_point *points, size_t n, double bytes);

#define SIZE_CLASSES 6         /* the last class has no upper bound */
#define SIZE_FIRST   (1 << 20) /* upper bound of the first class, */
#define SIZE_STEP    4         /* factor to the bound of the next class */
#define SIZE_EACH    3         /* last transfers of each class that count, by their median */

/* All-zero: nothing measured. */
struct size_rates {
    struct size_class {
        struct size_rate {
            double rate_bps, bytes;
        } last[SIZE_EACH];
        unsigned n; /* ever */
    } classes[SIZE_CLASSES];
};

void size_rates_add(struct size_rates *rates, double bytes, double rate_bps);
/* Returns the bytes per second at that size; 0: not known. */
double size_rates_at(const struct size_rates *rates, double bytes);
/* A transfer of that many bytes was faster than the recorded rate: removes the records of its class and of
 * smaller ones. */
void size_rates_disprove(struct size_rates *rates, double bytes);
/* Gets the record of the i-th class; false: it is empty. */
bool size_rates_class(const struct size_rates *rates, unsigned i, struct size_rate *rate);

#endif
