/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/batch/pilots.h"

#include <math.h>

static double sane(double value)
{
    return isfinite(value) && value > 0 ? value : 0;
}

/* How many pilots the backlog is worth, running ones included. While a further pilot waits, the running ones
 * work; it is worth as many further pilots as compute the rest in the time that they have waited. A wait
 * below a second is one: pilots take that long to start. */
static double worth(const struct pilots_view *view)
{
    const double slots = view->slots > 0 ? view->slots : 1;
    const double backlog_s = sane(view->backlog_s) / slots; /* on all slots of one pilot */
    const double wait_s = fmax(sane(view->wait_s), 1);
    const double left_s = backlog_s - view->running * wait_s;
    return left_s > 0 ? view->running + ceil(left_s / wait_s) : 0;
}

static uint32_t least_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

struct pilots_change pilots_plan(const struct pilots_rule *rule, const struct pilots_view *view)
{
    struct pilots_change change = {0};
    const uint32_t present = view->running + view->waiting;
    double wanted = fmin(fmax(worth(view), rule->least), rule->most);
    if (wanted > present) {
        change.start = (uint32_t)wanted - present;
        return change;
    }
    /* Idle pilots end when no call waits: one that waits is about to reach them. */
    const uint32_t idle = sane(view->backlog_s) > 0 ? 0 : least_of(view->idle, view->running);
    const double kept = fmax(wanted, view->running - idle);
    const uint32_t surplus = present > kept ? present - (uint32_t)kept : 0;
    change.withdraw = least_of(surplus, view->waiting);
    change.end = least_of(surplus - change.withdraw, idle);
    return change;
}
