/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks are passed to the code that needs time, so that a test or a simulation can control time. */
#ifndef UTIL_CLOCK_H
#define UTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S    INT64_C(1000000000)
#define NS_PER_MS   INT64_C(1000000)
#define CLOCK_NEVER INT64_MAX

struct clock {
    /* Monotonic time in nanoseconds from an arbitrary origin. Any thread. */
    int64_t (*now_ns)(const struct clock *clock);
};

/* CLOCK_MONOTONIC. */
extern const struct clock clock_system;

/* A clock that stands still until its owner moves it. */
struct manual_clock {
    struct clock clock; /* first, so that &manual.clock is the clock */
    int64_t time_ns;
};

void manual_clock_init(struct manual_clock *manual, int64_t time_ns);

static inline int64_t clock_now_ns(const struct clock *clock)
{
    return clock->now_ns(clock);
}

/* Returns the time `ms` milliseconds from now, for pthread_cond_timedwait() with a condition of that
 * system clock (CLOCK_MONOTONIC, or CLOCK_REALTIME, the default of conditions). */
struct timespec clock_ms_from_now(clockid_t of, int64_t ms);

#endif
