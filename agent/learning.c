/* SPDX-License-Identifier: Apache-2.0
 *
 * Warm-up of an agent. An agent that was just started does not know the nodes below; they find it with
 * their heartbeats. Servers that have left may return below another parent, and the catalogue of a server
 * arrives after its first report. During the warm-up the agent does not report a problem or a server as
 * unknown. The call waits until the agent knows it, or until all nodes must have been in touch.
 */
#include "agent/agent_internal.h"

#include <stdlib.h>

/* Servers and agents that have lost their parent, or that were below this agent's previous process, send a
 * hello within this time. */
#define EXPECTED_NS NS_PER_S
/* However often a warm-up starts again, no call waits for longer. */
#define LONGEST_WAIT_NS (5 * NS_PER_S)

/* A client's request that arrived during the warm-up. */
struct early {
    struct call *call;
    const struct submit *submit; /* lives as long as the call */
    struct agent *agent;
    struct timer timer; /* when peers are asked for it again */
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

static void expect_within(struct agent *agent, int64_t ns)
{
    const int64_t now_ns = agent_now(agent);
    if (!learning_is(agent))
        agent->learning_ns = now_ns;
    int64_t until_ns = now_ns + ns, most_ns = agent->learning_ns + LONGEST_WAIT_NS;
    if (until_ns > most_ns)
        until_ns = most_ns;
    if (until_ns > agent->learned_ns)
        learn_until(agent, until_ns, NULL);
}

void learning_expect(struct agent *agent)
{
    expect_within(agent, EXPECTED_NS);
}

void learning_expect_back(struct agent *agent)
{
    expect_within(agent, LONGEST_WAIT_NS);
}

bool learning_is(const struct agent *agent)
{
    return agent_now(agent) < agent->learned_ns;
}

static void early_free(struct agent *agent, struct early *early)
{
    timers_cancel(&agent->timers, &early->timer);
    DL_DELETE(agent->early, early);
    agent->n_early--;
    free(early);
}

static void on_early(struct timer *timer, int64_t now_ns, void *context)
{
    struct early *early = context;
    struct agent *agent = early->agent;
    struct call *call = early->call;
    const struct submit *submit = early->submit;
    (void)timer;
    (void)now_ns;
    early_free(agent, early);
    submit_on_call(agent, call, submit);
}

bool learning_keeps(struct agent *agent, struct call *call, const struct submit *submit, bool is_known)
{
    if (!learning_is(agent) || agent->n_early >= agent->options.waiting)
        return false;
    struct early *early = calloc(1, sizeof *early);
    if (!early)
        return false;
    *early = (struct early){.call = call, .submit = submit, .agent = agent};
    early->timer = (struct timer){.fire = on_early, .context = early};
    if (!is_known && agent->n_registered > 0)
        timers_set(&agent->timers, &early->timer, agent_now(agent) + LEARNING_ASK_NS, NULL);
    DL_APPEND(agent->early, early);
    agent->n_early++;
    return true;
}

void learning_go_on(struct agent *agent)
{
    struct early *early, *next;
    queries_catalogs_changed(agent);
    DL_FOREACH_SAFE(agent->early, early, next)
    {
        struct call *call = early->call;
        const struct submit *submit = early->submit;
        if (learning_is(agent) && submit_is_strange(agent, submit))
            continue;
        early_free(agent, early);
        submit_again(agent, call, submit);
    }
}

bool learning_abandon(struct agent *agent, const struct call *call)
{
    struct early *early;
    DL_FOREACH(agent->early, early)
    {
        if (early->call == call) {
            early_free(agent, early);
            return true;
        }
    }
    return false;
}

void learning_clear(struct agent *agent)
{
    while (agent->early)
        early_free(agent, agent->early);
}
