/* SPDX-License-Identifier: Apache-2.0
 *
 * How long bytes take along a path (struct path, core/message/message_basic.h): a latency, a rate, and TCP's
 * slow start, without which a transfer that is shorter than rate times round trip looks much quicker than it
 * is.
 *
 * The sender begins with PATH_FIRST_WINDOW bytes in a round trip and doubles that with each round until the
 * window fills the path; from then on the rate alone counts. A connection that has been used before begins
 * with the window that it has grown to (core/forecast/window.h).
 */
#ifndef CORE_PATH_H
#define CORE_PATH_H

#include "core/message/message_basic.h"

/* Ten segments of an Ethernet (RFC 6928). */
#define PATH_FIRST_WINDOW 14480.0

/* Seconds for `bytes` over a path of that latency (one way) and that many seconds for a byte (0: the rate is
 * not known, or does not limit). Does not fall when anything grows. No bytes take the latency. */
double path_time_s(double latency_s, double inverse_bandwidth, double bytes);
/* The same on a connection whose window has grown to so many bytes (0: it is new); it goes on growing. */
double path_grown_s(double latency_s, double inverse_bandwidth, double *window, double bytes);

/* The other way round: seconds for a byte, from a transfer of so many bytes over that latency that took
 * `seconds` from its first byte's arrival on (path_time_s() without the latency). 0: no slower than latency
 * explains. */
double path_inverse_bandwidth(double latency_s, double bytes, double seconds);

/* To what a window of so many bytes (0: a new one) opens as so many go at once, on a link of any rate. */
double path_window(double window, double bytes);

/* A call with its arguments in it, and its answer: bytes each way, and the windows of the connection. */
struct path_exchange {
    double bytes, window;
    double back, window_back;
};
/* Seconds for a byte, the same each way, from what both took; 0 as above. */
double path_exchange_inverse(double latency_s, struct path_exchange exchange, double seconds);

/* Seconds for `bytes` in chunks as calls move them (core/message/chunk.h), each of which is answered, from
 * the first one's beginning to the last one's answer: on one connection, or on two that share the rate. A
 * connection begins slowly and goes on from chunk to chunk. A rate that is not known does not limit. Never
 * less than what the rate lets through; it may fall a little where the link is slower, as chunks get longer.
 */
double path_chunks_s(double latency_s, double inverse_bandwidth, double bytes);
double path_chunks_grown_s(double latency_s, double inverse_bandwidth, double *window, double bytes);
/* The other way round, as path_inverse_bandwidth() is, but from all that path_chunks_grown_s() counts. */
double path_chunks_inverse(double latency_s, double window, double bytes, double seconds);

/* What a call is on its way: bytes within messages, and in chunks. */
struct path_load {
    double inside, chunks;
};
/* How it begins: so many round trips for connections and greetings, then a connection whose windows have
 * grown to so many bytes, there and back (0: it is new). */
struct path_opening {
    unsigned trips;
    double window, window_back;
};
/* Seconds until a server has what it needs to begin: the call, and where there are chunks, the answer that
 * asks for them, all of them, and the word to begin. */
double path_call_s(double latency_s, double inverse_bandwidth, struct path_load load,
                   struct path_opening opening);
/* Seconds from the end of the computation until the client has all. */
double path_results_s(double latency_s, double inverse_bandwidth, struct path_load load,
                      struct path_opening opening);

/* The same as path_time_s() of a path; 0 when nothing is known of it: an unknown link decides nothing. */
double path_seconds(const struct path *path, uint64_t bytes);
/* Seconds for a byte; 0 when that is not known, or does not limit. */
double path_inverse(const struct path *path);

/* Seconds to bring a datum along a path between servers. What is not known of the path is taken as
 * PATH_LINK_LATENCY_S and PATH_LINK_BPS: were it nothing, who holds the datum would never be better than who
 * does not. Nor is a datum brought sooner than in PATH_LINK_LATENCY_S: it is asked for, moved, and let go of.
 * A known path without latency and bandwidth is the one from a node to itself: 0. */
#define PATH_LINK_LATENCY_S 0.2e-3
#define PATH_LINK_BPS       100e6 /* bytes per second: a gigabit link */
double path_datum_seconds(const struct path *path, uint64_t bytes);

/* Path a, then path b: the sum of latencies, the lesser bandwidth in either direction; unknown if one is. */
struct path path_join(struct path a, struct path b);
/* The same path the other way round. */
struct path path_turned(struct path path);

#endif
