/* SPDX-License-Identifier: Apache-2.0
 *
 * Placements on top of what servers have said of themselves.
 */
#include "core/hierarchy/knowledge_internal.h"

#include <stdlib.h>
#include <string.h>

/* A lease beyond this is a mistake: it would keep a server looking busy for ever. */
#define LEASE_MOST_MS (24 * 3600 * 1000)
/* No message makes a link look busy for longer: sums of nanoseconds stay far from overflow. */
#define FARTHEST_S 1e7

struct computer knowledge_computer(const struct knowledge_node *node)
{
    return (struct computer){.speed_flops = node->speed_flops,
                             .speeds = &node->speeds,
                             .elsewhere = node->elsewhere,
                             .models = node->models,
                             .available = node->terms.weather.forecast,
                             .available_error = node->terms.weather.error};
}

double knowledge_least_work(const struct knowledge *k, uint64_t digest)
{
    const struct problem_speed *called = problem_speed_find(&k->called, digest);
    return called && called->flops > 1 ? 1 / called->flops : 1;
}

bool knowledge_lacks_ranks(const struct knowledge_node *node, uint64_t digest)
{
    const struct cost_ranks *ranks =
        node->terms.ranks_trouble.length > 0 && node->models ? cost_ranks_find(node->models, digest) : NULL;
    return ranks && ranks->only;
}

struct standing knowledge_standing(const struct knowledge_node *node)
{
    double sessions = (double)node->queued + node->running + node->n_pending + node->n_expected;
    uint64_t promised = node->pending_bytes < node->memory_free ? node->pending_bytes : node->memory_free;
    return (struct standing){.line = sessions / (node->slots ? node->slots : 1),
                             .memory_free = node->memory_free - promised};
}

/* What a placement sends follows what is on its way there already. */
static void link_place(struct knowledge_node *node, uint64_t bytes_in, int64_t placed_ns)
{
    const double seconds = (double)bytes_in * node->entry.self.inverse_bandwidth;
    if (node->link_free_ns < placed_ns)
        node->link_free_ns = placed_ns;
    node->link_free_ns += (int64_t)(seconds < FARTHEST_S ? seconds * 1e9 : FARTHEST_S * 1e9);
}

static void tell_index(struct knowledge_node *node)
{
    struct standing standing = knowledge_standing(node);
    node->entry.self.line = standing.line;
    node->entry.self.memory_free = standing.memory_free;
    node->entry.self.drained_ns = node->load.drained_ns;
    node->entry.self.link_free_ns = node->link_free_ns;
    node->entry.self.free_ns = node->load.slots ? node->load.free_at_ns[0] : INT64_MAX;
    index_update(&node->entry);
}

void node_reload(struct knowledge_node *node)
{
    if (node->load.slots)
        memcpy(node->load.free_at_ns, node->base.free_at_ns,
               node->load.slots * sizeof *node->load.free_at_ns);
    node->load.drained_ns = node->base.drained_ns;
    node->link_free_ns = node->link_base_ns;
    node->n_expected = 0;
    for (const struct pending *pending = node->pending; pending; pending = pending->next) {
        load_place(&node->load, pending->seconds, pending->placed_ns);
        link_place(node, pending->bytes_in, pending->placed_ns);
    }
    tell_index(node);
}

void node_drop_pending(struct knowledge *k, struct pending *pending)
{
    DL_DELETE(pending->node->pending, pending);
    pending->node->n_pending--;
    pending->node->pending_bytes -= pending->memory_bytes;
    DL_DELETE2(k->pending, pending, all_prev, all_next);
    k->n_pending--;
    free(pending);
}

static bool contains(const struct knowledge_node *node, uint64_t master, uint64_t number)
{
    for (uint32_t i = 0; i < node->n_marks; i++)
        if (node->marks[i].master == master)
            return number <= node->marks[i].number;
    return false;
}

void node_drop_contained(struct knowledge *k, struct knowledge_node *node)
{
    struct pending *pending, *next;
    for (pending = node->pending; pending; pending = next) {
        next = pending->next;
        if (contains(node, pending->master, pending->number))
            node_drop_pending(k, pending);
    }
}

/* The last one of that master with a number up to this; NULL: none. Numbers arrive nearly in order, so it is
 * at the end or close to it, however many calls a second there are. */
static struct pending *find_before(const struct knowledge_node *node, uint64_t master, uint64_t number)
{
    struct pending *pending = node->pending ? node->pending->prev : NULL;
    while (pending && (pending->master != master || pending->number > number))
        pending = pending == node->pending ? NULL : pending->prev;
    return pending;
}

/* Leases are nearly equal, so the place in the order of expiry is nearly always the end. */
static void add_by_expiry(struct knowledge *k, struct pending *pending)
{
    struct pending *last = k->pending ? k->pending->all_prev : NULL;
    while (last && last->expires_ns > pending->expires_ns)
        last = last == k->pending ? NULL : last->all_prev;
    if (last)
        DL_APPEND_ELEM2(k->pending, last, pending, all_prev, all_next);
    else
        DL_PREPEND2(k->pending, pending, all_prev, all_next);
    k->n_pending++;
}

bool knowledge_place(struct knowledge *k, struct knowledge_node *node, const struct placement *placement)
{
    struct pending *before = find_before(node, placement->master, placement->number);
    if (contains(node, placement->master, placement->number) ||
        (before && before->number == placement->number))
        return true;
    struct pending *pending = malloc(sizeof *pending);
    if (!pending)
        return false;
    int64_t now_ns = clock_now_ns(k->clock);
    uint64_t lease_ms = placement->lease_ms < LEASE_MOST_MS ? placement->lease_ms : LEASE_MOST_MS;
    *pending = (struct pending){
        .node = node,
        .master = placement->master,
        .number = placement->number,
        .session = placement->session,
        .seconds = placement->seconds,
        .memory_bytes = placement->memory_bytes,
        .bytes_in = placement->bytes_in,
        .placed_ns = now_ns,
        .expires_ns = now_ns + (int64_t)lease_ms * NS_PER_MS,
    };
    if (before)
        DL_APPEND_ELEM(node->pending, before, pending);
    else
        DL_PREPEND(node->pending, pending);
    add_by_expiry(k, pending);
    node->n_pending++;
    node->pending_bytes += pending->memory_bytes;
    node->last_placed_ns = now_ns;
    node->entry.self.turn = ++k->turn;
    load_place(&node->load, pending->seconds, now_ns);
    link_place(node, pending->bytes_in, now_ns);
    tell_index(node);
    return true;
}

void knowledge_expect(struct knowledge *k, struct knowledge_node *node, double seconds)
{
    const int64_t now_ns = clock_now_ns(k->clock);
    node->n_expected++;
    node->last_placed_ns = now_ns;
    node->entry.self.turn = ++k->turn;
    load_place(&node->load, seconds, now_ns);
    tell_index(node);
}

int64_t knowledge_due(const struct knowledge *k)
{
    return k->pending ? k->pending->expires_ns : CLOCK_NEVER;
}

void knowledge_tick(struct knowledge *k)
{
    int64_t now_ns = clock_now_ns(k->clock);
    while (k->pending && k->pending->expires_ns <= now_ns) {
        struct knowledge_node *node = k->pending->node;
        node_drop_pending(k, k->pending);
        node_reload(node);
    }
}

size_t knowledge_pending(const struct knowledge *k)
{
    return k->n_pending;
}

struct pending *knowledge_last_pending(const struct knowledge *k)
{
    return k->pending ? k->pending->all_prev : NULL;
}
