/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a neighbour may be silent before it is taken for dead: from how regularly it was heard of, so that
 * a machine at full load gives no false alarm, and one with nothing to do no late one. The mean of the
 * intervals and their mean deviation are followed as TCP follows its round trips (Jacobson 1988, appendix A,
 * but a deviation that falls is believed slowly); the patience is what an accrual detector (Hayashibara et
 * al. 2004) would have at a fixed level of suspicion, with bounds. A plain value.
 */
#ifndef CORE_ARRIVALS_H
#define CORE_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: nothing was heard yet. */
struct arrivals {
    int64_t heard_ns;              /* the newest sign of life */
    int64_t mean_ns, deviation_ns; /* of the intervals; 0: none yet */
};

/* A sign of life at `now_ns`; `heartbeat_ns` is how often it should come at least. What comes in between,
 * because there is news, says nothing of how late a heartbeat may be. */
void arrivals_note(struct arrivals *arrivals, int64_t now_ns, int64_t heartbeat_ns);
/* The silence after which it is dead: `lease_ns` at least, ARRIVALS_MOST of them at most. */
#define ARRIVALS_MOST 4
int64_t arrivals_patience_ns(const struct arrivals *arrivals, int64_t lease_ns);

#endif
