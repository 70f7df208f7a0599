/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes how long a neighbour may be silent before it is taken for dead. The limit depends on how
 * regular its messages are: a machine at full load causes no false alarm, and the death of an idle one is
 * noticed early. Mean interval and mean deviation are smoothed as TCP smooths round trips (Jacobson 1988,
 * appendix A), except that a smaller deviation is adopted slowly. The limit is that of an accrual detector
 * (Hayashibara et al. 2004) at a fixed level of suspicion, with bounds. A plain value. */
#ifndef CORE_ARRIVALS_H
#define CORE_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: no message has arrived yet. */
struct arrivals {
    int64_t heard_ns;              /* time of the newest message */
    int64_t mean_ns, deviation_ns; /* of the intervals; 0: none yet */
};

/* Notes a message at `now_ns`. `heartbeat_ns` is the longest regular interval between messages. A message
 * that comes sooner, because there is news, does not count as an interval: it says nothing about how late
 * a heartbeat may be. */
void arrivals_note(struct arrivals *arrivals, int64_t now_ns, int64_t heartbeat_ns);
/* Returns the silence after which the neighbour is dead: between `lease_ns` and ARRIVALS_MOST times
 * `lease_ns`. */
#define ARRIVALS_MOST 4
int64_t arrivals_patience_ns(const struct arrivals *arrivals, int64_t lease_ns);

#endif
