/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides whether a transfer that took much longer than expected says something about its link. Either an
 * end was stopped or busy meanwhile, or the link has become slow. So one surprising transfer does not
 * count. It counts when the next transfer, started after the first one ended, is slow too; transfers at
 * the same time saw the same pause. Pure data; time is passed in. */
#ifndef CORE_SURPRISE_H
#define CORE_SURPRISE_H

#include <stdbool.h>
#include <stdint.h>

/* A transfer is a surprise if it exceeds the expectation by this factor and by this many seconds; below
 * that, schedulers and lost packets are the likely cause. */
#define SURPRISE_TIMES 4.0
#define SURPRISE_S     0.2

/* Limits for the first transfer over a link, whose expectation is only estimated: a retransmission takes
 * 0.2 s. */
#define SURPRISE_FIRST_TIMES 1.5
#define SURPRISE_FIRST_S     0.1

/* State of one direction of one link. All zero: no surprise. */
struct surprise {
    int64_t until_ns; /* when the last surprising transfer ended; 0: the last one was no surprise */
    bool believed;    /* a surprise was confirmed, and no transfer has been faster since */
};

/* Whether a transfer that took `seconds` and ends now counts; `expected_s` by what is known about the link
 * (0: nothing, and everything counts). */
bool surprise_counts(struct surprise *surprise, double expected_s, double seconds, int64_t now_ns);
/* Like surprise_counts(), for a first transfer. */
bool surprise_first_counts(struct surprise *surprise, double expected_s, double seconds, int64_t now_ns);

#endif
