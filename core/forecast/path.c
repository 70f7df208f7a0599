/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/path.h"

#include "core/message/chunk.h"

#include <math.h>

/* Returns the window after the last of the bytes, sent at once. The window grows by acknowledged bytes
 * only as far as the bytes on their way had filled half of it. */
static double opened(double window, double bytes)
{
    return fmax(window, fmin(window + bytes, 2 * fmin(window, bytes)));
}

double path_window(double window, double bytes)
{
    window = fmax(window, PATH_FIRST_WINDOW);
    for (; bytes > window; window *= 2)
        bytes -= window;
    return opened(window, bytes);
}

double path_grown_s(double latency_s, double inverse_bandwidth, double *window, double bytes)
{
    const double round_trip_s = 2 * latency_s;
    double seconds = latency_s;
    *window = fmax(*window, PATH_FIRST_WINDOW);
    /* Each round doubles the bytes sent: 40 rounds exceed any memory. */
    for (int round = 0;
         inverse_bandwidth > 0 && round < 40 && bytes > *window && *window * inverse_bandwidth < round_trip_s;
         round++) {
        seconds += round_trip_s;
        bytes -= *window;
        *window *= 2;
    }
    *window = opened(*window, bytes);
    return seconds + bytes * inverse_bandwidth;
}

double path_time_s(double latency_s, double inverse_bandwidth, double bytes)
{
    double window = PATH_FIRST_WINDOW;
    return path_grown_s(latency_s, inverse_bandwidth, &window, bytes);
}

/* A transfer whose rate is computed. */
struct sought {
    double (*time)(const struct sought *sought, double inverse_bandwidth);
    double latency_s, bytes, window;
    double back, window_back; /* of a call, the bytes of its answer */
};

/* Finds the seconds per byte for which the transfer takes that long: everything else only adds to bytes
 * times that. */
static double solve(const struct sought *sought, double seconds)
{
    const double bytes = sought->bytes + sought->back;
    double least = 0, most = bytes > 0 && seconds > 0 ? seconds / bytes : 0;
    for (int i = 0; i < 60; i++) {
        const double middle = (least + most) / 2;
        if (sought->time(sought, middle) > seconds)
            most = middle;
        else
            least = middle;
    }
    return least;
}

static double time_of_bytes(const struct sought *sought, double inverse_bandwidth)
{
    return path_time_s(sought->latency_s, inverse_bandwidth, sought->bytes);
}

double path_inverse_bandwidth(double latency_s, double bytes, double seconds)
{
    const struct sought sought = {time_of_bytes, latency_s, bytes, 0, 0, 0};
    return solve(&sought, seconds + latency_s);
}

static double time_of_exchange(const struct sought *sought, double inverse_bandwidth)
{
    double window = sought->window, window_back = sought->window_back;
    return path_grown_s(sought->latency_s, inverse_bandwidth, &window, sought->bytes) +
           path_grown_s(sought->latency_s, inverse_bandwidth, &window_back, sought->back);
}

double path_exchange_inverse(double latency_s, struct path_exchange exchange, double seconds)
{
    const struct sought sought = {time_of_exchange, latency_s,     exchange.bytes,
                                  exchange.window,  exchange.back, exchange.window_back};
    return solve(&sought, seconds);
}

/* ---- chunks ---- */

struct stream {
    double round_trip_s, inverse_bandwidth;
    double share;  /* the least share of the rate, because other streams are active */
    double window; /* the present window of its connection */
};

/* While one stream waits for an answer, the other has the whole rate. */
static double one_chunk_s(struct stream *stream, double bytes)
{
    const double least_s = bytes * stream->inverse_bandwidth / stream->share;
    const double filled = stream->round_trip_s * stream->share;
    double seconds = stream->round_trip_s;
    while (bytes > stream->window && stream->window * stream->inverse_bandwidth < filled) {
        seconds += stream->round_trip_s;
        bytes -= stream->window;
        stream->window *= 2;
    }
    stream->window = opened(stream->window, bytes);
    return fmax(seconds + bytes * stream->inverse_bandwidth, least_s);
}

/* Most chunks that are computed one by one, if their times never become equal. */
#define MOST_CHUNKS 64

double path_chunks_grown_s(double latency_s, double inverse_bandwidth, double *window, double bytes)
{
    const unsigned streams = bytes > (double)CHUNK_SINGLE ? 2 : 1;
    struct stream stream = {2 * latency_s, inverse_bandwidth, 1.0 / streams,
                            fmax(*window, PATH_FIRST_WINDOW)};
    double left = bytes / streams, seconds = 0, last_s = 0;
    uint64_t length = 0;
    bool is_grown = false; /* when the window no longer limits a chunk, all later chunks of its length take
                              equally long */
    if (!(inverse_bandwidth > 0))
        return 2 * latency_s;
    for (int i = 0; left > 0; i++) {
        const uint64_t next = chunk_length(length, (int64_t)(1e9 * fmin(last_s, 1e6)));
        const bool alike = (is_grown && next == length) || i == MOST_CHUNKS;
        is_grown = stream.window >= (double)next;
        length = next;
        last_s = one_chunk_s(&stream, fmin((double)length, left));
        const double n = alike ? fmax(floor(left / (double)length), 1) : 1;
        seconds += n * last_s;
        left -= n * (double)length;
    }
    *window = stream.window;
    return seconds;
}

double path_chunks_s(double latency_s, double inverse_bandwidth, double bytes)
{
    double window = PATH_FIRST_WINDOW;
    return path_chunks_grown_s(latency_s, inverse_bandwidth, &window, bytes);
}

static double time_of_chunks(const struct sought *sought, double inverse_bandwidth)
{
    double window = sought->window;
    return path_chunks_grown_s(sought->latency_s, inverse_bandwidth, &window, sought->bytes);
}

double path_chunks_inverse(double latency_s, double window, double bytes, double seconds)
{
    const struct sought sought = {time_of_chunks, latency_s, bytes, window, 0, 0};
    return solve(&sought, seconds);
}

/* ---- calls ---- */

double path_call_s(double latency_s, double inverse_bandwidth, struct path_load load,
                   struct path_opening opening)
{
    double window = opening.window;
    const double before_s = 2 * latency_s * opening.trips;
    const double call_s = path_grown_s(latency_s, inverse_bandwidth, &window, load.inside);
    if (load.chunks <= 0)
        return before_s + call_s;
    return before_s + call_s + latency_s +
           path_chunks_grown_s(latency_s, inverse_bandwidth, &window, load.chunks) + latency_s;
}

double path_results_s(double latency_s, double inverse_bandwidth, struct path_load load,
                      struct path_opening opening)
{
    double window = opening.window_back;
    const double answer_s = path_grown_s(latency_s, inverse_bandwidth, &window, load.inside);
    return load.chunks > 0
               ? answer_s + path_chunks_grown_s(latency_s, inverse_bandwidth, &window, load.chunks)
               : answer_s;
}

/* ---- paths ---- */

double path_inverse(const struct path *path)
{
    return path->bandwidth_bps > 0 ? 1 / path->bandwidth_bps : 0;
}

double path_seconds(const struct path *path, uint64_t bytes)
{
    if (!path->known)
        return 0;
    return path_time_s(path->latency_s > 0 ? path->latency_s : 0, path_inverse(path), (double)bytes);
}

double path_datum_seconds(const struct path *path, uint64_t bytes)
{
    struct path taken = *path;
    if (!taken.known)
        taken = (struct path){true, PATH_LINK_LATENCY_S, PATH_LINK_BPS, 0};
    else if (taken.bandwidth_bps <= 0 && taken.latency_s > 0)
        taken.bandwidth_bps = PATH_LINK_BPS;
    /* However fast the link, a datum must be requested, moved and released. */
    if ((taken.bandwidth_bps > 0 || taken.latency_s > 0) && taken.latency_s < PATH_LINK_LATENCY_S)
        taken.latency_s = PATH_LINK_LATENCY_S;
    return path_seconds(&taken, bytes);
}

/* A bandwidth of 0 was not measured: the other one counts. */
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
