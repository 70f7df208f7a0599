/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes how long bytes take along a path (struct path, core/message/message_basic.h): from a latency, a
 * rate, and TCP's slow start. Without slow start, a transfer shorter than rate times round trip would seem
 * much faster than it is.
 *
 * The sender starts with PATH_FIRST_WINDOW bytes per round trip and doubles that in each round until the
 * window fills the path; from then on only the rate counts. A used connection starts with the window that
 * it has grown to (core/forecast/window.h). */
#ifndef CORE_PATH_H
#define CORE_PATH_H

#include "core/message/message_basic.h"

/* Ten segments of an Ethernet frame (RFC 6928). */
#define PATH_FIRST_WINDOW 14480.0

/* Returns the seconds for `bytes` over a path with that latency (one way) and seconds per byte (0: the
 * rate is not known, or does not limit). Monotonic in all arguments. Without bytes, the latency. */
double path_time_s(double latency_s, double inverse_bandwidth, double bytes);
/* Like path_time_s(), on a connection with a window of *window bytes (0: new); updates the window. */
double path_grown_s(double latency_s, double inverse_bandwidth, double *window, double bytes);

/* Inverse of path_time_s() without the latency: returns the seconds per byte of a transfer that took
 * `seconds` from the arrival of its first byte. 0: the latency alone explains the time. */
double path_inverse_bandwidth(double latency_s, double bytes, double seconds);

/* Returns the window after sending that many bytes at once with the given window (0: new), on a link of
 * any rate. */
double path_window(double window, double bytes);

/* A call with its arguments inside, and its answer: bytes each way, and the windows of the connection. */
struct path_exchange {
    double bytes, window;
    double back, window_back;
};
/* Returns the seconds per byte, equal in both directions, from the time of the whole exchange; 0 as above. */
double path_exchange_inverse(double latency_s, struct path_exchange exchange, double seconds);

/* Returns the seconds for `bytes` in chunks, as calls move them (core/message/chunk.h), each with its
 * answer, from the start of the first chunk to the answer of the last: on one connection, or on two that
 * share the rate. A connection starts slowly and continues to grow from chunk to chunk. An unknown rate
 * does not limit. Never less than the rate allows. The result may fall a little for a slower link, because
 * chunks get longer. */
double path_chunks_s(double latency_s, double inverse_bandwidth, double bytes);
double path_chunks_grown_s(double latency_s, double inverse_bandwidth, double *window, double bytes);
/* Inverse of path_chunks_grown_s(), like path_inverse_bandwidth(). */
double path_chunks_inverse(double latency_s, double window, double bytes, double seconds);

/* Bytes of a call: within messages, and in chunks. */
struct path_load {
    double inside, chunks;
};
/* The state of a connection before a call: round trips needed for connections and greetings, and its
 * windows in both directions (0: new). */
struct path_opening {
    unsigned trips;
    double window, window_back;
};
/* Returns the seconds until a server has what it needs to start: the call, and for chunks the answer that
 * asks for them, all of them, and the message to start. */
double path_call_s(double latency_s, double inverse_bandwidth, struct path_load load,
                   struct path_opening opening);
/* Returns the seconds from the end of the computation until the client has all results. */
double path_results_s(double latency_s, double inverse_bandwidth, struct path_load load,
                      struct path_opening opening);

/* Like path_time_s(), for a struct path; 0 when nothing is known about it, so that an unknown link decides
 * nothing. */
double path_seconds(const struct path *path, uint64_t bytes);
/* Returns the seconds per byte; 0 when the rate is not known, or does not limit. */
double path_inverse(const struct path *path);

/* Returns the seconds to bring a datum along a path between servers. For unknown values of the path,
 * PATH_LINK_LATENCY_S and PATH_LINK_BPS are used; otherwise holding the datum would never be an advantage.
 * The result is at least PATH_LINK_LATENCY_S, because a datum must be requested, moved, and released. A
 * known path without latency and bandwidth is that from a node to itself: 0. */
#define PATH_LINK_LATENCY_S 0.2e-3
#define PATH_LINK_BPS       100e6 /* bytes per second: a gigabit link */
double path_datum_seconds(const struct path *path, uint64_t bytes);

/* Joins path a, then path b: the sum of latencies, the lesser bandwidth in each direction; unknown if one
 * is. */
struct path path_join(struct path a, struct path b);
/* Returns the path in the other direction. */
struct path path_turned(struct path path);

#endif
