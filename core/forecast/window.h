/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes how far a connection's window has grown by earlier transfers, and how much idling leaves of it.
 * A user of the ORB's connections cannot read the window, so it is computed as kernels do:
 *
 * - windows grow by acknowledged bytes, to at most twice the bytes on their way at a time (RFC 5681, 3.1;
 *   Linux: tcp_is_cwnd_limited());
 * - the window of an idle connection is halved for each retransmission timeout, down to the first window
 *   (RFC 5681, 4.1, as in RFC 2861; Linux: tcp_cwnd_restart()), unless tcp_slow_start_after_idle is off, or
 *   the congestion control manages its window itself (BBR keeps it, and lets small messages open it, too). */
#ifndef CORE_WINDOW_H
#define CORE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* One direction of a connection. All-zero: unused. Not thread-safe: the owner's lock. */
struct window {
    double bytes;    /* the window at the last use */
    int64_t used_ns; /* time of the last use */
};

/* How a kernel treats the windows of idle connections. */
struct window_habit {
    bool keeps;
};

/* Returns the habit for the given congestion control and tcp_slow_start_after_idle: the contents of these
 * files in /proc/sys/net/ipv4; "" if unreadable: as in RFC 5681. */
struct window_habit window_habit(const char *congestion_control, const char *slow_start_after_idle);

/* Returns the present window on a link with that round trip; at least PATH_FIRST_WINDOW. */
double window_now(const struct window *window, struct window_habit habit, double round_trip_s,
                  int64_t now_ns);
/* Notes that a message of that many bytes was sent, and has been acknowledged now. */
void window_message(struct window *window, struct window_habit habit, double round_trip_s, double bytes,
                    int64_t now_ns);
/* Notes that the window has grown to that many bytes (core/forecast/path.h), at most twice the bytes that
 * fill the path at that many seconds per byte: beyond, there are losses or the window is not used. */
void window_grew(struct window *window, double bytes, double round_trip_s, double inverse_bandwidth,
                 int64_t now_ns);

#endif
