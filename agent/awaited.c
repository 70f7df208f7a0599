/* SPDX-License-Identifier: Apache-2.0
 *
 * Servers that are being started again, or may be: they take no sessions any more, or have gone and are not
 * back yet; and servers that end, until they have gone. Who wants one of them, or what nobody else does, is
 * told so, and waits.
 */
#include "agent/agent_internal.h"

/* How long the node is to be expected once it is gone; 0: not at all. */
static int64_t expected_ns(const struct knowledge_node *node)
{
    uint64_t ms;
    if (extension_find(&node->extensions, EXTENSION_BACK_SOON))
        return RETURNING_NS;
    if (!terms_get_integer(&node->extensions, EXTENSION_EXPECTED, &ms))
        return 0;
    return ms < RETURNING_NS / NS_PER_MS ? (int64_t)ms * NS_PER_MS : RETURNING_NS;
}

static void note(struct agent *agent, const struct knowledge_node *node, int64_t wait_ns)
{
    const struct node_record record = {.name = node->name,
                                       .parent = node->parent,
                                       .address = node->address,
                                       .incarnation = node->incarnation};
    const int64_t now_ns = agent_now(agent);
    returning_note(&agent->returning, &record, node->catalog, now_ns, now_ns + wait_ns);
}

void awaited_ordered(struct agent *agent, const char *server)
{
    const struct knowledge_node *node = knowledge_find(agent->knowledge, server);
    if (node && node->role == ROLE_SERVER)
        note(agent, node, RETURNING_NS);
}

void awaited_gone(struct agent *agent, const struct knowledge_node *node)
{
    if (!node || node->role != ROLE_SERVER)
        return;
    const bool ordered = returning_has(&agent->returning, node->name, agent_now(agent));
    const int64_t wait_ns = ordered ? RETURNING_NS : expected_ns(node);
    if (wait_ns == 0)
        return;
    note(agent, node, wait_ns);
    if (wait_ns == RETURNING_NS)
        learning_expect_back(agent);
}

static bool is_ending(const struct knowledge_node *node)
{
    return extension_find(&node->extensions, EXTENSION_ENDING) != NULL;
}

/* If it took sessions. */
static bool suits(const struct knowledge_node *node, const struct variant *variant,
                  const struct request *request)
{
    return submit_knows(node, variant) && submit_misfit(node, request) == FITS &&
           node->memory_total >= request->memory_bytes &&
           (!*request->server || strcmp(request->server, node->name) == 0);
}

/* One that takes sessions and suits is an answer, also when it was tried and did not take it: NULL. */
static const char *find_present(const struct agent *agent, const struct variant *variant,
                                const struct request *request, bool *answered)
{
    const char *found = NULL;
    *answered = false;
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next) {
        if (!suits(node, variant, request))
            continue;
        if ((*answered = node->entry.in != NULL))
            return NULL;
        if (node->draining && (is_ending(node) || expected_ns(node) > 0))
            found = node->name;
    }
    return found;
}

const char *awaited_server(struct agent *agent, const struct request *request)
{
    const struct variant *variant = catalog_choose(agent->catalogs, request->problem, request->digest);
    bool answered = false;
    const char *found = variant ? find_present(agent, variant, request, &answered) : NULL;
    if (found || answered)
        return found;
    if (*request->server)
        return returning_has(&agent->returning, request->server, agent_now(agent)) ? request->server : NULL;
    return awaited_solver(agent, request->problem);
}

const char *awaited_solver(struct agent *agent, const char *problem)
{
    return returning_solver(&agent->returning, problem, agent_now(agent));
}

bool awaited_explain(struct agent *agent, const struct request *request, struct esp_error *error)
{
    const char *server = awaited_server(agent, request);
    if (!server)
        return false;
    const struct knowledge_node *node = knowledge_find(agent->knowledge, server);
    const char *until = node && is_ending(node) ? ": it is shutting down" : " until it is started again";
    if (*request->server)
        error_set(error, ESP_UNREACHABLE, "server \"%s\" takes no sessions%s", server, until);
    else
        error_set(error, ESP_UNREACHABLE, "server \"%s\", which solves %s, takes no sessions%s", server,
                  request->problem, until);
    return true;
}
