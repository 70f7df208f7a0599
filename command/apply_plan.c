/* SPDX-License-Identifier: Apache-2.0 */
#include "command/apply_plan.h"

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

/* ---- the difference ---- */

/* What is compared, and what is known beside it. */
struct comparison {
    const struct settings_platform *platform;
    const struct view *view;
    const struct plan_options *options;
};

static void add(struct plan *plan, struct step step)
{
    plan->steps[plan->n++] = step;
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

/* Whether the file names the parent that it has. */
static bool is_placed(const struct comparison *comparison, const struct esp_node *node)
{
    struct step step;
    return plan_find(comparison->platform, node->name, &step) && *step.parent &&
           strcmp(step.parent, node->parent) == 0;
}

/* The parent that the node would go back to by itself; "": it does not. */
static const char *old_home_of(const struct comparison *comparison, const struct esp_node *node)
{
    char *const *homes = comparison->options->homes;
    const char *home = homes ? homes[node - comparison->view->nodes] : NULL;
    return home ? home : "";
}

/* The parent that the node goes back to by itself, unless it is to stay, else the one that it has. */
static const char *home_of(const struct comparison *comparison, const struct esp_node *node)
{
    const char *home = old_home_of(comparison, node);
    return *home && !is_placed(comparison, node) ? home : node->parent;
}

/* The master agent of the tree that the node belongs to, also while it, or one above it, is at a refuge in
 * another one. */
static const char *tree_of(const struct comparison *comparison, const struct esp_node *node)
{
    for (size_t i = 0; i <= comparison->view->n && node->role != ESP_ROLE_MASTER; i++) {
        const char *home = home_of(comparison, node);
        const struct esp_node *above = find_node(comparison->view, home);
        if (!above || above->unreachable)
            return *home ? master_of(comparison->platform, home) : node->name;
        if (above->role == ESP_ROLE_REDIRECTOR)
            break;
        node = above;
    }
    return node->name;
}

/* From tree to tree a node is moved by an order of its own, which says so: a file that has it below another
 * master agent may as well be an older one. */
static enum esp_status check_tree(const struct comparison *comparison, const struct esp_node *node,
                                  const char *parent, struct esp_error *error)
{
    const char *tree = tree_of(comparison, node), *master = master_of(comparison->platform, parent);
    if (strcmp(tree, master) == 0)
        return ESP_OK;
    return error_set(
        error, ESP_REFUSED,
        "'%s' belongs below the master agent '%s', and the file has it below '%s': apply moves "
        "nothing from tree to tree; 'espalier admin move %s --to %s' does, or the file gives the "
        "one below '%s' another name",
        node->name, tree, master, node->name, parent, master);
}

/* Whether it comes to that parent by itself, and nobody can move it there: it is in another tree. */
static bool returns(const struct comparison *comparison, const struct esp_node *node, const char *parent)
{
    const struct esp_node *top = view_top(comparison->view, node);
    return strcmp(home_of(comparison, node), parent) == 0 &&
           !(top && strcmp(top->name, master_of(comparison->platform, parent)) == 0);
}

static bool runs(const struct plan_options *options, const char *name)
{
    for (size_t i = 0; i < options->n_running; i++)
        if (strcmp(options->running[i], name) == 0)
            return true;
    return false;
}

/* `step` with its kind unset, and its node. */
static enum esp_status compare(const struct comparison *comparison, struct step step, enum esp_role role,
                               struct plan *plan, struct esp_error *error)
{
    const struct esp_node *node = step.node = find_node(comparison->view, step.name);
    enum esp_status status = ESP_OK;
    if (node)
        status = check_role(node, role, error);
    if (status != ESP_OK)
        return status;
    if (!node || node->unreachable) {
        step.kind = runs(comparison->options, step.name) ? STEP_RETURN : STEP_START;
        add(plan, step);
        return ESP_OK;
    }
    if (!*step.parent || strcmp(node->parent, step.parent) == 0)
        return ESP_OK;
    status = check_tree(comparison, node, step.parent, error);
    step.kind = returns(comparison, node, step.parent) ? STEP_RETURN : STEP_MOVE;
    if (status == ESP_OK)
        add(plan, step);
    return status;
}

static enum esp_status compare_agent(const struct comparison *comparison, const struct platform_agent *agent,
                                     struct plan *plan, struct esp_error *error)
{
    const struct step step = {
        .name = agent->agent.node.name, .parent = agent->parent ? agent->parent : "", .agent = agent};
    return compare(comparison, step, agent->parent ? ESP_ROLE_LEADER : ESP_ROLE_MASTER, plan, error);
}

static enum esp_status compare_server(const struct comparison *comparison,
                                      const struct platform_server *server, struct plan *plan,
                                      struct esp_error *error)
{
    const struct step step = {.name = server->sed.node.name, .parent = server->parent, .server = server};
    return compare(comparison, step, ESP_ROLE_SERVER, plan, error);
}

/* Agents, level by level, then servers. */
static enum esp_status compare_all(const struct comparison *comparison, struct plan *plan,
                                   struct esp_error *error)
{
    const struct settings_platform *platform = comparison->platform;
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < platform->n_masters && status == ESP_OK; i++)
        status = compare_agent(comparison, &platform->masters[i], plan, error);
    for (unsigned depth = 1; depth <= platform->n_leaders && status == ESP_OK; depth++)
        for (size_t i = 0; i < platform->n_leaders && status == ESP_OK; i++)
            if (depth_of(platform, platform->leaders[i].parent) == depth)
                status = compare_agent(comparison, &platform->leaders[i], plan, error);
    for (size_t i = 0; i < platform->n_servers && status == ESP_OK; i++)
        status = compare_server(comparison, &platform->servers[i], plan, error);
    return status;
}

static bool is_surplus(const struct settings_platform *platform, const struct esp_node *node)
{
    return node->role != ESP_ROLE_REDIRECTOR && !node->unreachable && !is_in_file(platform, node->name);
}

static void find_stays(const struct comparison *comparison, struct plan *plan)
{
    const struct view *view = comparison->view;
    for (size_t i = 0; i < view->n; i++) {
        const struct esp_node *node = &view->nodes[i];
        if (!node->unreachable && *old_home_of(comparison, node) && is_placed(comparison, node))
            add(plan,
                (struct step){.kind = STEP_STAY, .name = node->name, .parent = node->parent, .node = node});
    }
}

/* From below; who is left alone keeps its parents. */
static void find_surplus(const struct settings_platform *platform, const struct view *view, bool remove,
                         struct plan *plan)
{
    unsigned deepest = 0;
    for (size_t i = 0; i < view->n; i++)
        if (view_depth(view, &view->nodes[i]) > deepest)
            deepest = view_depth(view, &view->nodes[i]);
    for (unsigned depth = deepest + 1; depth-- > 0;)
        for (size_t i = 0; i < view->n; i++) {
            const struct esp_node *node = &view->nodes[i];
            if (view_depth(view, node) != depth || !is_surplus(platform, node))
                continue;
            if (remove)
                add(plan, (struct step){
                              .kind = STEP_REMOVE, .name = node->name, .parent = node->parent, .node = node});
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
        add(plan,
            (struct step){
                .kind = STEP_START, .name = redirector->node.name, .parent = "", .redirector = redirector});
    }
    return ESP_OK;
}

enum esp_status plan_make(const struct settings_platform *platform, const struct view *view,
                          const struct plan_options *options, struct plan *plan, struct esp_error *error)
{
    const size_t most = platform->n_redirectors + platform->n_masters + platform->n_leaders +
                        platform->n_servers + 2 * view->n + 1;
    const struct comparison comparison = {platform, view, options};
    *plan =
        (struct plan){.steps = calloc(most, sizeof *plan->steps), .alone = calloc(most, sizeof *plan->alone)};
    enum esp_status status = plan->steps && plan->alone ? ESP_OK : error_no_memory(error, "a plan");
    if (status == ESP_OK)
        status = options->own ? ESP_OK : check_kinship(platform, view, error);
    if (status == ESP_OK)
        find_stays(&comparison, plan);
    if (status == ESP_OK)
        status = compare_redirectors(platform, view, options->by_agent, plan, error);
    if (status == ESP_OK)
        status = compare_all(&comparison, plan, error);
    if (status == ESP_OK)
        find_surplus(platform, view, options->remove, plan);
    else
        plan_release(plan);
    return status;
}

static const struct step *find_step(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->n; i++)
        if (strcmp(plan->steps[i].name, name) == 0)
            return &plan->steps[i];
    return NULL;
}

bool plan_waits(const struct plan *plan, const struct step *step)
{
    /* As many steps as there are in the plan: the file has no circles. */
    for (size_t i = 0; step && i < plan->n; i++) {
        step = find_step(plan, step->parent);
        if (step && step->kind == STEP_RETURN)
            return true;
    }
    return false;
}

void plan_release(struct plan *plan)
{
    free(plan->steps);
    free(plan->alone);
    *plan = (struct plan){0};
}
