/* SPDX-License-Identifier: Apache-2.0
 *
 * Measurements of links: from the agent's parent, sent in its record, and between children, which take
 * turns (services/nws/links.h).
 */
#include "agent/agent_internal.h"

#include <stdio.h>
#include <string.h>

/* If more children answer, forecasts assume that data pass through this agent, because a search for each
 * pair takes too long. */
#define MOST_BROTHERS 64

bool agent_parent(void *self, char name[256], char url[385])
{
    struct agent *agent = self;
    endpoint_enter(agent->endpoint);
    const char *parent = agent->membership ? membership_parent_name(agent->membership) : NULL;
    const char *probe = parent ? membership_parent_probe(agent->membership) : NULL;
    if (probe) {
        snprintf(name, 256, "%s", parent);
        snprintf(url, 385, "%s", probe);
    }
    endpoint_leave(agent->endpoint);
    return probe != NULL;
}

void agent_to_parent(void *self, const struct path *path)
{
    struct agent *agent = self;
    endpoint_enter(agent->endpoint);
    agent->link = *path;
    agent->link_told = false;
    up_changed(agent, false);
    endpoint_leave(agent->endpoint);
}

void links_between(struct agent *agent, const char *child, const char *brother, const struct path *path)
{
    /* Links are stored for present children only. */
    if (children_find(agent->children, child) && children_find(agent->children, brother) &&
        !link_graph_set(&agent->links, brother, child, path)) /* the child fetched from the sibling */
        log_warning("the link between \"%s\" and \"%s\" is not kept: there are too many", child, brother);
}

void links_of_host(struct agent *agent, const char *child, const struct path *path)
{
    if (!link_graph_set_host(&agent->links, child, path))
        log_warning("the speed of data within the host of \"%s\" is not stored: there are too many nodes",
                    child);
}

/* Whether two servers have addresses of the same host. Agents do not count, as the servers below them may
 * be on other hosts. */
static bool share_host(const struct knowledge_node *one, const struct knowledge_node *other)
{
    const char *end = strrchr(one->address, ':');
    const size_t n = end ? (size_t)(end - one->address) + 1 : 0;
    return one->role == ROLE_SERVER && other->role == ROLE_SERVER && n > 1 &&
           strncmp(one->address, other->address, n) == 0 && !strchr(other->address + n, ':');
}

bool links_across(void *self, const char *holder, const char *server, struct path *path)
{
    const struct agent *agent = self;
    const struct knowledge_node *from = knowledge_find(agent->knowledge, holder);
    const struct knowledge_node *to = knowledge_find(agent->knowledge, server);
    struct path other;
    /* For two children of this agent, links_brothers() has the series of their probes. */
    if (!from || !to || (strcmp(from->parent, agent->name) == 0 && strcmp(to->parent, agent->name) == 0))
        return false;
    if (node_fetched(to, holder, path))
        return true;
    if (node_fetched(from, server, path)) {
        *path = path_turned(*path);
        return true;
    }
    if (!share_host(from, to) || !node_fetched(from, holder, path) || !node_fetched(to, server, &other))
        return false;
    if (other.bandwidth_bps < path->bandwidth_bps)
        *path = other;
    return true;
}

static struct path way_between(const struct agent *agent, const struct knowledge_node *from,
                               const struct knowledge_node *to, uint64_t bytes)
{
    struct path way = {0};
    if (agent->links.n_links > 0)
        way = link_graph_path(&agent->links, from->name, to->name, bytes);
    return way.known || !share_host(from, to) ? way : link_graph_host(&agent->links, from->name, to->name);
}

void agent_between(void *self, const char *child, const char *brother, const struct path *path)
{
    struct agent *agent = self;
    endpoint_enter(agent->endpoint);
    links_between(agent, child, brother, path);
    endpoint_leave(agent->endpoint);
}

void links_brothers(struct agent *agent, const struct knowledge_node *const *children, size_t n,
                    uint64_t bytes, struct arena *arena, struct aggregate_input *inputs)
{
    if (agent->links.n_nodes == 0 || n > MOST_BROTHERS)
        return;
    for (size_t i = 0; i < n; i++)
        if (children[i])
            link_graph_set(&agent->links, agent->name, children[i]->name, &children[i]->link);
    for (size_t i = 0; i < n; i++) {
        struct path *paths = arena_alloc(arena, n * sizeof *paths);
        for (size_t k = 0; paths && k < n; k++)
            if (children[i] && children[k] && i != k)
                paths[k] = way_between(agent, children[i], children[k], bytes);
        inputs[i].brothers = paths;
    }
}
