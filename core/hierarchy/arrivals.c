/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/arrivals.h"

/* Number of mean deviations. On a loaded machine, where intervals are a heartbeat plus an exponential
 * delay, about one interval in 100,000 is longer. */
#define SUSPICION 12
/* Weights (1/n) of a new interval. A longer interval is adopted sooner than a shorter one, so that
 * patience grows quickly under load and shrinks slowly. */
#define MEAN_SHARE 8
#define RISE_SHARE 4
#define FALL_SHARE 32

void arrivals_note(struct arrivals *arrivals, int64_t now_ns, int64_t heartbeat_ns)
{
    const int64_t interval_ns = now_ns - arrivals->heard_ns;
    const bool first = arrivals->heard_ns == 0;
    arrivals->heard_ns = now_ns;
    if (first || interval_ns < heartbeat_ns / 2)
        return;
    if (arrivals->mean_ns == 0) {
        arrivals->mean_ns = interval_ns;
        return;
    }
    const int64_t off_ns = interval_ns - arrivals->mean_ns;
    const int64_t more_ns = (off_ns < 0 ? -off_ns : off_ns) - arrivals->deviation_ns;
    arrivals->mean_ns += off_ns / MEAN_SHARE;
    arrivals->deviation_ns += more_ns / (more_ns > 0 ? RISE_SHARE : FALL_SHARE);
}

int64_t arrivals_patience_ns(const struct arrivals *arrivals, int64_t lease_ns)
{
    const int64_t expected_ns = arrivals->mean_ns + SUSPICION * arrivals->deviation_ns;
    const int64_t most_ns = ARRIVALS_MOST * lease_ns;
    return expected_ns < lease_ns ? lease_ns : expected_ns > most_ns ? most_ns : expected_ns;
}
