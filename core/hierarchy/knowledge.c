/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/knowledge_internal.h"

#include "core/forecast/told_links.h"

#include <stdlib.h>
#include <string.h>

enum esp_status knowledge_create(const struct knowledge_options *options, struct knowledge **knowledge,
                                 struct esp_error *error)
{
    struct knowledge *k = calloc(1, sizeof *k);
    if (!k || !(k->name = strdup(options->name))) {
        free(k);
        return error_no_memory(error, "the memory of the nodes below");
    }
    k->clock = options->clock;
    k->catalogs = options->catalogs;
    k->track = options->track;
    k->fresh_least_ns = INT64_MIN;
    *knowledge = k;
    return ESP_OK;
}

struct knowledge_node *knowledge_find(const struct knowledge *k, const char *name)
{
    struct knowledge_node *node;
    HASH_FIND_STR(k->nodes, name, node);
    return node;
}

struct knowledge_node *knowledge_find_address(const struct knowledge *k, const char *address)
{
    struct knowledge_node *node;
    HASH_FIND(hh_address, k->by_address, address, strlen(address), node);
    return node;
}

bool knowledge_has_trouble(const struct knowledge *k)
{
    return k->n_troubled > 0;
}

size_t knowledge_count(const struct knowledge *k)
{
    return HASH_COUNT(k->nodes);
}

struct knowledge_node *knowledge_first(const struct knowledge *k)
{
    return k->nodes;
}

uint32_t knowledge_servers(const struct knowledge *k)
{
    return k->n_servers;
}

struct branch *knowledge_branches(const struct knowledge *k)
{
    return k->branches;
}

void knowledge_touch(struct knowledge *k, struct knowledge_node *node)
{
    if (!k->track || node->dirty)
        return;
    node->dirty = true;
    DL_APPEND2(k->dirty, node, dirty_prev, dirty_next);
}

void knowledge_untouch(struct knowledge *k, struct knowledge_node *node)
{
    if (node->dirty)
        DL_DELETE2(k->dirty, node, dirty_prev, dirty_next);
    node->dirty = false;
}

/* ---- in and out of its catalogue's index ---- */

static bool branch_count(struct branch *branch, struct known_catalog *catalog, int change)
{
    for (uint32_t i = 0; i < branch->n_catalogs; i++) {
        if (branch->catalogs[i].catalog != catalog)
            continue;
        branch->catalogs[i].servers += (uint32_t)change;
        if (branch->catalogs[i].servers == 0)
            branch->catalogs[i] = branch->catalogs[--branch->n_catalogs];
        return true;
    }
    struct branch_catalog *catalogs =
        realloc(branch->catalogs, (branch->n_catalogs + 1) * sizeof *branch->catalogs);
    if (!catalogs)
        return false;
    branch->catalogs = catalogs;
    branch->catalogs[branch->n_catalogs++] = (struct branch_catalog){catalog, (uint32_t)change};
    return true;
}

void node_leave_index(struct knowledge *k, struct knowledge_node *node)
{
    if (!node->entry.in)
        return;
    index_remove(&node->entry);
    branch_count(node->branch, node->catalog, -1);
    node->branch->n_servers--;
    k->n_servers--;
}

static bool takes_sessions(const struct knowledge_node *node)
{
    return node->role == ROLE_SERVER && !node->draining && node->catalog && node->base.slots > 0;
}

void node_enter_index(struct knowledge *k, struct knowledge_node *node)
{
    if (!takes_sessions(node) || !branch_count(node->branch, node->catalog, +1))
        return;
    if (node->branch->n_servers++ == 0)
        k->fresh_least_ns = INT64_MIN;
    k->n_servers++;
    index_insert(&node->catalog->index, &node->entry);
}

/* ---- removal ---- */

static void remember_removed(struct knowledge *k, const char *name)
{
    if (!k->track)
        return;
    if (k->n_removed == k->removed_capacity) {
        uint32_t capacity = k->removed_capacity ? 2 * k->removed_capacity : 16;
        char **removed = realloc(k->removed, capacity * sizeof *removed);
        if (!removed)
            return; /* the next complete report will tell */
        k->removed = removed;
        k->removed_capacity = capacity;
    }
    char *copy = strdup(name);
    if (copy)
        k->removed[k->n_removed++] = copy;
}

void node_drop_models(struct knowledge_node *node)
{
    if (node->models)
        cost_set_clear(node->models);
    free(node->models);
    free(node->models_told);
    free(node->grids_told);
    node->models = NULL;
    node->models_told = node->grids_told = NULL;
    node->models_length = node->grids_length = 0;
    node->models_passed_on = false;
}

void node_drop_seldom(struct knowledge_node *node)
{
    free(node->fetched.bytes);
    free(node->called.bytes);
    free(node->disabled.bytes);
    free(node->speeds.items);
    node->fetched = node->called = node->disabled = (struct told_seldom){0};
    node->speeds = (struct problem_speeds){0};
}

bool node_fetched(const struct knowledge_node *node, const char *peer, struct path *path)
{
    struct extension told = {EXTENSION_FETCHED_LINKS, node->fetched.bytes, node->fetched.length};
    return node->fetched.bytes &&
           told_links_find(&(struct extensions){&told, 1}, EXTENSION_FETCHED_LINKS, peer, path);
}

const char *node_disabled_next(const struct knowledge_node *node, const char *after)
{
    const struct property_set told = {(const char *)node->disabled.bytes, node->disabled.length};
    const char *next = told.texts ? property_next(&told, after) : NULL;
    while (next && !*next)
        next = property_next(&told, next);
    return next;
}

bool node_disables(const struct knowledge_node *node, const char *problem)
{
    const char *name = node_disabled_next(node, NULL);
    while (name && strcmp(name, problem) != 0)
        name = node_disabled_next(node, name);
    return name != NULL;
}

void node_leave_address(struct knowledge *k, struct knowledge_node *node)
{
    if (node->hh_address.tbl)
        HASH_DELETE(hh_address, k->by_address, node);
    node->hh_address.tbl = NULL;
}

void node_free(struct knowledge *k, struct knowledge_node *node)
{
    node_leave_address(k, node);
    while (node->pending)
        node_drop_pending(k, node->pending);
    load_release(&node->base);
    load_release(&node->load);
    node_drop_models(node);
    node_drop_seldom(node);
    k->n_troubled -= node->terms.ranks_trouble.length > 0;
    arena_clear(&node->arena);
    free(node->marks);
    free(node->name);
    free(node->parent);
    free(node->address);
    free(node);
}

void node_leave_branch(struct knowledge *k, struct knowledge_node *node)
{
    node_leave_index(k, node);
    if (node->branch) {
        DL_DELETE2(node->branch->nodes, node, branch_prev, branch_next);
        node->branch->n_nodes--;
        node->branch = NULL;
    }
}

static void node_remove(struct knowledge *k, struct knowledge_node *node)
{
    node_leave_branch(k, node);
    knowledge_untouch(k, node);
    HASH_DEL(k->nodes, node);
    catalog_release(k->catalogs, node->catalog);
    node_free(k, node);
}

void node_forget(struct knowledge *k, struct knowledge_node *node)
{
    remember_removed(k, node->name);
    node_remove(k, node);
}

bool knowledge_remove(struct knowledge *k, const struct branch *branch, const char *name)
{
    struct knowledge_node *node = knowledge_find(k, name);
    if (!node || node->branch != branch)
        return false;
    node_forget(k, node);
    return true;
}

struct branch *knowledge_branch(struct knowledge *k, const char *child)
{
    struct branch *branch = calloc(1, sizeof *branch);
    if (!branch || !(branch->name = strdup(child))) {
        free(branch);
        return NULL;
    }
    branch->floor_ns = INT64_MIN;
    DL_APPEND(k->branches, branch);
    return branch;
}

void knowledge_branch_remove(struct knowledge *k, struct branch *branch)
{
    while (branch->nodes)
        node_forget(k, branch->nodes);
    DL_DELETE(k->branches, branch);
    free(branch->catalogs);
    free(branch->name);
    free(branch);
}

void knowledge_destroy(struct knowledge *k)
{
    if (!k)
        return;
    k->track = false;
    while (k->branches)
        knowledge_branch_remove(k, k->branches);
    for (uint32_t i = 0; i < k->n_removed; i++)
        free(k->removed[i]);
    free(k->removed);
    free(k->called.items);
    free(k->name);
    free(k);
}

void knowledge_complete_begin(struct knowledge *k, struct branch *branch)
{
    branch->complete_stamp = ++k->stamp;
}

size_t knowledge_complete_end(struct knowledge *k, struct branch *branch)
{
    size_t n = 0;
    struct knowledge_node *node, *next;
    for (node = branch->nodes; node; node = next) {
        next = node->branch_next;
        if (node->stamp < branch->complete_stamp) {
            node_forget(k, node);
            n++;
        }
    }
    return n;
}

/* ---- freshness ---- */

int64_t node_confirmed_ns(const struct knowledge_node *node)
{
    int64_t floor_ns = node->branch ? node->branch->floor_ns : INT64_MIN;
    return node->confirmed_ns > floor_ns ? node->confirmed_ns : floor_ns;
}

void knowledge_confirm(struct knowledge *k, struct branch *branch, double oldest_s)
{
    branch->floor_ns = record_time(clock_now_ns(k->clock), oldest_s);
    if (branch->floor_ns < k->fresh_least_ns)
        k->fresh_least_ns = branch->floor_ns;
}

double knowledge_oldest_s(const struct knowledge *k)
{
    int64_t now_ns = clock_now_ns(k->clock), least_ns = now_ns;
    for (const struct branch *branch = k->branches; branch; branch = branch->next)
        if (branch->n_nodes > 0 && branch->floor_ns != INT64_MIN && branch->floor_ns < least_ns)
            least_ns = branch->floor_ns;
    return (double)(now_ns - least_ns) / 1e9;
}

bool branch_is_fresh(const struct knowledge *k, const struct branch *branch, int64_t freshness_ns)
{
    return freshness_ns > 0 && branch->floor_ns != INT64_MIN &&
           branch->floor_ns >= clock_now_ns(k->clock) - freshness_ns;
}

bool branch_can_solve(const struct branch *branch, const struct variant *variant)
{
    for (uint32_t i = 0; i < branch->n_catalogs; i++)
        for (uint32_t j = 0; j < variant->n_catalogs; j++)
            if (branch->catalogs[i].catalog == variant->catalogs[j])
                return true;
    return false;
}

bool knowledge_is_fresh(struct knowledge *k, const struct variant *variant, int64_t freshness_ns)
{
    if (freshness_ns <= 0)
        return false;
    int64_t wanted_ns = clock_now_ns(k->clock) - freshness_ns;
    /* Floors only rise between changes, so the least one of a while ago is still a bound for all. */
    if (k->fresh_least_ns != INT64_MIN && k->fresh_least_ns >= wanted_ns)
        return true;
    int64_t least_ns = INT64_MAX;
    bool fresh = true;
    for (const struct branch *branch = k->branches; branch; branch = branch->next) {
        if (branch->n_servers == 0)
            continue;
        if (branch->floor_ns < least_ns)
            least_ns = branch->floor_ns;
        if (branch->floor_ns < wanted_ns && branch_can_solve(branch, variant))
            fresh = false;
    }
    k->fresh_least_ns = least_ns == INT64_MAX ? INT64_MIN : least_ns;
    return fresh;
}
