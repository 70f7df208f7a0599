/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/batch/batch.h"

#include <string.h>

static const char *const names[BATCH_N_STATES] = {
    [BATCH_NEW] = "NEW",       [BATCH_QUEUED] = "QUEUED",
    [BATCH_ACTIVE] = "ACTIVE", [BATCH_COMPLETED] = "COMPLETED",
    [BATCH_FAILED] = "FAILED", [BATCH_CANCELED] = "CANCELED",
};

const char *batch_state_name(enum batch_state state)
{
    return state < BATCH_N_STATES ? names[state] : "?";
}

bool batch_state_find(const char *name, enum batch_state *state)
{
    for (int i = 0; i < BATCH_N_STATES; i++)
        if (strcmp(names[i], name) == 0) {
            *state = (enum batch_state)i;
            return true;
        }
    return false;
}
