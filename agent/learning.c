/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent that was just started knows nothing of those below: they find it again, with their heartbeats.
 * Servers that have gone may be on their way back by another parent, and what those that have just come solve
 * is heard after them. Meanwhile it does not say that nobody solves a problem, or that a server is not there:
 * who asks waits, and is answered as soon as it is known, or when the agent must have heard of everybody.
 */
#include "agent/agent_internal.h"

#include <stdlib.h>

/* Servers and agents that have lost their parent, or that were below an earlier life of this agent, say hello
 * within this. */
#define EXPECTED_NS NS_PER_S
/* However often that happens, nobody waits for longer. */
#define LONGEST_WAIT_NS (5 * NS_PER_S)

/* A client's request that came too early. */
struct early {
    struct call *call;
    const struct submit *submit; /* lives as long as the call */
    struct early *prev, *next;
};

static void on_learned(struct timer *timer, int64_t now_ns, void *context)
{
    (void)timer;
    (void)now_ns;
    learning_go_on(context);
}

static enum esp_status learn_until(struct agent *agent, int64_t until_ns, struct esp_error *error)
{
    enum esp_status status = timers_set(&agent->timers, &agent->learned, until_ns, error);
    if (status == ESP_OK)
        agent->learned_ns = until_ns;
    return status;
}

enum esp_status learning_begin(struct agent *agent, struct esp_error *error)
{
    const int64_t ms = agent->options.learning_ms;
    agent->learned = (struct timer){.fire = on_learned, .context = agent};
    agent->learning_ns = agent_now(agent);
    return learn_until(
        agent, agent->learning_ns + (ms > 0 ? (ms + MEMBERSHIP_RETRY_MOST_MS) * NS_PER_MS : EXPECTED_NS),
        error);
}

void learning_expect(struct agent *agent)
{
    const int64_t now_ns = agent_now(agent);
    if (!learning_is(agent))
        agent->learning_ns = now_ns;
    int64_t until_ns = now_ns + EXPECTED_NS, most_ns = agent->learning_ns + LONGEST_WAIT_NS;
    if (until_ns > most_ns)
        until_ns = most_ns;
    if (until_ns > agent->learned_ns)
        learn_until(agent, until_ns, NULL);
}

bool learning_is(const struct agent *agent)
{
    return agent_now(agent) < agent->learned_ns;
}

bool learning_keeps(struct agent *agent, struct call *call, const struct submit *submit)
{
    if (!learning_is(agent) || agent->n_early >= agent->options.waiting)
        return false;
    struct early *early = calloc(1, sizeof *early);
    if (!early)
        return false;
    *early = (struct early){.call = call, .submit = submit};
    DL_APPEND(agent->early, early);
    agent->n_early++;
    return true;
}

static void early_free(struct agent *agent, struct early **list, struct early *early)
{
    DL_DELETE(*list, early);
    agent->n_early--;
    free(early);
}

void learning_go_on(struct agent *agent)
{
    queries_catalogs_changed(agent);
    struct early *all = agent->early;
    agent->early = NULL;
    while (all) {
        struct call *call = all->call;
        const struct submit *submit = all->submit;
        early_free(agent, &all, all);
        submit_on_call(agent, call, submit); /* it may come back here */
    }
}

bool learning_abandon(struct agent *agent, const struct call *call)
{
    struct early *early;
    DL_FOREACH(agent->early, early)
    {
        if (early->call == call) {
            early_free(agent, &agent->early, early);
            return true;
        }
    }
    return false;
}

void learning_clear(struct agent *agent)
{
    while (agent->early)
        early_free(agent, &agent->early, agent->early);
}
