/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/ranks/ranks_wait.h"

#include <math.h>

static double latest_s(const struct busy *busy, uint32_t n, uint32_t first, uint32_t wanted)
{
    double latest = 0;
    for (uint32_t i = 0; i < n; i++)
        if (busy[i].first < first + wanted && first < busy[i].first + busy[i].n)
            latest = fmax(latest, busy[i].left_s);
    return latest;
}

/* Whichever ranks are free soonest, those farther to the front are as soon, until the next ones there are
 * with a call that ends later: so they begin at rank 0 or behind a call. */
double ranks_wait_s(const struct busy *busy, uint32_t n, uint32_t ranks, uint32_t wanted)
{
    double soonest = wanted <= ranks ? latest_s(busy, n, 0, wanted) : INFINITY;
    for (uint32_t i = 0; i < n && soonest > 0; i++) {
        const uint32_t first = busy[i].first + busy[i].n;
        if (first <= ranks && wanted <= ranks - first)
            soonest = fmin(soonest, latest_s(busy, n, first, wanted));
    }
    return soonest;
}
