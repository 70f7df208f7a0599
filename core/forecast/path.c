/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/path.h"

#include <math.h>

double path_time_s(double latency_s, double inverse_bandwidth, double bytes)
{
    const double round_trip_s = 2 * latency_s;
    double seconds = latency_s, window = PATH_FIRST_WINDOW;
    /* Each round doubles what has been sent: 40 of them are beyond all that memories hold. */
    for (int round = 0;
         inverse_bandwidth > 0 && round < 40 && bytes > window && window * inverse_bandwidth < round_trip_s;
         round++) {
        seconds += round_trip_s;
        bytes -= window;
        window *= 2;
    }
    return seconds + bytes * inverse_bandwidth;
}

double path_inverse_bandwidth(double latency_s, double bytes, double seconds)
{
    double least = 0, most = bytes > 0 ? seconds / bytes : 0; /* slow start only adds to bytes * rate */
    for (int i = 0; i < 60; i++) {
        const double middle = (least + most) / 2;
        if (path_time_s(latency_s, middle, bytes) - latency_s > seconds)
            most = middle;
        else
            least = middle;
    }
    return least;
}

double path_seconds(const struct path *path, uint64_t bytes)
{
    if (!path->known)
        return 0;
    double inverse_bandwidth = path->bandwidth_bps > 0 ? 1 / path->bandwidth_bps : 0;
    return path_time_s(path->latency_s > 0 ? path->latency_s : 0, inverse_bandwidth, (double)bytes);
}

double path_datum_seconds(const struct path *path, uint64_t bytes)
{
    struct path taken = *path;
    if (!taken.known)
        taken = (struct path){true, PATH_LINK_LATENCY_S, PATH_LINK_BPS, 0};
    else if (taken.bandwidth_bps <= 0 && taken.latency_s > 0)
        taken.bandwidth_bps = PATH_LINK_BPS;
    /* However fast the link, a datum is asked for, moved and let go of. */
    if ((taken.bandwidth_bps > 0 || taken.latency_s > 0) && taken.latency_s < PATH_LINK_LATENCY_S)
        taken.latency_s = PATH_LINK_LATENCY_S;
    return path_seconds(&taken, bytes);
}

/* A bandwidth of 0 is one that nobody has measured: the other one decides. */
static double lesser_bandwidth(double a, double b)
{
    if (a <= 0)
        return b;
    if (b <= 0)
        return a;
    return fmin(a, b);
}

struct path path_turned(struct path path)
{
    const double there_bps = path.bandwidth_bps;
    if (path.back_bps <= 0)
        return path;
    path.bandwidth_bps = path.back_bps;
    path.back_bps = there_bps;
    return path;
}

struct path path_join(struct path a, struct path b)
{
    if (!a.known || !b.known)
        return (struct path){0};
    const bool differs = a.back_bps > 0 || b.back_bps > 0;
    return (struct path){
        .known = true,
        .latency_s = a.latency_s + b.latency_s,
        .bandwidth_bps = lesser_bandwidth(a.bandwidth_bps, b.bandwidth_bps),
        .back_bps =
            differs ? lesser_bandwidth(path_turned(a).bandwidth_bps, path_turned(b).bandwidth_bps) : 0,
    };
}
