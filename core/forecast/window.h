/* SPDX-License-Identifier: Apache-2.0
 *
 * How far a connection's window has grown by what went over it before, and what idling leaves of that. Who
 * uses a connection cannot see it where something else holds it, so it is reckoned as kernels do:
 *
 * - windows grow by what is acknowledged, no further than twice what was on the way at a time (RFC 5681, 3.1;
 *   Linux: tcp_is_cwnd_limited());
 * - one that has idled is halved for each retransmission timeout, down to the first window (RFC 5681, 4.1, as
 *   RFC 2861 has it; Linux: tcp_cwnd_restart()), unless tcp_slow_start_after_idle is off, or the congestion
 *   control looks to its window itself (BBR, which keeps it, and lets small messages open it, too).
 */
#ifndef CORE_WINDOW_H
#define CORE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* Of one direction of a connection. All-zero: nothing went over it. Not thread-safe: the owner's lock. */
struct window {
    double bytes;    /* when it was used last, */
    int64_t used_ns; /* which was then */
};

/* What kernels do with windows that idle. */
struct window_habit {
    bool keeps;
};

/* As congestion control and tcp_slow_start_after_idle tell it: their names in /proc/sys/net/ipv4, as read;
 * "" where that could not be: as RFC 5681 wants it. */
struct window_habit window_habit(const char *congestion_control, const char *slow_start_after_idle);

/* What is left of it now, on a link with that round trip; no less than PATH_FIRST_WINDOW. */
double window_now(const struct window *window, struct window_habit habit, double round_trip_s,
                  int64_t now_ns);
/* A message of so many bytes went, and has been acknowledged now. */
void window_message(struct window *window, struct window_habit habit, double round_trip_s, double bytes,
                    int64_t now_ns);
/* It has grown to so many bytes now (core/forecast/path.h); what is more than twice as many as fill the path,
 * of that many seconds for a byte, meets losses or is not used. */
void window_grew(struct window *window, double bytes, double round_trip_s, double inverse_bandwidth,
                 int64_t now_ns);

#endif
