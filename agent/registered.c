/* SPDX-License-Identifier: Apache-2.0
 *
 * A master agent towards its redirectors. It registers with each of them by a membership of its own, and
 * reports the number and the load of the servers below.
 */
#include "agent/agent_internal.h"
#include "util/fingerprint.h"

#include <stdlib.h>
#include <string.h>

/* Delay of reports of a changed number of servers. The load goes with each heartbeat. */
#define TOTALS_MS 500

static void count_totals(const struct agent *agent, struct node_record *record, uint32_t *servers)
{
    *servers = 0;
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next) {
        if (node->role != ROLE_SERVER)
            continue;
        ++*servers;
        record->slots += node->slots;
        record->running += node->running;
        record->queued += node->queued;
        record->completed += node->completed;
        record->failed += node->failed;
    }
}

/* Adds the problems that are solved below, the problems of lost nodes, and the names of the nodes below:
 * if this agent is lost, the redirector's clients miss all of them. Returns false if they are not known. */
static bool tell_solves(struct agent *agent, struct arena *arena, struct extension *extension)
{
    struct lost_problems all = {0};
    const char **names = arena_alloc(arena, LOST_PROBLEMS_TOLD * sizeof *names);
    bool more;
    for (const struct known_catalog *catalog = catalog_first(agent->catalogs); catalog;
         catalog = catalog->hh.next)
        if (!catalog->known)
            return false;
    if (!names)
        return false;
    const size_t n = catalog_names(agent->catalogs, "", names, LOST_PROBLEMS_TOLD, &more);
    for (size_t i = 0; i < n; i++)
        lost_problems_note(&all, lost_problem(names[i]), CLOCK_NEVER);
    const size_t n_nodes = knowledge_count(agent->knowledge);
    const bool has_room = n_nodes <= LOST_NODES_MOST && n + n_nodes <= LOST_PROBLEMS_TOLD;
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node && has_room;
         node = node->hh.next)
        lost_problems_note(&all, lost_node(node->name), CLOCK_NEVER);
    lost_inherit(agent, &all);
    const bool told = !more && lost_problems_tell(&all, agent_now(agent), arena, extension);
    extension->tag = EXTENSION_SOLVES;
    lost_problems_release(&all);
    return told;
}

/* Adds the names of the nodes below. They are left out without memory, or if there are too many. */
static bool tell_names(const struct agent *agent, struct arena *arena, struct extension *extension)
{
    uint8_t *bytes = arena_alloc(arena, NAMES_BYTES);
    uint32_t length = 0;
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node && bytes;
         node = node->hh.next)
        if (!names_add(bytes, &length, node->name, node->incarnation))
            return false;
    *extension = (struct extension){EXTENSION_NAMES, bytes, length};
    return bytes != NULL;
}

static void on_report(void *self, bool complete, struct message *message)
{
    struct agent *agent = self;
    struct node_record *record = arena_alloc(&message->arena, sizeof *record);
    struct extension *extension = arena_alloc(&message->arena, 3 * sizeof *extension);
    uint32_t *servers = arena_alloc(&message->arena, sizeof *servers);
    (void)complete; /* each report is complete */
    if (!record || !extension || !servers)
        return;
    *record = agent_own_record(agent);
    count_totals(agent, record, servers);
    agent->reported_servers = knowledge_servers(agent->knowledge);
    *extension = (struct extension){EXTENSION_SERVERS, (const uint8_t *)servers, sizeof *servers};
    uint32_t n = 1;
    n += tell_solves(agent, &message->arena, &extension[n]);
    n += tell_names(agent, &message->arena, &extension[n]);
    record->extensions = (struct extensions){extension, n};
    message->report.records = record;
    message->report.n_records = 1;
}

#define SHARED_NS (10 * NS_PER_S) /* repeated with each heartbeat as long as both nodes are there */

/* Both nodes of the same name go on working; people decide which one gives way. */
static void on_namesake(void *self, const struct namesake *namesake)
{
    struct agent *agent = self;
    unsigned left_out;
    const struct knowledge_node *node = knowledge_find(agent->knowledge, namesake->name);
    if (!node || node->incarnation != namesake->incarnation)
        return;
    refusals_note(&agent->shared, namesake, agent_now(agent), SHARED_NS, SHARED_NS);
    if (told_take(&agent->shared_told, fingerprint(namesake->name, strlen(namesake->name)), agent_now(agent),
                  &left_out))
        log_warning(
            "\"%s\" at %s: %s; until then calls to it by name are refused, and it is to be named by its "
            "address",
            node->name, node->address, namesake->why);
}

const char *registered_shares(const struct agent *agent, const struct knowledge_node *node)
{
    return refusals_find(&agent->shared, node->name, node->incarnation, agent_now(agent));
}

/* The peers may have changed, or may have lost their memory of given-up data. */
static void on_refuges(void *self)
{
    up_on_ancestors(self);
    given_up_peers_tell(self);
}

static const struct membership_ops ops = {.post = agent_post,
                                          .report = on_report,
                                          .changed = up_on_changed,
                                          .ancestors = on_refuges,
                                          .namesake = on_namesake};

enum esp_status registered_create(struct agent *agent, const struct agent_options *options,
                                  struct esp_error *error)
{
    if (!agent->is_master || options->n_redirectors == 0)
        return ESP_OK;
    agent->registered = calloc(options->n_redirectors, sizeof *agent->registered);
    if (!agent->registered)
        return error_no_memory(error, "the ties to redirectors");
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < options->n_redirectors && status == ESP_OK; i++) {
        const struct membership_options membership = {
            .parents = &options->redirectors[i],
            .n_parents = 1,
            .role = ROLE_MASTER,
            .name = agent->name,
            .retry_first_ms = options->retry_first_ms,
            .retry_most_ms = options->retry_most_ms,
            .seed = random_next(&agent->random),
            .clock = agent->clock,
            .after = i > 0 ? agent->registered[i - 1] : NULL, /* each takes its own welcomes */
        };
        status = membership_create(&membership, &ops, agent, &agent->registered[i], error);
        agent->n_registered += status == ESP_OK;
    }
    return status;
}

void registered_start(struct agent *agent, const char *own_address)
{
    for (size_t i = 0; i < agent->n_registered; i++)
        membership_start(agent->registered[i], own_address);
}

void registered_leave(struct agent *agent, const char *reason)
{
    for (size_t i = 0; i < agent->n_registered; i++)
        membership_leave(agent->registered[i], reason);
}

void registered_clear(struct agent *agent)
{
    for (size_t i = 0; i < agent->n_registered; i++)
        membership_destroy(agent->registered[i]);
    free(agent->registered);
    refusals_release(&agent->shared);
}

bool registered_post(struct agent *agent, const struct envelope *envelope, const struct message *message)
{
    bool taken = false;
    for (size_t i = 0; i < agent->n_registered; i++)
        taken |= membership_post(agent->registered[i], envelope, message);
    return taken;
}

void registered_undelivered(struct agent *agent, const char *address, const struct esp_error *why)
{
    for (size_t i = 0; i < agent->n_registered; i++)
        membership_undelivered(agent->registered[i], address, why);
}

void registered_hung_up(struct agent *agent, const struct envelope *from)
{
    for (size_t i = 0; i < agent->n_registered; i++)
        membership_hung_up(agent->registered[i], from);
}

int64_t registered_due(const struct agent *agent)
{
    int64_t due = CLOCK_NEVER;
    for (size_t i = 0; i < agent->n_registered; i++)
        if (membership_due(agent->registered[i]) < due)
            due = membership_due(agent->registered[i]);
    return due;
}

void registered_tick(struct agent *agent)
{
    for (size_t i = 0; i < agent->n_registered; i++)
        membership_tick(agent->registered[i]);
}

void registered_changed(struct agent *agent)
{
    if (knowledge_servers(agent->knowledge) == agent->reported_servers)
        return;
    for (size_t i = 0; i < agent->n_registered; i++)
        membership_touch(agent->registered[i], TOTALS_MS);
}

const char *registered_name(const struct agent *agent)
{
    for (size_t i = 0; i < agent->n_registered; i++)
        if (membership_joined(agent->registered[i]))
            return membership_parent_name(agent->registered[i]);
    return NULL;
}

void registered_refuges(const struct agent *agent, struct refuges *refuges)
{
    for (size_t i = 0; i < agent->n_registered; i++) {
        const struct refuges *told = membership_refuges(agent->registered[i]);
        for (size_t k = 0; k < told->n; k++)
            refuges_add(refuges, told->addresses[k], told->names[k]);
    }
}

void registered_redirectors(const struct agent *agent, struct refuges *refuges)
{
    for (size_t i = 0; i < agent->n_registered; i++) {
        size_t n;
        const char *const *addresses = membership_parents(agent->registered[i], &n);
        for (size_t k = 0; k < n; k++)
            refuges_add(refuges, addresses[k], "");
    }
}

bool registered_settled(const struct agent *agent, char *why, size_t size)
{
    for (size_t i = 0; i < agent->n_registered; i++)
        if (membership_is_known_above(agent->registered[i], why, size))
            return true;
    return agent->n_registered == 0;
}
