/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known, as records for those above and for people.
 */
#include "core/hierarchy/knowledge_internal.h"

#include "core/choice/terms.h"
#include "core/forecast/told_links.h"

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

/* About what a record takes on the wire, and not less: numbers with their alignment, then what varies. */
size_t knowledge_record_bytes(const struct node_record *record)
{
    size_t bytes = 256 + strlen(record->name) + strlen(record->parent) + strlen(record->address) +
                   record->n_free_in * sizeof *record->free_in_s + record->n_marks * sizeof *record->marks;
    for (uint32_t i = 0; i < record->extensions.n; i++)
        bytes += 16 + record->extensions.items[i].length;
    return bytes;
}

static bool add_models(const struct knowledge_node *node, struct arena *arena, struct node_record *record)
{
    if (!node->models || node->models_passed_on)
        return true;
    return extension_add(&record->extensions, EXTENSION_COST_MODELS, node->models_told, node->models_length,
                         arena) &&
           (!node->grids_told || extension_add(&record->extensions, EXTENSION_RANK_GRIDS, node->grids_told,
                                               node->grids_length, arena));
}

static bool add_told(const struct told_seldom *told, uint32_t tag, struct arena *arena,
                     struct node_record *record)
{
    return !told->bytes || told->passed_on ||
           extension_add(&record->extensions, tag, told->bytes, told->length, arena);
}

/* Models, links, speeds and what is disabled are told once to those above, and in each complete report. */
static bool add_seldom(const struct knowledge_node *node, struct arena *arena, struct node_record *record)
{
    return add_models(node, arena, record) &&
           add_told(&node->fetched, EXTENSION_FETCHED_LINKS, arena, record) &&
           add_told(&node->called, EXTENSION_PROBLEM_SPEEDS, arena, record) &&
           add_told(&node->disabled, EXTENSION_DISABLED, arena, record);
}

static void set_passed_on(struct knowledge_node *node, bool passed_on)
{
    node->models_passed_on = passed_on;
    node->fetched.passed_on = node->called.passed_on = node->disabled.passed_on = passed_on;
}

static uint32_t count_dirty(const struct knowledge *k)
{
    uint32_t n = 0;
    for (const struct knowledge_node *node = k->dirty; node; node = node->dirty_next)
        n++;
    return n;
}

static void forget_removed(struct knowledge *k, uint32_t n)
{
    if (n == 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        free(k->removed[i]);
    k->n_removed -= n;
    memmove(k->removed, k->removed + n, k->n_removed * sizeof *k->removed);
}

/* The names, copied: they are forgotten when this report is told. */
static bool tell_removed(struct knowledge *k, size_t most_bytes, struct arena *arena, struct report *report,
                         size_t *bytes)
{
    report->removed = arena_alloc(arena, k->n_removed * sizeof *report->removed);
    if (k->n_removed && !report->removed)
        return false;
    while (report->n_removed < k->n_removed && report->n_removed < CAP_RECORDS && *bytes < most_bytes) {
        const char *name = k->removed[report->n_removed];
        if (!(report->removed[report->n_removed++] = arena_strdup(arena, name)))
            return false;
        *bytes += 8 + strlen(name);
    }
    return true;
}

bool knowledge_report(struct knowledge *k, bool complete, const struct node_record *own, size_t most_bytes,
                      struct arena *arena, struct report *report)
{
    if (complete) {
        forget_removed(k, k->n_removed); /* what is not mentioned is forgotten anyway */
        for (struct knowledge_node *node = k->nodes; node; node = node->hh.next) {
            set_passed_on(node, false);
            knowledge_touch(k, node);
        }
    }
    size_t most = 1 + count_dirty(k), bytes = 0;
    if (most > CAP_RECORDS)
        most = CAP_RECORDS;
    report->records = arena_alloc(arena, most * sizeof *report->records);
    if (!report->records || !tell_removed(k, most_bytes, arena, report, &bytes))
        return false;
    uint32_t n = 0;
    if (own)
        report->records[n++] = *own;
    struct knowledge_node *node = k->dirty;
    /* Somebody who was removed and came again is mentioned by both, in this order. */
    bool all_removed = report->n_removed == k->n_removed;
    for (; all_removed && node && n < most && bytes < most_bytes; node = node->dirty_next) {
        if (!knowledge_record(k, node, arena, &report->records[n]) ||
            !add_seldom(node, arena, &report->records[n]))
            return false;
        bytes += knowledge_record_bytes(&report->records[n++]);
    }
    report->n_records = n;
    report->oldest_s = knowledge_oldest_s(k);
    while (all_removed && k->dirty != node) {
        set_passed_on(k->dirty, true);
        knowledge_untouch(k, k->dirty);
    }
    forget_removed(k, report->n_removed);
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

/* What else a tree tells of a server. */
static bool add_host_rate(const struct knowledge_node *node, struct arena *arena, struct node_record *record)
{
    struct path host;
    if (node->role != ROLE_SERVER || !node_fetched(node, node->name, &host))
        return true;
    return terms_add_real(&record->extensions, EXTENSION_HOST_RATE, host.bandwidth_bps, arena) &&
           (!(host.latency_s > 0) ||
            terms_add_real(&record->extensions, EXTENSION_HOST_LATENCY, host.latency_s, arena));
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
    for (const struct knowledge_node *node = k->nodes; node; node = node->hh.next) {
        struct node_record *record = &(*records)[1 + starts[depth(k, node)]++];
        if (!knowledge_record(k, node, arena, record) || !add_host_rate(node, arena, record))
            return false;
    }
    *n_records = (uint32_t)n + 1;
    return true;
}
