/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/window.h"

#include "core/forecast/path.h"

#include <math.h>
#include <string.h>

/* Segment size of an Ethernet. */
#define SEGMENT 1448.0
/* Window to which small messages, each acknowledged by itself, open a kept window (BBR: 2.89 times the
 * four segments that its rate counts at least, and three for the host on either side). */
#define OPENED_BY_FEW (18 * SEGMENT)
/* Linux: the least retransmission timeout beyond the round trip, when that does not vary. */
#define LEAST_TIMEOUT_S 0.2

struct window_habit window_habit(const char *congestion_control, const char *slow_start_after_idle)
{
    return (struct window_habit){strncmp(congestion_control, "bbr", 3) == 0 || *slow_start_after_idle == '0'};
}

double window_now(const struct window *window, struct window_habit habit, double round_trip_s, int64_t now_ns)
{
    const double idle_s = (double)(now_ns - window->used_ns) / 1e9;
    const double halvings = floor(fmin(idle_s / (LEAST_TIMEOUT_S + round_trip_s), 64));
    const double left = habit.keeps || halvings < 1 ? window->bytes : window->bytes / exp2(halvings);
    return fmax(left, PATH_FIRST_WINDOW);
}

void window_message(struct window *window, struct window_habit habit, double round_trip_s, double bytes,
                    int64_t now_ns)
{
    double now = path_window(window_now(window, habit, round_trip_s, now_ns), bytes);
    if (habit.keeps && now < OPENED_BY_FEW)
        now = fmax(now, fmin(now + ceil(bytes / SEGMENT) * SEGMENT, OPENED_BY_FEW));
    *window = (struct window){now, now_ns};
}

void window_grew(struct window *window, double bytes, double round_trip_s, double inverse_bandwidth,
                 int64_t now_ns)
{
    if (inverse_bandwidth > 0)
        bytes = fmin(bytes, 2 * round_trip_s / inverse_bandwidth);
    *window = (struct window){fmax(bytes, PATH_FIRST_WINDOW), now_ns};
}
