/* SPDX-License-Identifier: Apache-2.0
 *
 * Adds placements to the load that servers have reported. */
#include "core/hierarchy/knowledge.h"
#include "core/choice/terms.h"
#include "core/forecast/told_links.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct knowledge {
    char *name;
    const struct clock *clock;
    struct catalog_store *catalogs;
    bool track;
    struct knowledge_node *nodes;      /* by name */
    struct knowledge_node *by_address; /* the same nodes, by address */
    struct branch *branches;
    struct knowledge_node *dirty;
    char **removed;
    uint32_t n_removed, removed_capacity;
    struct pending *pending; /* of all nodes */
    size_t n_pending;
    uint32_t n_servers;
    uint32_t n_troubled; /* nodes whose ranks are missing */
    uint64_t stamp;      /* of the last complete report that was started */
    uint64_t next_id, turn;
    /* Speeds of problems that were called on any server, from the last server that reported each; relative
     * to the speed measured there. They stay when the server leaves. */
    struct problem_speeds called;
    int64_t fresh_least_ns; /* lower bound of the floors of all branches with servers; INT64_MIN: not known */
};

static int64_t record_time(int64_t now_ns, double age_s);

/* A longer lease is an error: it would keep a server looking busy for ever. */
#define LEASE_MOST_MS (24 * 3600 * 1000)

/* No message makes a link look busy for longer, so sums of nanoseconds do not overflow. */
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

/* Bytes of a placement arrive after the bytes that are on their way already. */
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

/* Recomputes the node's load from its record and its pending placements, and updates the index. */
static void node_reload(struct knowledge_node *node)
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

static void node_drop_pending(struct knowledge *k, struct pending *pending)
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

/* Drops the placements that the node's marks include. */
static void node_drop_contained(struct knowledge *k, struct knowledge_node *node)
{
    struct pending *pending, *next;
    for (pending = node->pending; pending; pending = next) {
        next = pending->next;
        if (contains(node, pending->master, pending->number))
            node_drop_pending(k, pending);
    }
}

/* Returns the master's last placement with at most this number; NULL: none. Numbers arrive nearly in
 * order, so it is close to the end, even with many calls a second. */
static struct pending *find_before(const struct knowledge_node *node, uint64_t master, uint64_t number)
{
    struct pending *pending = node->pending ? node->pending->prev : NULL;
    while (pending && (pending->master != master || pending->number > number))
        pending = pending == node->pending ? NULL : pending->prev;
    return pending;
}

/* Inserts in order of expiry. Leases are nearly equal, so the place is nearly always the end. */
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

/* Marks the node as changed and reported. */
static void knowledge_touch(struct knowledge *k, struct knowledge_node *node)
{
    if (!k->track || node->dirty)
        return;
    node->dirty = true;
    DL_APPEND2(k->dirty, node, dirty_prev, dirty_next);
}

static void knowledge_untouch(struct knowledge *k, struct knowledge_node *node)
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

/* Take the node out of, and put it into, its catalogue's index, which is ordered by cost. */
static void node_leave_index(struct knowledge *k, struct knowledge_node *node)
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

static void node_enter_index(struct knowledge *k, struct knowledge_node *node)
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
            return; /* the next complete report will list it */
        k->removed = removed;
        k->removed_capacity = capacity;
    }
    char *copy = strdup(name);
    if (copy)
        k->removed[k->n_removed++] = copy;
}

/* Drops the parts of a record that are sent seldom and stay valid until they are sent again. */
static void node_drop_models(struct knowledge_node *node)
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

static void node_drop_seldom(struct knowledge_node *node)
{
    free(node->fetched.bytes);
    free(node->called.bytes);
    free(node->disabled.bytes);
    free(node->uncallable.bytes);
    free(node->speeds.items);
    node->fetched = node->called = node->disabled = node->uncallable = (struct told_seldom){0};
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

const char *node_cannot_call(const struct knowledge_node *node, const char *problem)
{
    const struct property_set told = {(const char *)node->uncallable.bytes, node->uncallable.length};
    const char *name = told.texts ? property_next(&told, NULL) : NULL;
    const char *why = name ? property_next(&told, name) : NULL;
    while (why && strcmp(name, problem) != 0) {
        name = property_next(&told, why);
        why = name ? property_next(&told, name) : NULL;
    }
    return why;
}

/* Removes the node from the table of addresses. */
static void node_leave_address(struct knowledge *k, struct knowledge_node *node)
{
    if (node->hh_address.tbl)
        HASH_DELETE(hh_address, k->by_address, node);
    node->hh_address.tbl = NULL;
}

/* Frees a node that is in no branch. */
static void node_free(struct knowledge *k, struct knowledge_node *node)
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

static void node_leave_branch(struct knowledge *k, struct knowledge_node *node)
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

/* Removes the node and notes the removal for the next report. */
static void node_forget(struct knowledge *k, struct knowledge_node *node)
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

/* Returns when the node's state was last confirmed.
 * ---- freshness ---- */
static int64_t node_confirmed_ns(const struct knowledge_node *node)
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
    /* Floors only rise between changes, so an earlier minimum is still a bound for all. */
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

/* Merges an arriving record of a node. */

/* Replaces a text when it differs; false without memory. */
static bool take_text(char **text, const char *value)
{
    if (*text && strcmp(*text, value) == 0)
        return true;
    char *copy = strdup(value);
    if (!copy)
        return false;
    free(*text);
    *text = copy;
    return true;
}

static struct path access_path(const struct knowledge *k, const struct knowledge_node *node)
{
    struct path path = node->link;
    const char *parent = node->parent;
    for (int depth = 0; strcmp(parent, k->name) != 0; depth++) {
        const struct knowledge_node *above = knowledge_find(k, parent);
        if (!above || depth == CAP_ANCESTORS)
            return (struct path){0};
        path = path_join(above->link, path);
        parent = above->parent;
    }
    return path;
}

/* Seconds per byte; 0: not known. */
static double inverse_bandwidth(struct path path)
{
    return path.known && path.bandwidth_bps > 0 ? 1 / path.bandwidth_bps : 0;
}

static void set_bounds(struct knowledge_node *node)
{
    struct index_bounds *self = &node->entry.self;
    double speed = node->speed_flops > 0 ? node->speed_flops : ESTIMATE_DEFAULT_SPEED;
    self->slowness = 1 / problem_speed_most(&node->speeds, speed);
    if (node->models && node->models->fastest_s_per_flop < self->slowness)
        self->slowness = node->models->fastest_s_per_flop; /* a lower bound: see index_query.cost */
    if (node->terms.weather.forecast > 0)
        self->slowness *= problem_slowdown(problem_speed_waits(&node->speeds), node->terms.weather.forecast);
    self->memory = node->memory_total;
    self->latency_s = node->access.known && node->access.latency_s > 0 ? node->access.latency_s : 0;
    self->inverse_bandwidth = inverse_bandwidth(node->access);
    self->inverse_back = inverse_bandwidth(path_turned(node->access));
    self->price = node->terms.price;
}

/* Bytes on their way arrive at the link's rate, counted from the time of the record. */
static void set_incoming(struct knowledge_node *node, int64_t now_ns)
{
    const double seconds = (double)node->terms.incoming_bytes * node->entry.self.inverse_bandwidth;
    node->link_base_ns = now_ns + (int64_t)(fmin(seconds, 1e7) * 1e9);
}

/* The link to an agent changed or became known: recomputes all paths through it. */
static void branch_new_links(struct knowledge *k, struct branch *branch)
{
    for (struct knowledge_node *node = branch->nodes; node; node = node->branch_next) {
        node->access = access_path(k, node);
        set_bounds(node);
        index_update(&node->entry);
    }
}

static bool is_same(const uint8_t *told, uint32_t length, const struct extension *extension)
{
    return told && length == extension->length && memcmp(told, extension->value, length) == 0;
}

/* Takes the process grids of the ranks that are among the models. Without memory the grids are unknown. */
static void take_grids(struct knowledge_node *node, const struct extension *extension)
{
    if (extension->length == 0 || !(node->grids_told = malloc(extension->length)))
        return;
    memcpy(node->grids_told, extension->value, extension->length);
    node->grids_length = extension->length;
    cost_grids_decode(extension->value, extension->length, node->models);
}

/* Takes the models, which come seldom and stay valid until the next ones. Malformed ones are left out:
 * work divided by speed is then used. */
static void take_models(struct knowledge_node *node, const struct extension *extension,
                        const struct extension *grids)
{
    if (is_same(node->models_told, node->models_length, extension) &&
        (grids ? is_same(node->grids_told, node->grids_length, grids) : !node->grids_told))
        return;
    node_drop_models(node);
    node->models = calloc(1, sizeof *node->models);
    node->models_told = malloc(extension->length ? extension->length : 1);
    if (!node->models || !node->models_told ||
        !cost_decode(extension->value, extension->length, node->models)) {
        node_drop_models(node);
        return;
    }
    memcpy(node->models_told, extension->value, extension->length);
    node->models_length = extension->length;
    if (grids)
        take_grids(node, grids);
}

/* Takes a value that stays valid until the next one comes. Without memory the earlier one is kept. Returns
 * whether it is new. */
static bool take_seldom(struct told_seldom *told, const struct extension *extension)
{
    if (extension->length == 0 || is_same(told->bytes, told->length, extension))
        return false;
    uint8_t *bytes = malloc(extension->length);
    if (!bytes)
        return false;
    memcpy(bytes, extension->value, extension->length);
    free(told->bytes);
    *told = (struct told_seldom){bytes, extension->length, false};
    return true;
}

static void take_speeds(struct knowledge *k, struct knowledge_node *node, const struct extension *extension)
{
    const double measured = node->speed_flops > 0 ? node->speed_flops : ESTIMATE_DEFAULT_SPEED;
    struct problem_speeds speeds;
    if (!take_seldom(&node->called, extension) || !problem_speeds_read(extension, &speeds))
        return;
    free(node->speeds.items);
    node->speeds = speeds;
    for (uint32_t i = 0; i < speeds.n; i++) {
        struct problem_speed item = speeds.items[i];
        item.flops /= measured;
        problem_speeds_set(&k->called,
                           &item); /* without memory, forecasts for the other servers stay as before */
    }
}

static bool copy_extensions(struct knowledge *k, struct knowledge_node *node,
                            const struct extensions *extensions)
{
    arena_clear(&node->arena);
    node->extensions = (struct extensions){0};
    node->terms = (struct server_terms){0};
    if (extensions->n == 0)
        return true;
    struct extension *items = arena_memdup(&node->arena, extensions->items, extensions->n * sizeof *items);
    uint32_t n = 0;
    if (!items)
        return false;
    for (uint32_t i = 0; i < extensions->n; i++) {
        struct extension item = extensions->items[i];
        if (item.tag == EXTENSION_COST_MODELS)
            take_models(node, &item, extension_find(extensions, EXTENSION_RANK_GRIDS));
        else if (item.tag == EXTENSION_RANK_GRIDS)
            continue; /* already handled with the models */
        else if (item.tag == EXTENSION_FETCHED_LINKS)
            take_seldom(&node->fetched, &item);
        else if (item.tag == EXTENSION_PROBLEM_SPEEDS)
            take_speeds(k, node, &item);
        else if (item.tag == EXTENSION_DISABLED)
            take_seldom(&node->disabled, &item);
        else if (item.tag == EXTENSION_UNCALLABLE)
            take_seldom(&node->uncallable, &item);
        else if ((item.value = arena_memdup(&node->arena, item.value, item.length)))
            items[n++] = item;
        else
            return false;
    }
    node->extensions = (struct extensions){items, n};
    server_terms_get(&node->extensions, &node->terms);
    return true;
}

static bool take_extensions(struct knowledge *k, struct knowledge_node *node,
                            const struct extensions *extensions)
{
    k->n_troubled -= node->terms.ranks_trouble.length > 0;
    const bool taken = copy_extensions(k, node, extensions);
    k->n_troubled += node->terms.ranks_trouble.length > 0;
    return taken;
}

static bool take_marks(struct knowledge_node *node, const struct node_record *record)
{
    if (record->n_marks > node->n_marks) {
        struct placement_mark *marks = realloc(node->marks, record->n_marks * sizeof *marks);
        if (!marks)
            return false;
        node->marks = marks;
    }
    if (record->n_marks)
        memcpy(node->marks, record->marks, record->n_marks * sizeof *record->marks);
    node->n_marks = record->n_marks;
    return true;
}

static bool take_catalog(struct knowledge *k, struct knowledge_node *node, uint64_t digest)
{
    if ((node->catalog ? node->catalog->digest : 0) == digest)
        return true;
    struct known_catalog *catalog = digest ? catalog_acquire(k->catalogs, digest) : NULL;
    if (digest && !catalog)
        return false;
    catalog_release(k->catalogs, node->catalog);
    node->catalog = catalog;
    return true;
}

static void take_plain(struct knowledge_node *node, const struct node_record *record)
{
    node->role = (enum node_role)record->role;
    node->incarnation = record->incarnation;
    node->draining = record->draining;
    node->link = terms_link(record);
    node->speed_flops = record->speed_flops;
    node->slots = record->slots;
    node->threads = record->threads;
    node->queued = record->queued;
    node->running = record->running;
    node->memory_total = record->memory_total;
    node->memory_free = record->memory_free;
    node->completed = record->completed;
    node->failed = record->failed;
}

static bool take_address(struct knowledge *k, struct knowledge_node *node, const char *address)
{
    if (node->hh_address.tbl && strcmp(node->address, address) == 0)
        return true;
    node_leave_address(k, node);
    if (!take_text(&node->address, address))
        return false;
    HASH_ADD_KEYPTR(hh_address, k->by_address, node->address, strlen(node->address), node);
    return node->hh_address.tbl != NULL;
}

/* Takes everything from the record; the node is in no index meanwhile. False without memory: the node is
 * then half updated and must be removed. */
static bool take_record(struct knowledge *k, struct knowledge_node *node, const struct node_record *record,
                        int64_t now_ns)
{
    if (node->incarnation != record->incarnation) {
        node_drop_models(node);
        node_drop_seldom(node);
    }
    take_plain(node, record);
    return take_text(&node->parent, record->parent) && take_address(k, node, record->address) &&
           take_extensions(k, node, &record->extensions) && take_marks(node, record) &&
           take_catalog(k, node, record->catalog) &&
           load_set(&node->base, record->free_in_s, record->n_free_in, now_ns) == ESP_OK &&
           load_set(&node->load, record->free_in_s, record->n_free_in, now_ns) == ESP_OK;
}

static struct knowledge_node *node_create(struct knowledge *k, const char *name)
{
    struct knowledge_node *node = calloc(1, sizeof *node);
    if (!node || !(node->name = strdup(name))) {
        free(node);
        return NULL;
    }
    node->elsewhere = &k->called;
    HASH_ADD_KEYPTR(hh, k->nodes, node->name, strlen(node->name), node);
    if (!node->hh.tbl) {
        node_free(k, node);
        return NULL;
    }
    node->entry.id = ++k->next_id;
    node->entry.owner = node;
    return node;
}

static bool same_path(const struct path *a, const struct path *b)
{
    return a->known == b->known && a->latency_s == b->latency_s && a->bandwidth_bps == b->bandwidth_bps &&
           a->back_bps == b->back_bps;
}

/* Converts an age in seconds to a time. */
static int64_t record_time(int64_t now_ns, double age_s)
{
    return age_s > 0 ? now_ns - (int64_t)((age_s < 1e9 ? age_s : 1e9) * 1e9) : now_ns;
}

/* Whether the record describes another node than the known one of that name. The same node may have moved
 * or been restarted there; a dead node soon disappears from its branch. */
static bool is_namesake(const struct knowledge_node *node, const struct branch *branch,
                        const struct node_record *record)
{
    return node->branch && node->branch != branch && node->incarnation != record->incarnation &&
           strcmp(node->address, record->address) != 0;
}

/* Returns the branch through which `parent` is reached; NULL: some ancestor of it is unknown. */
static const struct branch *branch_below(const struct knowledge *k, const char *parent)
{
    const struct knowledge_node *above = knowledge_find(k, parent);
    for (int depth = 0; above && depth < CAP_ANCESTORS && strcmp(above->parent, k->name) != 0; depth++)
        above = knowledge_find(k, above->parent);
    return above && strcmp(above->parent, k->name) == 0 ? above->branch : NULL;
}

/* Another branch has reported this node before: decides which record wins. If the node stays below its
 * parent, the branch of that parent wins: an agent that moved took its subtree along, and the order in
 * which two records arrived by different ways means nothing. Otherwise the later record wins, because the
 * node moved from one branch to the other. */
static bool counts(const struct knowledge *k, const struct knowledge_node *node, const struct branch *branch,
                   const struct node_record *record, int64_t time_ns)
{
    if (!node->branch || node->branch == branch)
        return true;
    const bool stays = node->incarnation == record->incarnation && strcmp(node->parent, record->parent) == 0;
    const struct branch *there = stays ? branch_below(k, record->parent) : NULL;
    return there ? there == branch : time_ns > node_confirmed_ns(node);
}

static void enter_branch(struct knowledge_node *node, struct branch *branch)
{
    node->branch = branch;
    DL_APPEND2(branch->nodes, node, branch_prev, branch_next);
    branch->n_nodes++;
}

enum knowledge_change knowledge_update(struct knowledge *k, struct branch *branch,
                                       const struct node_record *record)
{
    int64_t now_ns = clock_now_ns(k->clock);
    int64_t time_ns = record_time(now_ns, record->age_s);
    if (!*record->name || strcmp(record->name, k->name) == 0)
        return KNOWLEDGE_IGNORED;
    struct knowledge_node *node = knowledge_find(k, record->name);
    if (node && is_namesake(node, branch, record))
        return KNOWLEDGE_NAMESAKE;
    if (node && !counts(k, node, branch, record, time_ns))
        return KNOWLEDGE_IGNORED;
    bool is_new = !node;
    if (is_new && !(node = node_create(k, record->name)))
        return KNOWLEDGE_IGNORED;
    bool did_take = node->entry.in != NULL;
    bool was_busy = !is_new && load_wait_s(&node->load, now_ns) > 0;
    bool restarted = !is_new && node->incarnation != record->incarnation;
    const struct path link = terms_link(record);
    bool new_links = is_new || !same_path(&node->link, &link) || node->branch != branch;
    node_leave_index(k, node);
    if (node->branch != branch) {
        node_leave_branch(k, node);
        enter_branch(node, branch);
    }
    if (!take_record(k, node, record, now_ns)) {
        node_forget(k, node);
        return KNOWLEDGE_IGNORED;
    }
    node->confirmed_ns = time_ns;
    node->stamp = k->stamp;
    if (new_links || node->role == ROLE_SERVER)
        node->access = access_path(k, node);
    set_bounds(node);
    set_incoming(node, now_ns);
    while (restarted && node->pending)
        node_drop_pending(k, node->pending);
    node_drop_contained(k, node);
    node_reload(node);
    node_enter_index(k, node);
    if (new_links && node->role != ROLE_SERVER)
        branch_new_links(k, branch);
    knowledge_touch(k, node);
    bool is_free = load_wait_s(&node->load, now_ns) <= 0;
    return is_new || restarted || (!did_take && node->entry.in) || (was_busy && is_free) ? KNOWLEDGE_BETTER
                                                                                         : KNOWLEDGE_SAME;
}

/* Writes the knowledge as records, for reports to the parent and for listings. */

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

/* An upper estimate of the record's bytes on the wire: numbers with their alignment, then texts and
 * extensions. */
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

/* Models, links, speeds, and disabled or uncallable problems are reported to the parent once, and in each
 * complete report. */
static bool add_seldom(const struct knowledge_node *node, struct arena *arena, struct node_record *record)
{
    return add_models(node, arena, record) &&
           add_told(&node->fetched, EXTENSION_FETCHED_LINKS, arena, record) &&
           add_told(&node->called, EXTENSION_PROBLEM_SPEEDS, arena, record) &&
           add_told(&node->disabled, EXTENSION_DISABLED, arena, record) &&
           add_told(&node->uncallable, EXTENSION_UNCALLABLE, arena, record);
}

static void set_passed_on(struct knowledge_node *node, bool passed_on)
{
    node->models_passed_on = passed_on;
    node->fetched.passed_on = node->called.passed_on = passed_on;
    node->disabled.passed_on = node->uncallable.passed_on = passed_on;
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

/* Copies the names of removed nodes, because they are dropped after this report. */
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
        forget_removed(k, k->n_removed); /* nodes that are not mentioned are forgotten anyway */
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
    /* A node that was removed and came back is mentioned as removed first, then as present. */
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

/* Steps up to this agent; a node with an unknown parent counts as its child. */
static uint32_t depth(const struct knowledge *k, const struct knowledge_node *node)
{
    uint32_t steps = 1;
    while (steps < CAP_ANCESTORS && (node = knowledge_find(k, node->parent)))
        steps++;
    return steps;
}

/* Adds what only a tree reply says about a server. */
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
