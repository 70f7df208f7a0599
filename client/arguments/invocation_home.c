/* SPDX-License-Identifier: Apache-2.0
 *
 * What nobody but a sequence wants to be on servers has memory of the program as well: a call that no server
 * has the memory for is tried without leaving it there, before it fails.
 */
#include "client/arguments/invocation_hold.h"

#include "client/data/guard.h"
#include "client/data/holding.h"

#include <stdlib.h>

static bool bring_result(struct value *value)
{
    const bool comes = value->result && value->is_kept && !value->grid && !value->kept && value->out;
    if (comes) {
        value->is_kept = false;
        guard_forget(value->out, value->bytes); /* what an earlier call has left there */
    }
    return comes;
}

/* What was put on a server already stays there for others; here it is sent. */
static bool bring_input(struct value *value)
{
    if (!value->held || value->held->required || value->grid || !value->in)
        return false;
    holding_release(value->held);
    value->held = NULL;
    free(value->datum);
    value->datum = NULL;
    value->holder[0] = 0;
    return true;
}

bool hold_bring_home(struct invocation *invocation)
{
    bool any = false;
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        any |= bring_result(&invocation->values[i]);
        any |= bring_input(&invocation->values[i]);
    }
    return any;
}
