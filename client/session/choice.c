/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/choice.h"
#include "client/session/attempt.h"

#include <stdlib.h>

bool choice_of(const struct submit_reply *reply, struct choice *choice)
{
    const uint32_t n = reply->n_candidates < MOST_CANDIDATES ? reply->n_candidates : MOST_CANDIDATES;
    *choice = (struct choice){.candidates = malloc((n ? n : 1) * sizeof *choice->candidates)};
    if (!choice->candidates)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct candidate *from = &reply->candidates[i];
        struct session_candidate *to = &choice->candidates[i];
        attempt_copy_text(to->server, sizeof to->server, from->server);
        attempt_copy_text(to->address, sizeof to->address, from->address);
        to->incarnation = from->incarnation;
        to->compute_s = from->compute_s;
        to->queue_s = from->queue_s;
        to->transfer_s = from->transfer_s;
        to->error_s = from->error_s;
        to->tried = false;
        to->status = ESP_OK;
    }
    choice->n = n;
    choice->master = reply->master;
    choice->placement = reply->placement;
    choice->capable = reply->capable;
    choice->asked = reply->asked;
    return true;
}

bool choice_copy(const struct choice *from, uint32_t first, struct choice *to)
{
    *to = *from;
    to->placement = 0;
    if (!(to->candidates = malloc(from->n * sizeof *to->candidates))) {
        *to = (struct choice){0};
        return false;
    }
    to->candidates[0] = from->candidates[first];
    for (uint32_t i = 0, at = 1; i < from->n; i++)
        if (i != first)
            to->candidates[at++] = from->candidates[i];
    return true;
}

void choice_release(struct choice *choice)
{
    free(choice->candidates);
    *choice = (struct choice){0};
}
