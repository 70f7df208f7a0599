/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/surprise.h"

#include <math.h>

/* Whether a transfer counts; one that takes longer than `most_s` is a surprise. */
static bool counts(struct surprise *surprise, double most_s, double seconds, int64_t now_ns)
{
    if (seconds <= most_s) {
        *surprise = (struct surprise){0};
        return true;
    }
    const int64_t begun_ns = now_ns - (int64_t)(seconds * 1e9);
    surprise->believed = surprise->believed || (surprise->until_ns != 0 && begun_ns >= surprise->until_ns);
    surprise->until_ns = now_ns;
    return surprise->believed;
}

static double most_s(double expected_s, double times, double more_s)
{
    if (!(expected_s > 0))
        return HUGE_VAL;
    return fmax(times * expected_s, expected_s + more_s);
}

bool surprise_counts(struct surprise *surprise, double expected_s, double seconds, int64_t now_ns)
{
    return counts(surprise, most_s(expected_s, SURPRISE_TIMES, SURPRISE_S), seconds, now_ns);
}

bool surprise_first_counts(struct surprise *surprise, double expected_s, double seconds, int64_t now_ns)
{
    return counts(surprise, most_s(expected_s, SURPRISE_FIRST_TIMES, SURPRISE_FIRST_S), seconds, now_ns);
}
