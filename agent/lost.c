/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes that were lost without taking leave, here and below. They appear in the tree, and in errors about
 * unknown problems and nodes. A node that is present elsewhere is not lost.
 */
#include "agent/agent_internal.h"

#include <stdio.h>
#include <string.h>

/* Reads the children that an agent below has lost, from its record. */
static struct absent_reader lost_told(const struct extensions *extensions)
{
    const struct extension *lost = extension_find(extensions, EXTENSION_ABSENT);
    return (struct absent_reader){lost ? lost->value : NULL, lost ? lost->length : 0};
}

static uint32_t count_lost_by(const struct agent *agent, const struct knowledge_node *node)
{
    uint32_t n = 0;
    struct node_record record;
    struct absent_reader reader = lost_told(&node->extensions);
    while (absent_read(&reader, &record))
        n += !knowledge_find(agent->knowledge, record.name);
    return n;
}

static uint32_t count_below(const struct agent *agent)
{
    uint32_t n = 0;
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next)
        n += count_lost_by(agent, node);
    return n;
}

static uint32_t count_here(struct agent *agent)
{
    uint32_t n = 0;
    const struct absent *at = NULL;
    if (absent_count(&agent->absentees, agent_now(agent)) == 0)
        return 0;
    for (const char *name; (name = absent_next(&agent->absentees, &at));)
        n += !knowledge_find(agent->knowledge, name);
    return n;
}

/* Counts the agents that lost a node that may have solved the problem. */
static uint32_t count_solvers(struct agent *agent, const char *name)
{
    const uint64_t problem = lost_problem(name);
    uint32_t n = lost_problems_may(&agent->lost_problems, problem, agent_now(agent)) ? count_here(agent) : 0;
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next)
        if (lost_problems_told(&node->extensions, problem))
            n += count_lost_by(agent, node);
    return n;
}

const char *lost_words(struct agent *agent, const char *problem, char text[LOST_TEXT])
{
    const uint32_t lost = count_solvers(agent, problem);
    const char *server = awaited_solver(agent, problem);
    *text = 0;
    if (server)
        snprintf(text, LOST_TEXT, "; server \"%s\", which solves it, %s", server,
                 awaited_words(agent, server));
    else if (lost > 0)
        snprintf(text, LOST_TEXT, "; %u node%s below it cannot be reached, and may solve it", lost,
                 lost == 1 ? "" : "s");
    return text;
}

typedef void visit_lost(const struct node_record *lost, void *arg);

static bool visit_here(struct agent *agent, struct arena *arena, visit_lost *visit, void *arg)
{
    const uint32_t n = absent_count(&agent->absentees, agent_now(agent));
    struct node_record *lost = arena_alloc(arena, (n + 1) * sizeof *lost);
    if (!lost || !absent_records(&agent->absentees, agent->name, agent_now(agent), arena, lost))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!knowledge_find(agent->knowledge, lost[i].name))
            visit(&lost[i], arg);
    return true;
}

static void visit_lost_by(const struct agent *agent, const struct knowledge_node *node, visit_lost *visit,
                          void *arg)
{
    const double later_s = (double)(agent_now(agent) - node->confirmed_ns) / 1e9;
    struct absent_reader reader = lost_told(&node->extensions);
    struct node_record lost;
    while (absent_read(&reader, &lost)) {
        lost.age_s += later_s;
        if (!knowledge_find(agent->knowledge, lost.name))
            visit(&lost, arg);
    }
}

bool lost_solvers(struct agent *agent, const char *name, struct arena *arena, visit_lost *visit, void *arg)
{
    const uint64_t problem = lost_problem(name);
    if (lost_problems_may(&agent->lost_problems, problem, agent_now(agent)) &&
        !visit_here(agent, arena, visit, arg))
        return false;
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next)
        if (lost_problems_told(&node->extensions, problem))
            visit_lost_by(agent, node, visit, arg);
    return true;
}

bool lost_has(struct agent *agent, const char *node)
{
    const uint64_t name = lost_node(node);
    bool lost = lost_problems_may(&agent->lost_problems, name, agent_now(agent)) ||
                returning_has(&agent->returning, node, agent_now(agent));
    for (const struct knowledge_node *below = knowledge_first(agent->knowledge); below && !lost;
         below = below->hh.next)
        lost = lost_problems_told(&below->extensions, name);
    return lost;
}

static void note_nodes(struct agent *agent, const struct branch *branch, int64_t until_ns)
{
    const struct knowledge_node *node;
    size_t n = 0;
    for (node = knowledge_first(agent->knowledge); node; node = node->hh.next)
        n += node->branch == branch;
    for (node = knowledge_first(agent->knowledge); node && n <= LOST_NODES_MOST; node = node->hh.next)
        if (node->branch == branch)
            lost_problems_note(&agent->lost_problems, lost_node(node->name), until_ns);
}

void lost_note(struct agent *agent, const struct child *child, const struct branch *branch)
{
    if (!child->silent)
        return;
    const int64_t until_ns = child->arrivals.heard_ns + ABSENT_KEPT_NS;
    absent_note(&agent->absentees, child);
    note_nodes(agent, branch, until_ns);
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next)
        if (node->branch == branch)
            lost_problems_inherit(&agent->lost_problems, &node->extensions, until_ns);
    for (uint32_t i = 0; i < branch->n_catalogs; i++) {
        const struct known_catalog *catalog = branch->catalogs[i].catalog;
        if (!catalog->known)
            lost_problems_note_any(&agent->lost_problems, until_ns);
        for (uint32_t k = 0; k < catalog->n_variants; k++)
            lost_problems_note(&agent->lost_problems, lost_problem(catalog->variants[k]->problem), until_ns);
    }
}

/* ---- nodes that are present elsewhere ---- */

/* Whether the node has been in touch, below any agent, since it was lost. */
static bool lives(const struct agent *agent, const struct node_record *lost)
{
    const struct knowledge_node *node = knowledge_find(agent->knowledge, lost->name);
    return node && node->confirmed_ns > agent_now(agent) - (int64_t)(lost->age_s * 1e9);
}

void lost_found(struct agent *agent, struct child *child, const struct node_record *record)
{
    const char *names[CAP_WORDS];
    struct message message = {.kind = MESSAGE_ORDER,
                              .order = {.node = record->name, .verb = LOST_FORGET, .words = names}};
    struct absent_reader reader = lost_told(&record->extensions);
    struct node_record lost;
    while (message.order.n_words < CAP_WORDS && absent_read(&reader, &lost))
        if (lives(agent, &lost))
            names[message.order.n_words++] = lost.name;
    if (message.order.n_words > 0)
        children_post_to(agent->children, child, &message);
}

void lost_forget(struct agent *agent, const struct order *order)
{
    for (uint32_t i = 0; i < order->n_words; i++)
        absent_forget(&agent->absentees, order->words[i]);
    up_changed(agent, false);
}

/* ---- reports and replies ---- */

uint32_t lost_tell(struct agent *agent, struct arena *arena, struct extension *extensions)
{
    uint32_t n = 0;
    const int64_t now_ns = agent_now(agent);
    if (absent_count(&agent->absentees, now_ns) == 0 ||
        !absent_pack(&agent->absentees, now_ns, arena, &extensions[n]))
        return 0;
    n++;
    return n + lost_problems_tell(&agent->lost_problems, now_ns, arena, &extensions[n]);
}

void lost_inherit(struct agent *agent, struct lost_problems *all)
{
    struct extension items[2];
    struct arena arena = {0};
    const struct extensions here = {items, lost_tell(agent, &arena, items)};
    lost_problems_inherit(all, &here, CLOCK_NEVER);
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next)
        lost_problems_inherit(all, &node->extensions, CLOCK_NEVER);
    arena_clear(&arena);
}

static bool add_below(const struct agent *agent, struct message *message)
{
    struct tree_reply *reply = &message->tree_reply;
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next) {
        const double later_s = (double)(agent_now(agent) - node->confirmed_ns) / 1e9;
        struct absent_reader reader = lost_told(&node->extensions);
        struct node_record record;
        while (absent_read(&reader, &record)) {
            if (knowledge_find(agent->knowledge, record.name))
                continue;
            record.parent = node->name;
            record.age_s += later_s;
            if (!queries_own_record(&message->arena, &record, false))
                return false;
            record.extensions = absent_mark();
            reply->records[reply->n_records++] = record;
        }
    }
    return true;
}

/* Appends nodes that have left and are expected back; the caller has made room. */
static bool add_returning(struct agent *agent, struct message *message)
{
    struct tree_reply *reply = &message->tree_reply;
    struct node_record *records = arena_alloc(&message->arena, (agent->returning.n + 1) * sizeof *records);
    const uint32_t n = records
                           ? returning_records(&agent->returning, agent_now(agent), &message->arena, records)
                           : UINT32_MAX;
    for (uint32_t i = 0; n != UINT32_MAX && i < n; i++)
        if (!knowledge_find(agent->knowledge, records[i].name))
            reply->records[reply->n_records++] = records[i];
    return n != UINT32_MAX;
}

static bool is_among(const struct node_record *records, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(records[i].name, name) == 0)
            return true;
    return false;
}

bool lost_add(struct agent *agent, struct message *message)
{
    struct tree_reply *reply = &message->tree_reply;
    const uint32_t n = absent_count(&agent->absentees, agent_now(agent));
    const uint32_t most = reply->n_records + n + count_below(agent) + (uint32_t)agent->returning.n;
    struct node_record *records = arena_alloc(&message->arena, most * sizeof *records);
    struct node_record *absent = arena_alloc(&message->arena, (n + 1) * sizeof *absent);
    if (!records || !absent ||
        !absent_records(&agent->absentees, agent->name, agent_now(agent), &message->arena, absent))
        return false;
    memcpy(records, reply->records, reply->n_records * sizeof *records);
    reply->records = records;
    const uint32_t present = reply->n_records;
    if (!add_returning(agent, message))
        return false;
    const struct node_record *returning = &records[present];
    const uint32_t n_returning = reply->n_records - present;
    for (uint32_t i = 0; i < n; i++)
        if (!knowledge_find(agent->knowledge, absent[i].name) &&
            !is_among(returning, n_returning, absent[i].name))
            records[reply->n_records++] = absent[i];
    return add_below(agent, message);
}
