/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates an agent from its configuration file.
 */
#include "agent/agent.h"
#include "util/log.h"

#include <stdlib.h>

/* Whether the agent could start again with its configuration file as it is now. */
static enum esp_status check_files(void *arg, struct esp_error *error)
{
    const struct settings_agent *settings = arg;
    return settings->node.file ? settings_check(SETTINGS_AGENT, settings->node.file, error) : ESP_OK;
}

static struct agent_options options_of(const struct settings_agent *settings, uint64_t incarnation)
{
    const struct settings_node *node = &settings->node;
    return (struct agent_options){
        .name = node->name,
        .listen = node->listen,
        .publish = node->publish,
        .incarnation = incarnation,
        .seed = incarnation,
        .scheduler = settings->scheduler,
        .breadth = (uint32_t)settings->breadth,
        .candidates = (uint32_t)settings->candidates,
        .ahead = (uint32_t)settings->ahead,
        .children = (uint32_t)settings->children,
        .waiting = (uint32_t)settings->requests,
        .heartbeat_ms = node->heartbeat_ns / 1000000,
        .learning_ms = node->heartbeat_ns * 3 / 2 / 1000000,
        .lease_ms = node->lease_ns / 1000000,
        .freshness_ms = settings->freshness_ns ? settings->freshness_ns / 1000000 : -1,
        .answer_timeout_ms = settings->answer_timeout_ns / 1000000,
        .placement_lease_ms = settings->placement_lease_ns / 1000000,
        .state_dir = node->state_dir,
        .file_parent = settings->parent,
        .administrators = &node->administrators,
        .control = duty_signal,
        .check = check_files,
        .control_arg = (void *)settings,
    };
}

enum esp_status agent_create_configured(const struct settings_agent *settings, uint64_t incarnation,
                                        const char *probe, struct transport *transport, struct agent **agent,
                                        struct esp_error *error)
{
    struct agent_options options = options_of(settings, incarnation);
    struct node_place place = {0};
    options.probe = probe;
    char shut[SETTINGS_WHY];
    options.loopback_only = settings_is_shut_in(&settings->node, shut);
    enum esp_status status = ESP_OK;
    if (options.state_dir)
        status = place_load(options.state_dir, options.name, &place, error);
    if (status != ESP_OK)
        return status;
    place_heed_file(&place, settings->parent);
    const char **parents =
        calloc(2 + settings->parents.n + settings->redirectors.n + MOST_REFUGES, sizeof *parents);
    if (!parents) {
        place_release(&place);
        return error_no_memory(error, "the parents");
    }
    if (settings->parent) {
        options.n_parents = place_parents(&place, settings->parent, parents);
        for (size_t i = 0; i < settings->parents.n; i++)
            parents[options.n_parents++] = settings->parents.items[i];
        for (size_t i = 0; i < place.refuges.n; i++)
            parents[options.n_parents++] = place.refuges.addresses[i];
        options.parents = parents;
    } else if (settings->redirector) {
        parents[options.n_redirectors++] = settings->redirector;
        for (size_t i = 0; i < settings->redirectors.n; i++)
            parents[options.n_redirectors++] = settings->redirectors.items[i];
        options.redirectors = parents;
    }
    status = agent_create(&options, transport, agent, error);
    place_release(&place);
    free(parents);
    return status;
}

bool agent_reload_configured(struct agent *agent, const struct settings_agent *now,
                             const struct esp_error *error, const char *pending)
{
    struct agent_options options;
    struct esp_error why = *error;
    if (now)
        options = options_of(now, 0);
    const enum esp_status status = agent_renew(agent, now ? &options : NULL, pending, &why);
    if (now && status != ESP_OK)
        log_error("all stays as it was: %s", why.text);
    return status == ESP_OK;
}
