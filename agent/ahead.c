/* SPDX-License-Identifier: Apache-2.0
 *
 * For a stream of small equal requests, one answer also decides about the following requests:
 * core/choice/ahead.h.
 */
#include "core/choice/ahead.h"
#include "agent/agent_internal.h"

#include <math.h>

/* Returns the server's index among the candidates. Adds the server if there is room; else returns
 * n_candidates. */
static uint32_t candidate_of(const struct request *request, const struct index_entry *entry,
                             const struct index_query *query, struct message *message, uint8_t *costs)
{
    struct submit_reply *reply = &message->submit_reply;
    const struct knowledge_node *node = entry->owner;
    uint32_t i = 0;
    while (i < reply->n_candidates && strcmp(reply->candidates[i].server, node->name) != 0)
        i++;
    if (i == reply->n_candidates && i < AHEAD_SERVERS &&
        submit_candidate(request, entry, query, &message->arena, &reply->candidates[i],
                         costs + i * COST_BYTES_TOLD))
        reply->n_candidates++;
    return i;
}

void ahead_decide(struct agent *agent, const struct variant *variant, const struct request *request,
                  struct message *message, uint8_t *costs)
{
    struct submit_reply *reply = &message->submit_reply;
    const struct ahead_wish wish = ahead_asked(request);
    const uint32_t most = wish.n < agent->options.ahead ? wish.n : agent->options.ahead;
    double left_s = AHEAD_WORK_S;
    uint8_t order[AHEAD_MOST];
    uint32_t n = 0;
    for (; n < most; n++) {
        struct index_entry *next;
        struct index_query query;
        if (submit_select(agent, variant, request, &next, 1, &query) == 0)
            break;
        const uint32_t i = candidate_of(request, next, &query, message, costs);
        if (i == reply->n_candidates)
            break;
        const double seconds = fmax(wish.mean_s, reply->candidates[i].compute_s);
        if ((left_s -= seconds) < 0)
            break;
        knowledge_expect(agent->knowledge, next->owner, seconds);
        order[n] = (uint8_t)i;
    }
    if (ahead_tell(reply, order, n, &message->arena))
        agent->counts.ahead += n;
}
