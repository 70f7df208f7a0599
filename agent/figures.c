/* SPDX-License-Identifier: Apache-2.0
 *
 * Health and metrics of an agent, for its HTTP port.
 */
#include "agent/agent_internal.h"

#include <stdio.h>

bool agent_health(void *self, char *text, size_t size)
{
    struct agent *agent = self;
    endpoint_enter(agent->endpoint);
    const char *parent =
        agent->membership ? membership_parent_name(agent->membership) : registered_name(agent);
    const unsigned servers = knowledge_servers(agent->knowledge);
    const bool good = parent || (!agent->membership && agent->n_registered == 0);
    if (parent)
        snprintf(text, size, "%s below \"%s\", %u servers take sessions",
                 agent->is_master ? "master agent" : "leader agent", parent, servers);
    else if (good)
        snprintf(text, size, "master agent, %u servers take sessions", servers);
    else
        snprintf(text, size, "%s is not reached",
                 agent->is_master ? "no redirector" : "no parent of this leader agent");
    duty_tell_unwritten(&agent->duty, text, size);
    endpoint_leave(agent->endpoint);
    return good;
}

bool agent_settled(void *self, char *why, size_t size)
{
    struct agent *agent = self;
    endpoint_enter(agent->endpoint);
    const bool settled = agent->membership ? membership_is_known_above(agent->membership, why, size)
                                           : registered_settled(agent, why, size);
    endpoint_leave(agent->endpoint);
    return settled;
}

static void requests(const struct agent *agent, struct metrics *metrics)
{
    const struct agent_counts *counts = &agent->counts;
    metrics_family(metrics, "espalier_agent_requests_total", METRIC_COUNTER,
                   "Requests of clients, by what answered them.");
    metrics_sample(metrics, (double)agent->from_memory, "by", "memory", (const char *)NULL);
    metrics_sample(metrics, (double)agent->asked, "by", "asking", (const char *)NULL);
    metrics_statuses(metrics, "espalier_agent_refused_total", &counts->refused,
                     "Requests of clients that got no server, by why.");
    metrics_histogram(metrics, "espalier_agent_answer_seconds", &counts->answered_s,
                      "Time from the arrival of a request to its candidates.");
    metrics_gauge(metrics, "espalier_agent_requests_waiting", agent->undecided,
                  "Requests that wait for answers from below.");
    metrics_counter(metrics, "espalier_agent_asks_total", (double)counts->asks, "Questions from the parent.");
    metrics_counter(metrics, "espalier_agent_unanswered_total", (double)counts->unanswered,
                    "Questions to children that were not answered in time.");
    metrics_counter(metrics, "espalier_agent_passed_on_total", (double)counts->passed_on,
                    "Requests that went on to another master agent, as nobody below could serve them.");
    metrics_counter(metrics, "espalier_agent_passed_here_total", (double)counts->passed_here,
                    "Requests that came from other master agents.");
    metrics_counter(metrics, "espalier_agent_placements_total", (double)agent->placements,
                    "Sessions that were given a server.");
    metrics_counter(metrics, "espalier_agent_placements_ahead_total", (double)counts->ahead,
                    "Placements made ahead, for streams of small equal requests; not all of them are used.");
}

static void tree(const struct agent *agent, struct metrics *metrics)
{
    const struct agent_counts *counts = &agent->counts;
    struct node_record sums = {0};
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next) {
        sums.slots += node->slots;
        sums.running += node->running;
        sums.queued += node->queued;
    }
    metrics_gauge(metrics, "espalier_agent_children", (double)children_count(agent->children),
                  "Agents and servers directly below.");
    metrics_counter(metrics, "espalier_agent_children_joined_total", (double)counts->children_joined,
                    "Times that a child joined.");
    metrics_counter(metrics, "espalier_agent_children_lost_total", (double)counts->children_lost,
                    "Times that a child left, died or fell silent.");
    metrics_gauge(metrics, "espalier_agent_nodes", (double)knowledge_count(agent->knowledge),
                  "Agents and servers below, at any depth.");
    metrics_gauge(metrics, "espalier_agent_servers", knowledge_servers(agent->knowledge),
                  "Servers below that take sessions.");
    metrics_gauge(metrics, "espalier_agent_slots", sums.slots, "Slots of all servers below.");
    metrics_gauge(metrics, "espalier_agent_sessions_running", sums.running, "Sessions that run below.");
    metrics_gauge(metrics, "espalier_agent_sessions_queued", sums.queued, "Sessions that wait below.");
    metrics_gauge(metrics, "espalier_agent_placements_pending", (double)knowledge_pending(agent->knowledge),
                  "Placements whose calls have not arrived yet, as far as known.");
    metrics_gauge(metrics, "espalier_agent_knowledge_age_seconds", knowledge_oldest_s(agent->knowledge),
                  "Age of the oldest thing known below.");
    const bool joined =
        agent->membership ? membership_joined(agent->membership) : registered_name(agent) != NULL;
    metrics_gauge(metrics, "espalier_agent_joined", joined,
                  "1 while there is a tie to a parent, or of a master agent to a redirector.");
}

void agent_metrics(void *self, struct metrics *metrics)
{
    struct agent *agent = self;
    endpoint_enter(agent->endpoint);
    requests(agent, metrics);
    tree(agent, metrics);
    endpoint_leave(agent->endpoint);
}
