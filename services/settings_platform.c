/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules of platform files: unique names of daemons, and parents that lead to a master agent. */
#include "services/settings.h"
#include "services/node_name.h"
#include "services/settings_tables.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns the agent of that name, or NULL; counts the daemons with that name. */
static const struct platform_agent *platform_find(const struct settings_platform *platform, const char *name,
                                                  size_t *n_found)
{
    const struct platform_agent *found = NULL;
    *n_found = 0;
    for (size_t i = 0; i < platform->n_masters + platform->n_leaders; i++) {
        const struct platform_agent *agent =
            i < platform->n_masters ? &platform->masters[i] : &platform->leaders[i - platform->n_masters];
        if (strcmp(agent->agent.node.name, name) == 0) {
            found = agent;
            ++*n_found;
        }
    }
    for (size_t i = 0; i < platform->n_servers; i++)
        *n_found += strcmp(platform->servers[i].sed.node.name, name) == 0;
    for (size_t i = 0; i < platform->n_redirectors; i++)
        *n_found += strcmp(platform->redirectors[i].node.name, name) == 0;
    return found;
}

bool settings_is_here(const char *host)
{
    char own[HOST_NAME_MAX + 1] = "";
    if (!host || strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0)
        return true;
    if (gethostname(own, sizeof own - 1) != 0 || !*own)
        return false;
    const size_t n = strlen(host);
    return n > 0 && strncmp(own, host, n) == 0 && (!own[n] || own[n] == '.');
}

static bool same_host(const char *a, const char *b)
{
    return settings_is_here(a) ? settings_is_here(b) : b && strcmp(a, b) == 0;
}

/* Checks parent and child on two machines: each must be reachable from the other one. */
static enum esp_status check_reach(const struct settings_node *parent, const struct settings_node *child,
                                   struct esp_error *error)
{
    const struct settings_node *deaf = settings_is_loopback(parent->listen)  ? parent
                                       : settings_is_loopback(child->listen) ? child
                                                                             : NULL;
    if (same_host(parent->host, child->host) || !deaf)
        return ESP_OK;
    return error_set(error, ESP_CONFIG,
                     "\"%s\" and \"%s\" run on different machines: expected listen = \"ADDRESS:0\" of an "
                     "address by which \"%s\" is reached from there, found \"%s\"",
                     parent->name, child->name, deaf->name, deaf->listen);
}

static bool is_redirector(const struct settings_platform *platform, const char *name)
{
    for (size_t i = 0; i < platform->n_redirectors; i++)
        if (strcmp(platform->redirectors[i].node.name, name) == 0)
            return true;
    return false;
}

/* Checks that `name` is unique, and that the chain of parents from `parent` (NULL: none) ends at a master. */
static enum esp_status check_place(const struct settings_platform *platform, const char *name,
                                   const char *parent, struct esp_error *error)
{
    size_t n, steps = 0;
    const char *child = name;
    platform_find(platform, name, &n);
    if (n > 1)
        return error_set(error, ESP_CONFIG, "expected one daemon named \"%s\", found %zu", name, n);
    if (node_name_check_file(name, error) != ESP_OK)
        return error->status;
    while (parent) {
        const struct platform_agent *above = platform_find(platform, parent, &n);
        if (!above)
            return error_set(error, ESP_CONFIG,
                             "\"%s\": expected a master or leader as parent, found \"%s\", which is %s",
                             child, parent,
                             n == 0                            ? "nowhere in the file"
                             : is_redirector(platform, parent) ? "a redirector"
                                                               : "a server");
        if (steps++ > platform->n_leaders)
            return error_set(error, ESP_CONFIG, "\"%s\": its parents lead in a circle, not to a master",
                             name);
        child = parent;
        parent = above->parent;
    }
    return ESP_OK;
}

static enum esp_status finish_platform_agents(struct settings_platform *platform,
                                              struct platform_agent *agents, size_t n, struct arena *arena,
                                              struct esp_error *error)
{
    for (size_t i = 0; i < n; i++) {
        const char *name = agents[i].agent.node.name;
        enum esp_status status = check_place(platform, name, agents[i].parent, error);
        if (status == ESP_OK && (status = settings_finish_agent(&agents[i].agent, arena, error)) != ESP_OK)
            error_prefix(error, "\"%s\"", name);
        size_t borne;
        const struct platform_agent *above =
            agents[i].parent ? platform_find(platform, agents[i].parent, &borne) : NULL;
        if (status == ESP_OK && above)
            status = check_reach(&above->agent.node, &agents[i].agent.node, error);
        for (size_t k = 0; status == ESP_OK && !above && k < platform->n_redirectors; k++)
            status = check_reach(&platform->redirectors[k].node, &agents[i].agent.node, error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

static enum esp_status finish_platform_server(struct settings_platform *platform,
                                              struct platform_server *server, struct arena *arena,
                                              struct esp_error *error)
{
    const char *name = server->sed.node.name;
    enum esp_status status = check_place(platform, name, server->parent, error);
    if (status != ESP_OK)
        return status;
    if (server->sed.problems.n == 0)
        server->sed.problems = platform->problems;
    status = settings_finish_server(&server->sed, arena, error);
    if (status != ESP_OK)
        return error_prefix(error, "\"%s\"", name);
    size_t borne;
    return check_reach(&platform_find(platform, server->parent, &borne)->agent.node, &server->sed.node,
                       error);
}

static enum esp_status finish_platform_redirectors(struct settings_platform *platform, struct arena *arena,
                                                   struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < platform->n_redirectors; i++) {
        char name[32] = "redirector";
        if (i > 0)
            snprintf(name, sizeof name, "redirector%zu", i + 1);
        struct settings_node *node = &platform->redirectors[i].node;
        if (!node->name && !(node->name = arena_strdup(arena, name)))
            return error_no_memory(error, "a name");
    }
    for (size_t i = 0; status == ESP_OK && i < platform->n_redirectors; i++) {
        status = check_place(platform, platform->redirectors[i].node.name, NULL, error);
        if (status == ESP_OK)
            status = settings_finish_redirector(&platform->redirectors[i], arena, error);
    }
    return status;
}

enum esp_status settings_finish_platform(void *settings, struct arena *arena, struct esp_error *error)
{
    struct settings_platform *platform = settings;
    if (platform->n_masters == 0)
        return error_set(error, ESP_CONFIG, "expected at least one section \"master\", found none");
    enum esp_status status = finish_platform_redirectors(platform, arena, error);
    if (status == ESP_OK)
        status = finish_platform_agents(platform, platform->masters, platform->n_masters, arena, error);
    if (status == ESP_OK)
        status = finish_platform_agents(platform, platform->leaders, platform->n_leaders, arena, error);
    for (size_t i = 0; i < platform->n_servers && status == ESP_OK; i++)
        status = finish_platform_server(platform, &platform->servers[i], arena, error);
    return status;
}
