/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/sharing.h"

static void go_on(struct sharing *sharing, int64_t now_ns)
{
    if (sharing->n > 0)
        sharing->own_ns += (double)(now_ns - sharing->since_ns) / sharing->n;
    sharing->since_ns = now_ns;
}

double sharing_begin(struct sharing *sharing, int64_t now_ns)
{
    go_on(sharing, now_ns);
    sharing->n++;
    return sharing->own_ns;
}

double sharing_end(struct sharing *sharing, int64_t now_ns, double begun_ns)
{
    go_on(sharing, now_ns);
    sharing->n--;
    return (sharing->own_ns - begun_ns) / 1e9;
}
