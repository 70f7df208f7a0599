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

/* Greetings to one node, over one connection. */
struct soundings {
    sounding_greeting *greet;
    void *arg;
    double most_s, spent_s;
    double window; /* that the connection has grown to by those before */
};

/* The quickest of some with the same ballast. */
struct quickest {
    uint32_t bytes;
    double took_s, window; /* when it began */
};

/* What else happens on the way makes it longer, and nothing shorter. */
static bool quickest_of_some(struct soundings *soundings, struct quickest *quickest)
{
    const double begun_s = soundings->spent_s;
    double took_s;
    for (int i = 0; i < TRIES; i++) {
        if (i > 0 && ((i > 1 && soundings->spent_s - begun_s > TRIES_S) ||
                      soundings->spent_s + quickest->took_s > soundings->most_s))
            break;
        if (!soundings->greet(soundings->arg, quickest->bytes, &took_s))
            return i > 0;
        soundings->spent_s += took_s;
        if (i == 0 || took_s < quickest->took_s)
            quickest->took_s = took_s, quickest->window = soundings->window;
        soundings->window = path_window(soundings->window, quickest->bytes);
    }
    return true;
}

/* The answer is small: what the ballast took beyond a greeting without, it took on its way there. Where that
 * is no more than slow start explains, of a connection that had grown so far, the rate is hidden: *inverse 0.
 */
static bool measure(struct soundings *soundings, uint32_t most_bytes, double *trip_s,
                    struct quickest *ballast, double *inverse)
{
    struct quickest light = {.bytes = 0};
    double connect_s;
    if (!soundings->greet(soundings->arg, 0, &connect_s) || !quickest_of_some(soundings, &light))
        return false;
    *trip_s = light.took_s;
    for (ballast->bytes = LIGHT_BYTES;; ballast->bytes = HEAVY_BYTES) {
        if (!quickest_of_some(soundings, ballast))
            return false;
        const struct path_exchange exchange = {ballast->bytes, ballast->window, 0, 0};
        *inverse = path_exchange_inverse(*trip_s / 2, exchange, ballast->took_s);
        if (ballast->bytes == most_bytes || (ballast->took_s >= LONG_S && *inverse > 0) ||
            soundings->spent_s >= soundings->most_s)
            return ballast->took_s > 0;
    }
}

/* Where the rate is hidden, what passed in the time is the least that it is. */
bool sounding_measure(sounding_greeting *greet, void *arg, double most_s, double *trip_s, double *rate_bps)
{
    struct soundings soundings = {.greet = greet, .arg = arg, .most_s = most_s};
    struct quickest ballast = {0};
    double inverse;
    *rate_bps = 0;
    if (!measure(&soundings, HEAVY_BYTES, trip_s, &ballast, &inverse))
        return false;
    *rate_bps = inverse > 0 ? 1 / inverse : ballast.bytes / ballast.took_s;
    return true;
}

bool sounding_glance(sounding_greeting *greet, void *arg, double most_s, double *trip_s, double *rate_bps)
{
    struct soundings soundings = {.greet = greet, .arg = arg, .most_s = most_s};
    struct quickest ballast = {0};
    double inverse;
    *rate_bps = 0;
    if (!measure(&soundings, LIGHT_BYTES, trip_s, &ballast, &inverse))
        return false;
    *rate_bps = inverse > 0 ? 1 / inverse : 0;
    return true;
}
