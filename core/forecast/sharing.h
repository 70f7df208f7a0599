/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a transfer would have had to itself what it shared with others on the same link: a clock that goes
 * as much more slowly as more of them are under way. (Two at a time, each as long as both together, do not
 * make the link half as quick.) Not thread-safe: the owner's lock.
 */
#ifndef CORE_SHARING_H
#define CORE_SHARING_H

#include <stdint.h>

/* All-zero: nobody. */
struct sharing {
    double own_ns; /* of the slower clock */
    int64_t since_ns;
    unsigned n; /* under way */
};

/* One more begins; what the clock says, for sharing_end(). */
double sharing_begin(struct sharing *sharing, int64_t now_ns);
/* It ends: the seconds that it had. */
double sharing_end(struct sharing *sharing, int64_t now_ns, double begun_ns);

#endif
