/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/batch/batch_pace.h"

#include "util/clock.h"

#define LOOK_LEAST_NS (50 * NS_PER_MS)
#define LOOK_MOST_NS  (2 * NS_PER_S)

void batch_pace_begin(struct batch_pace *pace)
{
    *pace = (struct batch_pace){.interval_ns = BATCH_PACE_FIRST_NS, .asked_ns = 0, .due_ns = CLOCK_NEVER};
}

void batch_pace_hurry(struct batch_pace *pace, int64_t now_ns)
{
    pace->interval_ns = BATCH_PACE_FIRST_NS;
    if (pace->due_ns > now_ns + BATCH_PACE_FIRST_NS)
        pace->due_ns = now_ns + BATCH_PACE_FIRST_NS;
}

void batch_pace_asked(struct batch_pace *pace, int64_t now_ns)
{
    pace->asked_ns = now_ns;
    pace->due_ns = now_ns + pace->interval_ns;
    pace->interval_ns += pace->interval_ns / 2;
    if (pace->interval_ns > BATCH_PACE_MOST_NS)
        pace->interval_ns = BATCH_PACE_MOST_NS;
}

void batch_pace_rest(struct batch_pace *pace)
{
    batch_pace_begin(pace);
}

int64_t batch_pace_look_ns(int64_t age_ns)
{
    const int64_t wait_ns = age_ns / 20;
    return wait_ns < LOOK_LEAST_NS ? LOOK_LEAST_NS : wait_ns > LOOK_MOST_NS ? LOOK_MOST_NS : wait_ns;
}
