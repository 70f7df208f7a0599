/* SPDX-License-Identifier: Apache-2.0 */
#include "client/command/apply_plan.h"

#include <stdlib.h>
#include <string.h>

/* ---- the file's nodes ---- */

static const struct platform_agent *find_agent(const struct settings_platform *platform, const char *name)
{
    for (size_t i = 0; i < platform->n_masters; i++)
        if (strcmp(platform->masters[i].agent.node.name, name) == 0)
            return &platform->masters[i];
    for (size_t i = 0; i < platform->n_leaders; i++)
        if (strcmp(platform->leaders[i].agent.node.name, name) == 0)
            return &platform->leaders[i];
    return NULL;
}

bool plan_find(const struct settings_platform *platform, const char *name, struct step *step)
{
    step->agent = find_agent(platform, name);
    step->server = NULL;
    for (size_t i = 0; i < platform->n_servers && !step->agent && !step->server; i++)
        if (strcmp(platform->servers[i].sed.node.name, name) == 0)
            step->server = &platform->servers[i];
    const char *parent = step->server ? step->server->parent : step->agent ? step->agent->parent : NULL;
    step->parent = parent ? parent : "";
    return step->agent || step->server;
}

static bool is_in_file(const struct settings_platform *platform, const char *name)
{
    struct step step;
    return plan_find(platform, name, &step);
}

/* Steps from the master; the file has no circles. */
static unsigned depth_of(const struct settings_platform *platform, const char *parent)
{
    unsigned depth = 0;
    for (const struct platform_agent *agent; parent && (agent = find_agent(platform, parent)); depth++)
        parent = agent->parent;
    return depth;
}

/* The master that the way up from there ends at. */
static const char *master_of(const struct settings_platform *platform, const char *name)
{
    const struct platform_agent *agent = find_agent(platform, name);
    while (agent && agent->parent) {
        name = agent->parent;
        agent = find_agent(platform, name);
    }
    return name;
}

/* ---- the tree's nodes ---- */

static const struct esp_node *find_node(const struct view *view, const char *name)
{
    for (size_t i = 0; i < view->n; i++)
        if (strcmp(view->nodes[i].name, name) == 0)
            return &view->nodes[i];
    return NULL;
}

static unsigned depth_in_tree(const struct view *view, const struct esp_node *node)
{
    unsigned depth = 0;
    while (depth <= view->n && (node = view_parent(view, node)))
        depth++;
    return depth;
}

/* ---- the difference ---- */

static void add(struct plan *plan, enum step_kind kind, const char *name, const char *parent,
                const struct platform_agent *agent, const struct platform_server *server,
                const struct esp_node *node)
{
    plan->steps[plan->n++] = (struct step){.kind = kind,
                                           .name = name,
                                           .parent = parent ? parent : "",
                                           .agent = agent,
                                           .server = server,
                                           .node = node};
}

static enum esp_status check_role(const struct esp_node *node, enum esp_role role, struct esp_error *error)
{
    if (node->role == role)
        return ESP_OK;
    return error_set(error, ESP_REFUSED,
                     "'%s' is a %s in the tree and a %s in the file: remove it first, or give one of them "
                     "another name",
                     node->name, esp_role_name(node->role), esp_role_name(role));
}

/* Orders go down from the top of a tree, so nothing moves from one tree to another. */
static enum esp_status check_tree(const struct settings_platform *platform, const struct view *view,
                                  const struct esp_node *node, const char *parent, struct esp_error *error)
{
    const struct esp_node *top = view_top(view, node);
    const char *master = master_of(platform, parent);
    if (top && strcmp(top->name, master) == 0)
        return ESP_OK;
    return error_set(error, ESP_REFUSED,
                     "'%s' is below the master agent '%s' and would be below '%s': nodes do not move between "
                     "trees; remove it there, then apply the file again",
                     node->name, top ? top->name : "", master);
}

static enum esp_status compare(const struct settings_platform *platform, const struct view *view,
                               const char *name, const char *parent, enum esp_role role,
                               const struct platform_agent *agent, const struct platform_server *server,
                               struct plan *plan, struct esp_error *error)
{
    const struct esp_node *node = find_node(view, name);
    enum esp_status status = ESP_OK;
    if (node)
        status = check_role(node, role, error);
    if (status != ESP_OK)
        return status;
    if (!node || node->unreachable) {
        add(plan, STEP_START, name, parent, agent, server, node);
        return ESP_OK;
    }
    if (!parent || strcmp(node->parent, parent) == 0)
        return ESP_OK;
    status = check_tree(platform, view, node, parent, error);
    if (status == ESP_OK)
        add(plan, STEP_MOVE, name, parent, agent, server, node);
    return status;
}

/* Agents, level by level, then servers. */
static enum esp_status compare_all(const struct settings_platform *platform, const struct view *view,
                                   struct plan *plan, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < platform->n_masters && status == ESP_OK; i++)
        status = compare(platform, view, platform->masters[i].agent.node.name, NULL, ESP_ROLE_MASTER,
                         &platform->masters[i], NULL, plan, error);
    for (unsigned depth = 1; depth <= platform->n_leaders && status == ESP_OK; depth++)
        for (size_t i = 0; i < platform->n_leaders && status == ESP_OK; i++) {
            const struct platform_agent *leader = &platform->leaders[i];
            if (depth_of(platform, leader->parent) == depth)
                status = compare(platform, view, leader->agent.node.name, leader->parent, ESP_ROLE_LEADER,
                                 leader, NULL, plan, error);
        }
    for (size_t i = 0; i < platform->n_servers && status == ESP_OK; i++) {
        const struct platform_server *server = &platform->servers[i];
        status = compare(platform, view, server->sed.node.name, server->parent, ESP_ROLE_SERVER, NULL, server,
                         plan, error);
    }
    return status;
}

static bool is_surplus(const struct settings_platform *platform, const struct esp_node *node)
{
    return node->role != ESP_ROLE_REDIRECTOR && !node->unreachable && !is_in_file(platform, node->name);
}

/* From below; who is left alone keeps its parents. */
static void find_surplus(const struct settings_platform *platform, const struct view *view, bool remove,
                         struct plan *plan)
{
    unsigned deepest = 0;
    for (size_t i = 0; i < view->n; i++)
        if (depth_in_tree(view, &view->nodes[i]) > deepest)
            deepest = depth_in_tree(view, &view->nodes[i]);
    for (unsigned depth = deepest + 1; depth-- > 0;)
        for (size_t i = 0; i < view->n; i++) {
            const struct esp_node *node = &view->nodes[i];
            if (depth_in_tree(view, node) != depth || !is_surplus(platform, node))
                continue;
            if (remove)
                add(plan, STEP_REMOVE, node->name, node->parent, NULL, NULL, node);
            else
                plan->alone[plan->n_alone++] = node;
        }
}

/* Not one of its nodes is there: somebody has taken the wrong file, or the wrong platform. */
static enum esp_status check_kinship(const struct settings_platform *platform, const struct view *view,
                                     struct esp_error *error)
{
    for (size_t i = 0; i < view->n; i++)
        if (view->nodes[i].role != ESP_ROLE_REDIRECTOR && is_in_file(platform, view->nodes[i].name))
            return ESP_OK;
    return error_set(error, ESP_REFUSED,
                     "not one node of the file is in the running tree: is it the file of another platform?");
}

static bool has_redirector(const struct view *view, const char *name)
{
    for (size_t i = 0; i < view->n; i++)
        if (view->nodes[i].role == ESP_ROLE_REDIRECTOR && !view->nodes[i].unreachable &&
            strcmp(view->nodes[i].name, name) == 0)
            return true;
    return false;
}

static enum esp_status compare_redirectors(const struct settings_platform *platform, const struct view *view,
                                           bool by_agent, struct plan *plan, struct esp_error *error)
{
    for (size_t i = 0; i < platform->n_redirectors; i++) {
        const struct settings_redirector *redirector = &platform->redirectors[i];
        if (has_redirector(view, redirector->node.name))
            continue;
        if (by_agent)
            return error_set(
                error, ESP_REFUSED,
                "the file has the redirector '%s', and a tree that is asked for with --agent does "
                "not show whether it runs: leave --agent out",
                redirector->node.name);
        add(plan, STEP_START, redirector->node.name, NULL, NULL, NULL, NULL);
        plan->steps[plan->n - 1].redirector = redirector;
    }
    return ESP_OK;
}

enum esp_status plan_make(const struct settings_platform *platform, const struct view *view,
                          const struct plan_options *options, struct plan *plan, struct esp_error *error)
{
    const size_t most = platform->n_redirectors + platform->n_masters + platform->n_leaders +
                        platform->n_servers + view->n + 1;
    *plan =
        (struct plan){.steps = calloc(most, sizeof *plan->steps), .alone = calloc(most, sizeof *plan->alone)};
    enum esp_status status = plan->steps && plan->alone ? ESP_OK : error_no_memory(error, "a plan");
    if (status == ESP_OK)
        status = check_kinship(platform, view, error);
    if (status == ESP_OK)
        status = compare_redirectors(platform, view, options->by_agent, plan, error);
    if (status == ESP_OK)
        status = compare_all(platform, view, plan, error);
    if (status == ESP_OK)
        find_surplus(platform, view, options->remove, plan);
    else
        plan_release(plan);
    return status;
}

void plan_release(struct plan *plan)
{
    free(plan->steps);
    free(plan->alone);
    *plan = (struct plan){0};
}
