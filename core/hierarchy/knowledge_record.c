/* SPDX-License-Identifier: Apache-2.0
 *
 * A record of a node arrives: what it says is taken over.
 */
#include "core/hierarchy/knowledge_internal.h"

#include "core/forecast/told_links.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        self->slowness = node->models->fastest_s_per_flop; /* a bound: see index_query.cost */
    if (node->terms.weather.forecast > 0)
        self->slowness /= node->terms.weather.forecast; /* at most 1 */
    self->memory = node->memory_total;
    self->latency_s = node->access.known && node->access.latency_s > 0 ? node->access.latency_s : 0;
    self->inverse_bandwidth = inverse_bandwidth(node->access);
    self->inverse_back = inverse_bandwidth(path_turned(node->access));
    self->price = node->terms.price;
}

/* Bytes on their way arrive at the rate of the link from when they were told. */
static void set_incoming(struct knowledge_node *node, int64_t now_ns)
{
    const double seconds = (double)node->terms.incoming_bytes * node->entry.self.inverse_bandwidth;
    node->link_base_ns = now_ns + (int64_t)(fmin(seconds, 1e7) * 1e9);
}

/* The link to an agent changed or became known: all ways through it are new. */
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

/* Of the ranks that are among the models. Without memory it is not known on which grids they compute. */
static void take_grids(struct knowledge_node *node, const struct extension *extension)
{
    if (extension->length == 0 || !(node->grids_told = malloc(extension->length)))
        return;
    memcpy(node->grids_told, extension->value, extension->length);
    node->grids_length = extension->length;
    cost_grids_decode(extension->value, extension->length, node->models);
}

/* Models come seldom, and hold until others come. Nonsense is left out: work over speed serves, too. */
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

/* It holds until something else comes. Without memory that of before is as good. Returns whether it is new.
 */
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
        problem_speeds_set(&k->called, &item); /* without memory, the other servers are forecast as before */
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
            continue; /* it was taken with the models */
        else if (item.tag == EXTENSION_FETCHED_LINKS)
            take_seldom(&node->fetched, &item);
        else if (item.tag == EXTENSION_PROBLEM_SPEEDS)
            take_speeds(k, node, &item);
        else if (item.tag == EXTENSION_DISABLED)
            take_seldom(&node->disabled, &item);
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

/* Everything of the record; the node is in no index meanwhile. False without memory: the node is then partly
 * new, and to be removed. */
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

int64_t record_time(int64_t now_ns, double age_s)
{
    return age_s > 0 ? now_ns - (int64_t)((age_s < 1e9 ? age_s : 1e9) * 1e9) : now_ns;
}

/* Not the same one that moved or was restarted there. Whoever is dead is soon gone from its branch. */
static bool is_namesake(const struct knowledge_node *node, const struct branch *branch,
                        const struct node_record *record)
{
    return node->branch && node->branch != branch && node->incarnation != record->incarnation &&
           strcmp(node->address, record->address) != 0;
}

/* The branch in which the tree as it is known here has what is below `parent`; NULL: there are gaps on the
 * way.
 */
static const struct branch *branch_below(const struct knowledge *k, const char *parent)
{
    const struct knowledge_node *above = knowledge_find(k, parent);
    for (int depth = 0; above && depth < CAP_ANCESTORS && strcmp(above->parent, k->name) != 0; depth++)
        above = knowledge_find(k, above->parent);
    return above && strcmp(above->parent, k->name) == 0 ? above->branch : NULL;
}

/* Another branch told of this node before. Who stays below its parent is where that one is: when an agent has
 * moved, what is below it has, too, and the two ways by which the same word of it came tell nothing by their
 * delays. Else the later word counts (it moved from one to the other). */
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
