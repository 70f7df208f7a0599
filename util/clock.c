/* SPDX-License-Identifier: Apache-2.0 */
#include "util/clock.h"

static int64_t system_now_ns(const struct clock *clock)
{
    (void)clock;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

const struct clock clock_system = {.now_ns = system_now_ns};

static int64_t manual_now_ns(const struct clock *clock)
{
    return ((const struct manual_clock *)clock)->time_ns;
}

void manual_clock_init(struct manual_clock *manual, int64_t time_ns)
{
    manual->clock.now_ns = manual_now_ns;
    manual->time_ns = time_ns;
}

struct timespec clock_ms_from_now(clockid_t of, int64_t ms)
{
    struct timespec until;
    clock_gettime(of, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * NS_PER_MS;
    if (until.tv_nsec >= NS_PER_S) {
        until.tv_sec++;
        until.tv_nsec -= NS_PER_S;
    }
    return until;
}
