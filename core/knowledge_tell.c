/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known, as records for those above and for people.
 */
#include "core/knowledge_internal.h"

#include <stdlib.h>
#include <string.h>

bool knowledge_record(const struct knowledge *k, const struct knowledge_node *node, struct arena *arena,
                      struct node_record *record)
{
    int64_t now_ns = clock_now_ns(k->clock);
    double *free_in_s = NULL;
    if (node->base.slots && !(free_in_s = arena_alloc(arena, node->base.slots * sizeof *free_in_s)))
        return false;
    for (uint32_t i = 0; i < node->base.slots; i++) {
        int64_t wait_ns = node->base.free_at_ns[i] - now_ns;
        free_in_s[i] = wait_ns > 0 ? (double)wait_ns / 1e9 : 0;
    }
    *record = (struct node_record){
        .name = node->name,
        .parent = node->parent,
        .address = node->address,
        .role = node->role,
        .incarnation = node->incarnation,
        .draining = node->draining,
        .link = node->link,
        .catalog = node->catalog ? node->catalog->digest : 0,
        .speed_flops = node->speed_flops,
        .slots = node->slots,
        .threads = node->threads,
        .free_in_s = free_in_s,
        .n_free_in = node->base.slots,
        .queued = node->queued,
        .running = node->running,
        .memory_total = node->memory_total,
        .memory_free = node->memory_free,
        .completed = node->completed,
        .failed = node->failed,
        .marks = node->marks,
        .n_marks = node->n_marks,
        .age_s = (double)(now_ns - node_confirmed_ns(node)) / 1e9,
        .extensions = node->extensions,
    };
    return true;
}

bool knowledge_changed(const struct knowledge *k)
{
    return k->dirty || k->n_removed;
}

static void forget_changes(struct knowledge *k)
{
    struct knowledge_node *node, *next;
    for (node = k->dirty; node; node = next) {
        next = node->dirty_next;
        node->dirty = false;
    }
    k->dirty = NULL;
    for (uint32_t i = 0; i < k->n_removed; i++)
        free(k->removed[i]);
    k->n_removed = 0;
}

static uint32_t count_dirty(const struct knowledge *k)
{
    uint32_t n = 0;
    for (const struct knowledge_node *node = k->dirty; node; node = node->dirty_next)
        n++;
    return n;
}

/* The names, copied: the list is emptied when this returns. */
static bool tell_removed(struct knowledge *k, struct arena *arena, struct report *report)
{
    report->removed = arena_alloc(arena, k->n_removed * sizeof *report->removed);
    if (!report->removed)
        return false;
    for (uint32_t i = 0; i < k->n_removed; i++)
        if (!(report->removed[i] = arena_strdup(arena, k->removed[i])))
            return false;
    report->n_removed = k->n_removed;
    return true;
}

bool knowledge_report(struct knowledge *k, bool complete, const struct node_record *own, struct arena *arena,
                      struct report *report)
{
    size_t most = 1 + (complete ? HASH_COUNT(k->nodes) : count_dirty(k));
    report->records = arena_alloc(arena, most * sizeof *report->records);
    if (!report->records)
        return false;
    uint32_t n = 0;
    if (own)
        report->records[n++] = *own;
    if (complete) {
        for (struct knowledge_node *node = k->nodes; node; node = node->hh.next)
            if (!knowledge_record(k, node, arena, &report->records[n++]))
                return false;
    } else {
        for (struct knowledge_node *node = k->dirty; node; node = node->dirty_next)
            if (!knowledge_record(k, node, arena, &report->records[n++]))
                return false;
        if (k->n_removed && !tell_removed(k, arena, report))
            return false;
    }
    report->n_records = n;
    report->oldest_s = knowledge_oldest_s(k);
    forget_changes(k);
    return true;
}

/* Steps up to this agent; nodes whose parent is not known count as its children. */
static uint32_t depth(const struct knowledge *k, const struct knowledge_node *node)
{
    uint32_t steps = 1;
    while (steps < CAP_ANCESTORS && (node = knowledge_find(k, node->parent)))
        steps++;
    return steps;
}

bool knowledge_tree(const struct knowledge *k, const struct node_record *own, struct arena *arena,
                    struct node_record **records, uint32_t *n_records)
{
    size_t n = HASH_COUNT(k->nodes);
    *records = arena_alloc(arena, (n + 1) * sizeof **records);
    if (!*records)
        return false;
    (*records)[0] = *own;
    uint32_t starts[CAP_ANCESTORS + 2] = {0};
    for (const struct knowledge_node *node = k->nodes; node; node = node->hh.next)
        starts[depth(k, node) + 1]++;
    for (uint32_t i = 1; i < CAP_ANCESTORS + 2; i++)
        starts[i] += starts[i - 1];
    for (const struct knowledge_node *node = k->nodes; node; node = node->hh.next)
        if (!knowledge_record(k, node, arena, &(*records)[1 + starts[depth(k, node)]++]))
            return false;
    *n_records = (uint32_t)n + 1;
    return true;
}
