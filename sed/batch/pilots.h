/* SPDX-License-Identifier: Apache-2.0
 *
 * How many pilots a batch system should run: servers in batch jobs that keep workers for many calls
 * (doc/batch.md). Pure logic.
 *
 * A further pilot helps only if calls still wait when it starts. So the number grows when the backlog lasts
 * longer than a pilot is expected to wait in the queue of the batch system, and shrinks when pilots have been
 * idle.
 */
#ifndef SED_PILOTS_H
#define SED_PILOTS_H

#include <stdint.h>

struct pilots_rule {
    uint32_t least, most; /* pilots, waiting ones included; least <= most */
    double idle_s;        /* a pilot that has nothing to do for so long ends */
};

struct pilots_view {
    uint32_t running, waiting; /* pilots that have started; that wait in the queue of the batch system */
    uint32_t idle;             /* running pilots that have had nothing to do for at least rule->idle_s */
    uint32_t slots;            /* of one pilot, >= 1 */
    double backlog_s;          /* computing time of all calls that wait for a slot, on one slot */
    double wait_s; /* expected time in the queue of the batch system until a further pilot starts */
};

struct pilots_change {
    uint32_t start;    /* pilots to submit */
    uint32_t withdraw; /* waiting pilots to cancel */
    uint32_t end;      /* idle pilots to end */
};

/* Plans the next step. At most one of `start` and of the other two is not 0, and doing it leads to a state in
 * which, with the same backlog, nothing is to be done. Values in `view` that are negative or not finite count
 * as 0.
 */
struct pilots_change pilots_plan(const struct pilots_rule *rule, const struct pilots_view *view);

#endif
