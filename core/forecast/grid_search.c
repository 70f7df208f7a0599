/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/grid_search.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* So many of the best are looked around, and get the other block sizes. */
#define AROUND  3
#define REFINED 8
/* A grid that leaves more than this part of the ranks idle is no candidate for using all of them. */
#define IDLE 8

struct search {
    int64_t ranks;
    const int64_t *blocks;
    size_t n_blocks;
    grid_weigh *weigh;
    void *arg;
    struct grid_weighed *items;
    size_t n, capacity;
    bool full; /* there was no memory for one */
};

static bool is_weighed(const struct search *search, struct parallel_grid grid, int64_t block)
{
    for (size_t i = 0; i < search->n; i++)
        if (search->items[i].grid.p == grid.p && search->items[i].grid.q == grid.q &&
            (block == 0 || search->items[i].block == block))
            return true;
    return false;
}

static bool make_room(struct search *search)
{
    if (search->n < search->capacity)
        return true;
    const size_t capacity = search->capacity ? 2 * search->capacity : 256;
    struct grid_weighed *more = realloc(search->items, capacity * sizeof *more);
    search->full |= !more;
    if (!more)
        return false;
    search->items = more;
    search->capacity = capacity;
    return true;
}

/* True when it is of use. */
static bool try(struct search *search, struct parallel_grid grid, int64_t block)
{
    const double seconds = search->weigh(search->arg, grid, block);
    const bool useful = seconds < INFINITY && make_room(search);
    if (useful)
        search->items[search->n++] = (struct grid_weighed){grid, block, seconds};
    return useful;
}

static void weigh_blocks(struct search *search, struct parallel_grid grid)
{
    for (size_t i = 0; i < search->n_blocks; i++)
        try(search, grid, search->blocks[i]);
}

static bool is_possible(const struct search *search, int64_t p, int64_t q)
{
    return p >= 1 && q >= 1 && p <= search->ranks / q;
}

/* With the middle block size and the smallest: which shapes are good hangs on how large blocks are, most of
 * all for panels that a column of ranks factorises. */
static void weigh_shape(struct search *search, int64_t p, int64_t q)
{
    const struct parallel_grid grid = {p, q};
    const size_t middle = search->n_blocks / 2;
    if (!is_possible(search, p, q) || is_weighed(search, grid, 0))
        return;
    const bool found = try(search, grid, search->blocks[middle]);
    const bool smaller = middle > 0 && try(search, grid, search->blocks[0]);
    for (size_t i = middle + 1; i < search->n_blocks && !found && !smaller; i++)
        try(search, grid, search->blocks[i]);
}

/* With that block size. */
static void weigh_near(struct search *search, int64_t p, int64_t q, int64_t block)
{
    const struct parallel_grid grid = {p, q};
    if (is_possible(search, p, q) && !is_weighed(search, grid, block))
        try(search, grid, block);
}

static int compare(const void *a, const void *b)
{
    const struct grid_weighed *x = a, *y = b;
    const int64_t ranks_x = x->grid.p * x->grid.q, ranks_y = y->grid.p * y->grid.q;
    if (x->seconds < y->seconds || x->seconds > y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    if (ranks_x != ranks_y)
        return ranks_x < ranks_y ? -1 : 1;
    return x->grid.p != y->grid.p ? (x->grid.p < y->grid.p ? -1 : 1)
                                  : (x->block > y->block) - (x->block < y->block);
}

static void sort(struct search *search)
{
    if (search->n > 0)
        qsort(search->items, search->n, sizeof *search->items, compare);
}

static void weigh_all(struct search *search)
{
    for (int64_t p = 1; p <= search->ranks; p++)
        for (int64_t q = 1; q <= search->ranks / p; q++)
            weigh_blocks(search, (struct parallel_grid){p, q});
}

static void weigh_sample(struct search *search)
{
    const int64_t ranks = search->ranks;
    for (int64_t p = 1; p <= ranks; p *= 2)
        for (int64_t q = 1; q <= ranks / p; q *= 2)
            weigh_shape(search, p, q);
    for (int64_t p = 1; p * p <= ranks; p++) {
        const int64_t q = ranks / p;
        if (ranks - p * q > ranks / IDLE)
            continue;
        weigh_shape(search, p, q);
        weigh_shape(search, q, p);
    }
}

/* From three quarters to one and a half times as many rows and columns. */
static void weigh_around(struct search *search, const struct grid_weighed *best)
{
    static const int64_t eighths[] = {6, 7, 8, 9, 10, 12};
    enum { N = sizeof eighths / sizeof *eighths };
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            weigh_near(search, (best->grid.p * eighths[i] + 4) / 8, (best->grid.q * eighths[k] + 4) / 8,
                       best->block);
}

static void look_around(struct search *search)
{
    struct grid_weighed best[AROUND];
    size_t n = 0;
    sort(search);
    for (; n < AROUND && n < search->n; n++)
        best[n] = search->items[n];
    for (size_t i = 0; i < n; i++)
        weigh_around(search, &best[i]);
}

static void try_blocks(struct search *search)
{
    struct grid_weighed best[REFINED];
    size_t n = 0;
    sort(search);
    for (; n < REFINED && n < search->n; n++)
        best[n] = search->items[n];
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < search->n_blocks; k++)
            weigh_near(search, best[i].grid.p, best[i].grid.q, search->blocks[k]);
}

enum esp_status grid_search(int64_t ranks, const int64_t *blocks, size_t n_blocks, grid_weigh *weigh,
                            void *arg, struct grid_weighed **found, size_t *n, struct esp_error *error)
{
    struct search search = {
        .ranks = ranks, .blocks = blocks, .n_blocks = n_blocks, .weigh = weigh, .arg = arg};
    if (ranks < 1 || ranks > BLOCK_CYCLIC_MOST_RANKS || n_blocks == 0)
        return error_set(error, ESP_INVALID,
                         "expected 1 to %d ranks and a block size, found %" PRId64 " and %zu block sizes",
                         BLOCK_CYCLIC_MOST_RANKS, ranks, n_blocks);
    if (ranks <= GRID_SEARCH_ALL) {
        weigh_all(&search);
    } else {
        weigh_sample(&search);
        look_around(&search);
        try_blocks(&search);
        look_around(&search);
        try_blocks(&search);
    }
    sort(&search);
    if (search.full) {
        free(search.items);
        return error_no_memory(error, "forecasts of grids");
    }
    *found = search.items;
    *n = search.n;
    return ESP_OK;
}
