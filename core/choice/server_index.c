/* SPDX-License-Identifier: Apache-2.0 */
#include "core/choice/server_index.h"

#include "core/choice/estimate.h"

#include <math.h>
#include <stdlib.h>

/* ---- the treap ---- */

static double least(double a, double b)
{
    return a < b ? a : b;
}

static void take_best(struct index_entry *entry, const struct index_entry *child)
{
    struct index_bounds *best = &entry->best;
    const struct index_bounds *other = &child->best;
    best->slowness = least(best->slowness, other->slowness);
    best->latency_s = least(best->latency_s, other->latency_s);
    best->inverse_bandwidth = least(best->inverse_bandwidth, other->inverse_bandwidth);
    best->inverse_back = least(best->inverse_back, other->inverse_back);
    if (other->free_ns < best->free_ns)
        best->free_ns = other->free_ns;
    if (other->drained_ns < best->drained_ns)
        best->drained_ns = other->drained_ns;
    best->line = least(best->line, other->line);
    best->price = least(best->price, other->price);
    if (other->link_free_ns < best->link_free_ns)
        best->link_free_ns = other->link_free_ns;
    if (other->turn < best->turn)
        best->turn = other->turn;
    if (other->memory > best->memory)
        best->memory = other->memory;
    if (other->memory_free > best->memory_free)
        best->memory_free = other->memory_free;
    if (child->least_memory < entry->least_memory)
        entry->least_memory = child->least_memory;
    entry->count += child->count;
}

static void refresh(struct index_entry *entry)
{
    entry->best = entry->self;
    entry->least_memory = entry->self.memory;
    entry->count = 1;
    if (entry->left)
        take_best(entry, entry->left);
    if (entry->right)
        take_best(entry, entry->right);
}

static bool before(const struct index_entry *a, const struct index_entry *b)
{
    return a->key != b->key ? a->key < b->key : a->id < b->id;
}

/* Splits `tree` into the entries before `pivot` and the rest. */
static void split(struct index_entry *tree, const struct index_entry *pivot, struct index_entry **low,
                  struct index_entry **high)
{
    if (!tree) {
        *low = *high = NULL;
    } else if (before(tree, pivot)) {
        split(tree->right, pivot, &tree->right, high);
        *low = tree;
        refresh(tree);
    } else {
        split(tree->left, pivot, low, &tree->left);
        *high = tree;
        refresh(tree);
    }
}

static struct index_entry *merge(struct index_entry *low, struct index_entry *high)
{
    if (!low || !high)
        return low ? low : high;
    if (low->priority >= high->priority) {
        low->right = merge(low->right, high);
        refresh(low);
        return low;
    }
    high->left = merge(low, high->left);
    refresh(high);
    return high;
}

/* Priorities must look random to keep the tree flat; a mixed id does, without a generator. */
static uint32_t mix(uint64_t id)
{
    id += UINT64_C(0x9e3779b97f4a7c15);
    id = (id ^ (id >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    id = (id ^ (id >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(id >> 32);
}

static struct index_entry *insert(struct index_entry *tree, struct index_entry *entry)
{
    if (!tree || entry->priority > tree->priority) {
        split(tree, entry, &entry->left, &entry->right);
        refresh(entry);
        return entry;
    }
    if (before(entry, tree))
        tree->left = insert(tree->left, entry);
    else
        tree->right = insert(tree->right, entry);
    refresh(tree);
    return tree;
}

void index_insert(struct server_index *index, struct index_entry *entry)
{
    index_remove(entry);
    entry->in = index;
    entry->key = entry->self.slowness;
    entry->priority = mix(entry->id);
    index->root = insert(index->root, entry);
}

static struct index_entry *removed(struct index_entry *tree, struct index_entry *entry)
{
    if (tree == entry)
        return merge(entry->left, entry->right);
    if (before(entry, tree))
        tree->left = removed(tree->left, entry);
    else
        tree->right = removed(tree->right, entry);
    refresh(tree);
    return tree;
}

void index_remove(struct index_entry *entry)
{
    if (!entry->in)
        return;
    entry->in->root = removed(entry->in->root, entry);
    entry->in = NULL;
    entry->left = entry->right = NULL;
}

static void refresh_path(struct index_entry *tree, const struct index_entry *entry)
{
    if (tree != entry)
        refresh_path(before(entry, tree) ? tree->left : tree->right, entry);
    refresh(tree);
}

void index_update(struct index_entry *entry)
{
    struct server_index *index = entry->in;
    if (!index)
        return;
    if (entry->key == entry->self.slowness)
        refresh_path(index->root, entry);
    else
        index_insert(index, entry);
}

uint32_t index_count(const struct server_index *index)
{
    return index->root ? index->root->count : 0;
}

static uint32_t capable(const struct index_entry *tree, uint64_t memory_bytes)
{
    if (!tree || tree->best.memory < memory_bytes)
        return 0;
    if (tree->least_memory >= memory_bytes)
        return tree->count;
    return (tree->self.memory >= memory_bytes) + capable(tree->left, memory_bytes) +
           capable(tree->right, memory_bytes);
}

uint32_t index_capable(const struct server_index *index, uint64_t memory_bytes)
{
    return capable(index->root, memory_bytes);
}

uint64_t index_most_memory(const struct server_index *index)
{
    return index->root ? index->root->best.memory : 0;
}

/* ---- the search ---- */

struct search_item {
    double score, line;
    struct index_entry *entry;
    bool whole; /* stands for the subtree below it, whose scores `score` bounds; else for the entry alone */
};

void index_search_release(struct index_search *search)
{
    free(search->heap);
    *search = (struct index_search){0};
}

static double seconds_until(int64_t then_ns, int64_t now_ns)
{
    return then_ns > now_ns ? (double)(then_ns - now_ns) / 1e9 : 0;
}

/* Returns the client's own path to the server; NULL: over the agents. */
static const struct index_own *own_way(const struct index_entry *entry, const struct index_query *query)
{
    for (size_t i = 0; i < query->n_own; i++)
        if (query->own[i].entry == entry)
            return &query->own[i];
    return NULL;
}

/* Returns the opening of a call over paths that are not the client's own. */
static struct path_opening of_strangers(const struct index_query *query)
{
    return (struct path_opening){query->trips, 0, 0};
}

#define LESS (1 - 1e-9) /* tolerance for rounding in sums of many chunks */

/* Returns a lower bound for a subtree. The time of chunks does not always grow with a link's time for a
 * byte, because chunks get longer, so the least time of chunks is used. */
static struct transfer_times least_times(const struct index_bounds *bounds, const struct index_query *query)
{
    const double latency_s = query->access_s + bounds->latency_s,
                 inverse_bandwidth = fmax(query->access_inverse, bounds->inverse_bandwidth),
                 inverse_back = fmax(query->access_inverse, bounds->inverse_back);
    struct request_bytes inside = query->bytes;
    inside.in -= inside.chunks_in;
    inside.out -= inside.chunks_out;
    inside.chunks_in = inside.chunks_out = 0;
    struct transfer_times times =
        request_way_times(&inside, latency_s, inverse_bandwidth, inverse_back, of_strangers(query));
    times.in_s += LESS * (double)query->bytes.chunks_in * inverse_bandwidth;
    times.out_s += LESS * (double)query->bytes.chunks_out * inverse_back;
    return times;
}

static struct transfer_times times_of(const struct index_entry *entry, const struct index_query *query)
{
    const struct index_own *own = own_way(entry, query);
    const struct index_bounds *self = &entry->self;
    if (own)
        return request_path_times(&query->bytes, &own->way, own->opening);
    return request_way_times(&query->bytes, query->access_s + self->latency_s,
                             fmax(query->access_inverse, self->inverse_bandwidth),
                             fmax(query->access_inverse, self->inverse_back), of_strangers(query));
}

static struct esp_server_view view_of(const struct index_bounds *bounds, const struct index_query *query,
                                      struct transfer_times transfer, double compute_s, uint64_t memory_bytes)
{
    /* Like load_start_s(). In a subtree: if even the largest free memory does not suffice, all wait. */
    bool fits = bounds->memory_free >= memory_bytes;
    int64_t start_ns = fits || bounds->drained_ns < bounds->free_ns ? bounds->free_ns : bounds->drained_ns;
    double wait_s = fmax(seconds_until(start_ns, query->now_ns), estimate_line_s(bounds->line));
    const struct schedule_times times = {
        .wait_s = fits || wait_s > ESTIMATE_MEMORY_S ? wait_s : ESTIMATE_MEMORY_S,
        .link_wait_s = seconds_until(bounds->link_free_ns, query->now_ns),
        .compute_s = compute_s,
        .in_s = transfer.in_s,
        .out_s = transfer.out_s,
    };
    struct esp_server_view view = {
        .line = bounds->line,
        .price = bounds->price * compute_s / 3600,
        .deadline_s = query->finish_s,
        .turn = bounds->turn,
    };
    scheduler_view_times(&view, &times);
    return view;
}

static double least_compute_s(const struct index_bounds *bounds, const struct index_query *query)
{
    return query->call_s + query->work_flop * bounds->slowness;
}

static void cost_of(const struct index_entry *entry, const struct index_query *query, double *compute_s,
                    uint64_t *memory_bytes)
{
    *memory_bytes = query->memory_bytes;
    *compute_s = least_compute_s(&entry->self, query);
    if (query->cost)
        query->cost(entry, query->arg, compute_s, memory_bytes);
}

struct esp_server_view index_view(const struct index_entry *entry, const struct index_query *query)
{
    double compute_s;
    uint64_t memory_bytes;
    cost_of(entry, query, &compute_s, &memory_bytes);
    return view_of(&entry->self, query, times_of(entry, query), compute_s, memory_bytes);
}

/* Returns a lower bound of the scores in the subtree. */
static double least_score(const struct index_bounds *bounds, const struct index_query *query)
{
    const struct esp_server_view view = view_of(bounds, query, least_times(bounds, query),
                                                least_compute_s(bounds, query), query->memory_bytes);
    if (query->scheduler->flags & ESP_SCHEDULER_EVERY)
        return -HUGE_VAL;
    return scheduler_score(query->scheduler, &view);
}

static double own_score(const struct index_entry *entry, const struct index_query *query)
{
    const struct esp_server_view view = index_view(entry, query);
    return scheduler_score(query->scheduler, &view);
}

/* Among equals the shorter line is first, and single servers come before subtrees: then the search ends
 * without opening further subtrees. */
static bool earlier(const struct search_item *a, const struct search_item *b)
{
    if (a->score != b->score)
        return a->score < b->score;
    return a->line != b->line ? a->line < b->line : b->whole && !a->whole;
}

static bool push(struct index_search *search, struct search_item item)
{
    if (search->n == search->capacity) {
        size_t capacity = search->capacity ? 2 * search->capacity : 256;
        struct search_item *heap = realloc(search->heap, capacity * sizeof *heap);
        if (!heap)
            return false;
        search->heap = heap;
        search->capacity = capacity;
    }
    size_t at = search->n++;
    while (at > 0 && earlier(&item, &search->heap[(at - 1) / 2])) {
        search->heap[at] = search->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    search->heap[at] = item;
    return true;
}

static struct search_item pop(struct index_search *search)
{
    struct search_item top = search->heap[0];
    struct search_item moving = search->heap[--search->n];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= search->n)
            break;
        if (child + 1 < search->n && earlier(&search->heap[child + 1], &search->heap[child]))
            child++;
        if (!earlier(&search->heap[child], &moving))
            break;
        search->heap[at] = search->heap[child];
        at = child;
    }
    search->heap[at] = moving;
    return top;
}

static bool push_tree(struct index_search *search, struct index_entry *tree, const struct index_query *query)
{
    if (!tree || tree->best.memory < query->memory_bytes)
        return true;
    return push(search, (struct search_item){least_score(&tree->best, query), tree->best.line, tree, true});
}

static bool is_wanted(const struct index_entry *entry, const struct index_query *query)
{
    double compute_s;
    uint64_t memory_bytes;
    if (entry->self.memory < query->memory_bytes || (query->wanted && !query->wanted(entry, query->arg)))
        return false;
    cost_of(entry, query, &compute_s, &memory_bytes);
    if (entry->self.memory < memory_bytes)
        return false;
    return view_of(&entry->self, query, times_of(entry, query), compute_s, memory_bytes).complete_s <=
           query->finish_s;
}

static bool push_alone(struct index_search *search, struct index_entry *entry,
                       const struct index_query *query)
{
    const struct search_item alone = {own_score(entry, query), entry->self.line, entry, false};
    return !is_wanted(entry, query) || push(search, alone);
}

/* Adds servers with paths of their own first, because the bounds of subtrees are for paths over the
 * agents. */
static bool push_own(struct index_search *search, struct server_index *const *indexes, size_t n_indexes,
                     const struct index_query *query)
{
    for (size_t k = 0; k < query->n_own; k++)
        for (size_t i = 0; i < n_indexes; i++)
            if (query->own[k].entry->in == indexes[i] && !push_alone(search, query->own[k].entry, query))
                return false;
    return true;
}

/* Opens a subtree: pushes its root alone, and its left and right subtrees. */
static bool open_tree(struct index_search *search, struct index_entry *tree, const struct index_query *query)
{
    if (!own_way(tree, query) && !push_alone(search, tree, query))
        return false;
    return push_tree(search, tree->left, query) && push_tree(search, tree->right, query);
}

static size_t select_best(struct index_search *search, struct server_index *const *indexes, size_t n_indexes,
                          const struct index_query *query, struct index_entry **found, size_t most)
{
    size_t n = 0;
    search->n = 0;
    if (!push_own(search, indexes, n_indexes, query))
        return n;
    for (size_t i = 0; i < n_indexes; i++)
        if (!push_tree(search, indexes[i]->root, query))
            return n;
    while (search->n > 0 && n < most) {
        struct search_item item = pop(search);
        if (!item.whole)
            found[n++] = item.entry;
        else if (!open_tree(search, item.entry, query))
            break;
    }
    return n;
}

static struct index_entry *nth(struct index_entry *tree, uint64_t n)
{
    for (;;) {
        uint32_t left = tree->left ? tree->left->count : 0;
        if (n < left) {
            tree = tree->left;
        } else if (n == left) {
            return tree;
        } else {
            n -= left + 1;
            tree = tree->right;
        }
    }
}

static bool has(struct index_entry *const *found, size_t n, const struct index_entry *entry)
{
    for (size_t i = 0; i < n; i++)
        if (found[i] == entry)
            return true;
    return false;
}

/* Draws servers at random and rejects those that do not fit. If that yields too few (most do not fit, or
 * nearly all are wanted), the rest is filled up in order. */
static size_t select_random(struct index_search *search, struct server_index *const *indexes,
                            size_t n_indexes, const struct index_query *query, struct index_entry **found,
                            size_t most)
{
    uint64_t total = 0;
    size_t n = 0;
    for (size_t i = 0; i < n_indexes; i++)
        total += index_count(indexes[i]);
    for (size_t tries = 0; total > 0 && n < most && tries < 8 * most + 64; tries++) {
        uint64_t at = random_below(query->random, total);
        size_t i = 0;
        while (at >= index_count(indexes[i]))
            at -= index_count(indexes[i++]);
        struct index_entry *entry = nth(indexes[i]->root, at);
        if (is_wanted(entry, query) && !has(found, n, entry))
            found[n++] = entry;
    }
    if (n == most || total == n)
        return n;
    struct index_entry **all = malloc((most + n) * sizeof *all);
    if (!all)
        return n;
    size_t n_all = select_best(search, indexes, n_indexes, query, all, most + n);
    for (size_t i = 0; i < n_all && n < most; i++)
        if (!has(found, n, all[i]))
            found[n++] = all[i];
    free(all);
    return n;
}

size_t index_select(struct index_search *search, struct server_index *const *indexes, size_t n_indexes,
                    const struct index_query *query, struct index_entry **found, size_t most)
{
    if (query->scheduler->flags & ESP_SCHEDULER_RANDOM)
        return select_random(search, indexes, n_indexes, query, found, most);
    return select_best(search, indexes, n_indexes, query, found, most);
}
