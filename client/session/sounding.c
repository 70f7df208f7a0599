/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/sounding.h"

#include "core/forecast/path.h"

#include <math.h>

/* The second ballast, where the first one is through sooner than this: it tells little of a quick link. */
#define LIGHT_BYTES (64 << 10)
#define HEAVY_BYTES (1 << 20)
#define LONG_S      0.05
/* Greetings of each size; but for the second one, none when they have taken so long together. */
#define TRIES   3
#define TRIES_S 0.4

/* The least of some: what else happens on the way makes it longer, and nothing shorter. */
static bool least_of_some(sounding_greeting *greet, void *arg, uint32_t bytes, double most_s, double *spent_s,
                          double *least_s)
{
    const double begun_s = *spent_s;
    double took_s;
    for (int i = 0; i < TRIES; i++) {
        if (i > 0 && ((i > 1 && *spent_s - begun_s > TRIES_S) || *spent_s + *least_s > most_s))
            break;
        if (!greet(arg, bytes, &took_s))
            return i > 0;
        *spent_s += took_s;
        *least_s = i > 0 ? fmin(*least_s, took_s) : took_s;
    }
    return true;
}

/* The answer is small: what the ballast took beyond a greeting without, it took on its way there. Where that
 * is no more than slow start explains, the rate is hidden: *inverse 0. `bytes` took *took_s. */
static bool measure(sounding_greeting *greet, void *arg, double most_s, uint32_t most_bytes, double *trip_s,
                    uint32_t *bytes, double *took_s, double *inverse)
{
    double connect_s, spent_s = 0;
    if (!greet(arg, 0, &connect_s) || !least_of_some(greet, arg, 0, most_s, &spent_s, trip_s))
        return false;
    for (*bytes = LIGHT_BYTES;; *bytes = HEAVY_BYTES) {
        if (!least_of_some(greet, arg, *bytes, most_s, &spent_s, took_s))
            return false;
        *inverse = path_inverse_bandwidth(*trip_s / 2, *bytes, fmax(*took_s - *trip_s, 0));
        if (*bytes == most_bytes || (*took_s >= LONG_S && *inverse > 0) || spent_s >= most_s)
            return *took_s > 0;
    }
}

/* Where the rate is hidden, what passed in the time is the least that it is. */
bool sounding_measure(sounding_greeting *greet, void *arg, double most_s, double *trip_s, double *rate_bps)
{
    double took_s, inverse;
    uint32_t bytes;
    *rate_bps = 0;
    if (!measure(greet, arg, most_s, HEAVY_BYTES, trip_s, &bytes, &took_s, &inverse))
        return false;
    *rate_bps = inverse > 0 ? 1 / inverse : bytes / took_s;
    return true;
}

bool sounding_glance(sounding_greeting *greet, void *arg, double most_s, double *trip_s, double *rate_bps)
{
    double took_s, inverse;
    uint32_t bytes;
    *rate_bps = 0;
    if (!measure(greet, arg, most_s, LIGHT_BYTES, trip_s, &bytes, &took_s, &inverse))
        return false;
    *rate_bps = inverse > 0 ? 1 / inverse : 0;
    return true;
}
