/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients hear: which master agents there are, the nearest to be used first.
 */
#include "redirector/redirector_internal.h"

#include <stdlib.h>
#include <string.h>

static double load_of(const struct master *master)
{
    const struct node_record *totals = &master->totals;
    return totals->slots ? (double)(totals->running + totals->queued) / totals->slots : 0;
}

/* Masters with servers first, the least loaded first; among equals the one named longest ago, so that clients
 * spread. */
static int best_first(const void *a, const void *b)
{
    const struct master *x = *(const struct master *const *)a, *y = *(const struct master *const *)b;
    if ((x->servers == 0) != (y->servers == 0))
        return x->servers == 0 ? 1 : -1;
    double load_x = load_of(x), load_y = load_of(y);
    if (load_x != load_y)
        return load_x < load_y ? -1 : 1;
    return (x->named > y->named) - (x->named < y->named);
}

static void note_located(struct redirector *r, const struct locate *asked, const struct master *best,
                         size_t n)
{
    struct session_id first;
    char text[SESSION_TEXT];
    const int64_t now_ns = clock_now_ns(r->clock);
    if (!asker_get(&asked->extensions, &first))
        return;
    trace_note(&r->duty.trace, &first, TRACE_SENT, now_ns, now_ns, best->child->name);
    if (!log_wants(LOG_DEBUG_LEVEL))
        return;
    log_write(LOG_DEBUG_LEVEL, session_id_text(&first, text), "and later ones sent to \"%s\" of %zu at %s",
              best->child->name, n, best->child->address);
}

/* Those that were lost, or that it has not heard of since it was started, may have the servers that a client
 * does not find below the others. Without memory they are not told. */
static void add_absent(struct redirector *r, struct message *message)
{
    const int64_t now_ns = clock_now_ns(r->clock);
    struct arena *arena = &message->arena;
    struct extension *items = arena_alloc(arena, 3 * sizeof *items);
    uint32_t n = 0;
    if (!items)
        return;
    if (now_ns < r->learned_ns)
        items[n++] = (struct extension){.tag = EXTENSION_LEARNING};
    if (absent_count(&r->absentees, now_ns) > 0 && absent_pack(&r->absentees, now_ns, arena, &items[n])) {
        n++;
        n += lost_problems_tell(&r->lost_problems, now_ns, arena, &items[n]);
    }
    message->locate_reply.extensions = (struct extensions){items, n};
}

/* All of them, the one to be used first at the front; NULL without memory. */
static struct master **order_masters(const struct redirector *r, struct arena *arena)
{
    size_t n = 0;
    struct master **masters = arena_alloc(arena, children_count(r->children) * sizeof(struct master *));
    if (!masters)
        return NULL;
    for (struct child *child = children_first(r->children); child; child = child->hh.next)
        masters[n++] = child->data;
    qsort(masters, n, sizeof *masters, best_first);
    return masters;
}

struct message *answer_locate(struct redirector *r, const struct locate *asked)
{
    const size_t n = children_count(r->children);
    r->refused += n == 0;
    if (n == 0)
        return message_failure(MESSAGE_LOCATE_REPLY, ESP_NO_SERVER,
                               r->lost ? "no master agent is there: those that were registered with "
                                         "redirector \"%s\" have left, died or fallen silent"
                                       : "no master agent has registered with redirector \"%s\" (yet)",
                               r->name);
    struct message *message = message_create(MESSAGE_LOCATE_REPLY);
    if (!message)
        return NULL;
    struct arena *arena = &message->arena;
    struct locate_reply *reply = &message->locate_reply;
    struct master **masters = order_masters(r, arena);
    if (!masters || !(reply->masters = arena_alloc(arena, n * sizeof *reply->masters))) {
        message_destroy(message);
        return NULL;
    }
    masters[0]->named = ++r->clients;
    note_located(r, asked, masters[0], n);
    for (size_t i = 0; i < n && i < CAP_CANDIDATES; i++)
        reply->masters[reply->n_masters++] = (struct master_entry){
            .name = arena_strdup(arena, masters[i]->child->name),
            .address = arena_strdup(arena, masters[i]->child->address),
            .incarnation = masters[i]->child->incarnation,
            .servers = masters[i]->servers,
            .load = load_of(masters[i]),
        };
    add_absent(r, message);
    return message;
}

struct message *answer_greet(struct redirector *r, const struct greet *asked)
{
    struct message *message = message_create(MESSAGE_GREET_REPLY);
    if (!message)
        return NULL;
    message->greet_reply.minor = message_minor(asked->minor);
    message->greet_reply.name = arena_strdup(&message->arena, r->name);
    message->greet_reply.role = ROLE_REDIRECTOR;
    message->greet_reply.incarnation = r->incarnation;
    return message;
}

static struct node_record record_of(const struct redirector *r, const struct child *child,
                                    struct arena *arena)
{
    const struct master *master = child->data;
    struct node_record record = master->totals;
    record.name = arena_strdup(arena, child->name);
    record.parent = arena_strdup(arena, r->name);
    record.address = arena_strdup(arena, child->address);
    record.role = ROLE_MASTER;
    record.incarnation = child->incarnation;
    record.age_s = (double)(clock_now_ns(r->clock) - child->arrivals.heard_ns) / 1e9;
    return record;
}

/* Itself and the masters: what is below them, the asker asks them. */
struct message *answer_tree(struct redirector *r, const char *node)
{
    const struct child *only = *node ? children_find(r->children, node) : NULL;
    if (*node && !only && strcmp(node, r->name) != 0)
        return message_failure(MESSAGE_TREE_REPLY, ESP_NOT_FOUND,
                               "redirector \"%s\" has no master agent named \"%s\"", r->name, node);
    struct message *message = message_create(MESSAGE_TREE_REPLY);
    if (!message)
        return NULL;
    struct arena *arena = &message->arena;
    struct tree_reply *reply = &message->tree_reply;
    const uint32_t n_absent = absent_count(&r->absentees, clock_now_ns(r->clock));
    reply->records =
        arena_alloc(arena, (1 + n_absent + children_count(r->children)) * sizeof *reply->records);
    if (!reply->records) {
        message_destroy(message);
        return NULL;
    }
    if (!only)
        reply->records[reply->n_records++] = (struct node_record){
            .name = arena_strdup(arena, r->name),
            .address = arena_strdup(arena, endpoint_address(r->endpoint)),
            .role = ROLE_REDIRECTOR,
            .incarnation = r->incarnation,
        };
    if (only)
        reply->records[reply->n_records++] = record_of(r, only, arena);
    for (struct child *child = children_first(r->children); !*node && child; child = child->hh.next)
        reply->records[reply->n_records++] = record_of(r, child, arena);
    if (!*node && absent_records(&r->absentees, r->name, clock_now_ns(r->clock), arena,
                                 reply->records + reply->n_records))
        reply->n_records += n_absent;
    return message;
}
