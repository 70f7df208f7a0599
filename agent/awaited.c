/* SPDX-License-Identifier: Apache-2.0
 *
 * Servers that are away and may return: servers that restart, servers that are stopping, and servers that
 * have fallen silent. A client that needs one of them gets an answer that says so, and waits. The state
 * folder keeps the list of servers that are away, for the agent's next process.
 */
#include "agent/agent_internal.h"
#include "services/awaited_file.h"

#include <time.h>

/* The servers of one machine often leave together, and are written to the file together. */
#define KEEP_WITHIN_NS (100 * NS_PER_MS)

/* ---- the state file ---- */

static void keep(struct agent *agent)
{
    struct esp_error error;
    if (awaited_file_write(agent->duty.state_dir, &agent->returning, agent_now(agent), time(NULL), &error) !=
        ESP_OK)
        log_warning("which servers are expected back is forgotten when this agent ends: %s", error.text);
}

static void on_keep(struct timer *timer, int64_t now_ns, void *context)
{
    (void)timer;
    (void)now_ns;
    keep(context);
}

static void changed(struct agent *agent)
{
    if (agent->duty.state_dir && !timer_is_set(&agent->keep_awaited))
        timers_set(&agent->timers, &agent->keep_awaited, agent_now(agent) + KEEP_WITHIN_NS, NULL);
}

void awaited_begin(struct agent *agent)
{
    struct esp_error error;
    agent->keep_awaited = (struct timer){.fire = on_keep, .context = agent};
    if (agent->duty.state_dir && awaited_file_read(agent->duty.state_dir, &agent->returning, agent_now(agent),
                                                   time(NULL), &error) != ESP_OK)
        log_warning("servers that were expected back may not be any more: %s", error.text);
}

void awaited_end(struct agent *agent)
{
    if (timer_is_set(&agent->keep_awaited))
        keep(agent);
    timers_cancel(&agent->timers, &agent->keep_awaited);
}

void awaited_back(struct agent *agent, const char *node)
{
    if (returning_forget(&agent->returning, node))
        changed(agent);
}

/* ---- the list of expected servers ---- */

static int64_t at_most(uint64_t ms)
{
    return ms < RETURNING_NS / NS_PER_MS ? (int64_t)ms * NS_PER_MS : RETURNING_NS;
}

/* How long the node is expected back after it has left; 0: not at all. */
static int64_t expected_ns(const struct knowledge_node *node)
{
    uint64_t ms;
    if (extension_find(&node->extensions, EXTENSION_BACK_SOON))
        return RETURNING_NS;
    return terms_get_integer(&node->extensions, EXTENSION_EXPECTED, &ms) ? at_most(ms) : 0;
}

static void note(struct agent *agent, const struct knowledge_node *node, bool silent, int64_t wait_ns)
{
    const struct node_record record = {.name = node->name,
                                       .parent = node->parent,
                                       .address = node->address,
                                       .incarnation = node->incarnation};
    const int64_t now_ns = agent_now(agent);
    returning_note(&agent->returning, &record, node->catalog, silent, now_ns, now_ns + wait_ns);
    changed(agent);
}

void awaited_ordered(struct agent *agent, const char *server)
{
    const struct knowledge_node *node = knowledge_find(agent->knowledge, server);
    if (node && node->role == ROLE_SERVER)
        note(agent, node, false, RETURNING_NS);
}

/* A server that is away, as the message describes it. */
struct returns {
    bool silent;
    int64_t ns; /* 0: not said */
};

static void gone(struct agent *agent, const struct knowledge_node *node, struct returns told)
{
    if (!node || node->role != ROLE_SERVER)
        return;
    const bool ordered = returning_left_ns(&agent->returning, node->name, agent_now(agent)) > 0;
    const int64_t own_ns = ordered ? RETURNING_NS : expected_ns(node);
    const bool silent = told.silent && own_ns == 0;
    const int64_t wait_ns = own_ns > told.ns ? own_ns : told.ns;
    if (wait_ns == 0)
        return;
    note(agent, node, silent, wait_ns);
    if (wait_ns == RETURNING_NS && !silent)
        learning_expect_back(agent);
}

void awaited_lost(struct agent *agent, const struct child *child, const struct branch *branch)
{
    const struct returns silent = {.silent = true, .ns = RETURNING_NS}, nothing = {.ns = 0};
    for (const struct knowledge_node *node = branch->nodes; node; node = node->branch_next)
        if (child->stands && !node->draining)
            gone(agent, node, silent);
        else if (strcmp(node->name, child->name) == 0)
            gone(agent, node, nothing);
}

/* ---- messages between agents ---- */

bool awaited_tell(struct agent *agent, bool complete, struct message *message)
{
    struct report *report = &message->report;
    struct extension told;
    if (agent->returning.n == 0 || (!complete && report->n_removed == 0))
        return true;
    return returning_pack(&agent->returning, agent_now(agent), complete ? NULL : report->removed,
                          report->n_removed, &message->arena, &told) &&
           (told.length == 0 ||
            extension_add(&report->extensions, told.tag, told.value, told.length, &message->arena));
}

static struct returning_reader told(const struct report *report)
{
    const struct extension *extension = extension_find(&report->extensions, EXTENSION_RETURNING);
    return (struct returning_reader){extension ? extension->value : NULL, extension ? extension->length : 0};
}

static struct returns told_of(const struct report *report, const char *server)
{
    struct returning_reader reader = told(report);
    const char *name;
    bool silent;
    uint64_t ms;
    while (returning_read(&reader, &name, &silent, &ms))
        if (strcmp(name, server) == 0)
            return (struct returns){silent, at_most(ms)};
    return (struct returns){.ns = 0};
}

static bool is_in(const struct knowledge_node *node, const struct branch *branch)
{
    return node && node->branch == branch;
}

void awaited_heard(struct agent *agent, const struct branch *branch, const struct report *report)
{
    struct returning_reader reader = told(report);
    const struct knowledge_node *node;
    const char *name;
    bool silent;
    uint64_t ms;
    for (uint32_t i = 0; i < report->n_removed; i++)
        if (is_in(node = knowledge_find(agent->knowledge, report->removed[i]), branch))
            gone(agent, node, told_of(report, node->name));
    while (report->complete && returning_read(&reader, &name, &silent, &ms))
        if (is_in(node = knowledge_find(agent->knowledge, name), branch) &&
            !returning_has(&agent->returning, name, agent_now(agent)))
            gone(agent, node, (struct returns){silent, at_most(ms)});
}

/* ---- answers to clients ---- */

static bool is_ending(const struct knowledge_node *node)
{
    return extension_find(&node->extensions, EXTENSION_ENDING) != NULL;
}

/* Whether the node would suit the request if it took sessions. */
static bool suits(const struct knowledge_node *node, const struct variant *variant,
                  const struct request *request)
{
    return submit_knows(node, variant) && submit_misfit(node, request) == FITS &&
           node->memory_total >= request->memory_bytes &&
           (!*request->server || strcmp(request->server, node->name) == 0);
}

/* Returns NULL if a suitable server is present and takes sessions, even if the client has tried it without
 * success. */
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

uint32_t awaited_mark(struct agent *agent, const struct request *request)
{
    const char *server = awaited_server(agent, request);
    if (!server)
        return 0;
    return returning_is_silent(&agent->returning, server, agent_now(agent)) ? EXTENSION_SILENT
                                                                            : EXTENSION_AWAITED;
}

const char *awaited_words(struct agent *agent, const char *server)
{
    return returning_is_silent(&agent->returning, server, agent_now(agent))
               ? "has fallen silent (it is stopped, overloaded or cut off)"
               : "is being started again";
}

bool awaited_explain(struct agent *agent, const struct request *request, struct esp_error *error)
{
    const char *server = awaited_server(agent, request);
    if (!server)
        return false;
    const struct knowledge_node *node = knowledge_find(agent->knowledge, server);
    const bool silent = returning_is_silent(&agent->returning, server, agent_now(agent));
    const char *why = silent                    ? awaited_words(agent, server)
                      : node && is_ending(node) ? "takes no sessions: it is shutting down"
                                                : "takes no sessions until it is started again";
    if (*request->server)
        error_set(error, ESP_UNREACHABLE, "server \"%s\" %s", server, why);
    else
        error_set(error, ESP_UNREACHABLE, "server \"%s\", which solves %s, %s", server, request->problem,
                  why);
    return true;
}
