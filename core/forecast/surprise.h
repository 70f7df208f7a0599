/* SPDX-License-Identifier: Apache-2.0
 *
 * Transfers that take much longer than what is known of their link: was one of its ends stopped meanwhile, or
 * busy, then that is no property of the link; or it has become slow. So what surprises alone does not count;
 * it does when the next transfer, begun after the first one's end, says the same. Those under way at the same
 * time tell of the same pause. Pure data; time is passed in.
 */
#ifndef CORE_SURPRISE_H
#define CORE_SURPRISE_H

#include <stdbool.h>
#include <stdint.h>

/* What takes longer by both. Where little is expected, schedulers and lost packets do the same. */
#define SURPRISE_TIMES 4.0
#define SURPRISE_S     0.2

/* A first transfer, of whose link only hearsay is known, and what calls told: a retransmission takes 0.2 s.
 */
#define SURPRISE_FIRST_TIMES 1.5
#define SURPRISE_FIRST_S     0.1

/* Of one direction of one link. All zero: nothing has surprised. */
struct surprise {
    int64_t until_ns; /* when the last transfer that surprised ended; 0: the last one did not */
    bool believed;    /* one has been confirmed, and none has been quicker since */
};

/* Whether a transfer that has taken so long, and ends now, counts; `expected_s` by what is known of the link
 * (0: nothing is, and everything counts). */
bool surprise_counts(struct surprise *surprise, double expected_s, double seconds, int64_t now_ns);
/* The same of a first transfer. */
bool surprise_first_counts(struct surprise *surprise, double expected_s, double seconds, int64_t now_ns);

#endif
