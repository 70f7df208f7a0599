/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent as its configuration file wants it.
 */
#include "agent/agent.h"

#include <stdlib.h>

static struct agent_options options_of(const struct settings_agent *settings, uint64_t incarnation)
{
    const struct settings_node *node = &settings->node;
    return (struct agent_options){
        .name = node->name,
        .listen = node->listen,
        .incarnation = incarnation,
        .seed = incarnation,
        .scheduler = settings->scheduler,
        .breadth = (uint32_t)settings->breadth,
        .candidates = (uint32_t)settings->candidates,
        .children = (uint32_t)settings->children,
        .heartbeat_ms = node->heartbeat_ns / 1000000,
        .lease_ms = node->lease_ns / 1000000,
        .freshness_ms = settings->freshness_ns ? settings->freshness_ns / 1000000 : -1,
        .answer_timeout_ms = settings->answer_timeout_ns / 1000000,
        .placement_lease_ms = settings->placement_lease_ns / 1000000,
    };
}

enum esp_status agent_create_configured(const struct settings_agent *settings, uint64_t incarnation,
                                        struct transport *transport, struct agent **agent,
                                        struct esp_error *error)
{
    struct agent_options options = options_of(settings, incarnation);
    const char **parents = calloc(1 + settings->parents.n, sizeof *parents);
    if (!parents)
        return error_no_memory(error, "the parents");
    if (settings->parent) {
        parents[options.n_parents++] = settings->parent;
        for (size_t i = 0; i < settings->parents.n; i++)
            parents[options.n_parents++] = settings->parents.items[i];
        options.parents = parents;
    } else if (settings->redirector) {
        options.redirectors = (const char *const *)&settings->redirector;
        options.n_redirectors = 1;
    }
    enum esp_status status = agent_create(&options, transport, agent, error);
    free(parents);
    return status;
}
