/* SPDX-License-Identifier: Apache-2.0 */
#include "util/clock.h"

#include <time.h>

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
