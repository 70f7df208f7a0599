/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/grid_search.h"
#include "config.h"
#include "core/forecast/grid_table.h"
#include "util/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For the best AROUND grids, neighbours are tried; for the best REFINED, the other block sizes. */
#define AROUND  3
#define REFINED 8

/* A grid that leaves more than 1/IDLE of the ranks idle is not considered as using all of them. */
#define IDLE 8

struct search {
    int64_t ranks;
    const int64_t *blocks;
    size_t n_blocks;
    grid_weigh *weigh;
    void *arg;
    struct grid_weighed *items;
    size_t n, capacity;
    bool full; /* out of memory for a result */
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

/* Evaluates a grid and block size; true when it is usable. */
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

/* Tries the middle block size and the smallest, because the best shapes depend on the block size, most of
 * all for panels that one column of ranks factorises. */
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

/* Tries shapes near this one with that block size. */
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

/* Tries from three quarters to one and a half times as many rows and columns. */
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

enum { CELL = 9, MOST_SHOWN = 64 };

/* Finds a grid; the forecasts are sorted, the fastest first. */
static const struct parallel_forecast *find(const struct parallel_forecast *forecasts, size_t n, int64_t p,
                                            int64_t q)
{
    for (size_t i = 0; i < n; i++)
        if (forecasts[i].grid.p == p && forecasts[i].grid.q == q)
            return &forecasts[i];
    return NULL;
}

static int64_t most_ranks(const struct parallel_forecast *forecasts, size_t n)
{
    int64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        most = forecasts[i].grid.p > most ? forecasts[i].grid.p : most;
        most = forecasts[i].grid.q > most ? forecasts[i].grid.q : most;
    }
    return most;
}

/* Whether i is 2^k or 3 * 2^k. */
static bool is_round(int64_t i)
{
    while (i % 2 == 0)
        i /= 2;
    return i == 1 || i == 3;
}

/* Chooses which numbers of ranks get a row or column. */
static size_t choose(int64_t most, int64_t best, size_t room, int64_t *shown)
{
    bool all = most <= (int64_t)room;
    size_t n = 0;
    for (int64_t i = 1; i <= most && n < MOST_SHOWN; i++)
        if (all || i == best || is_round(i))
            shown[n++] = i;
    return n;
}

/* Returns the factor from seconds to the table's unit, in which the fastest time has digits before or
 * right after the point. */
static double per_second(const struct parallel_forecast *fastest)
{
    return fastest->seconds >= 0.1 || !isfinite(fastest->seconds) ? 1 : fastest->seconds >= 1e-4 ? 1e3 : 1e6;
}

const char *grid_table_unit(const struct parallel_forecast *forecasts, size_t n)
{
    const double unit = n > 0 ? per_second(forecasts) : 1;
    return unit > 1e3 ? "microseconds" : unit > 1 ? "milliseconds" : "seconds";
}

/* Writes fewer digits if the cell has no room for four. */
static void write_time(char *cell, size_t size, double time, bool best)
{
    if (snprintf(cell, size, "%.4g%s", time, best ? "*" : "") >= CELL)
        snprintf(cell, size, "%.1e%s", time, best ? "*" : "");
}

static void put_time(struct text *text, const struct parallel_forecast *forecast, double unit, bool best)
{
    char cell[32] = "";
    if (isfinite(forecast->seconds))
        write_time(cell, sizeof cell, forecast->seconds * unit, best);
    else
        snprintf(cell, sizeof cell, "-");
    text_printf(text, "%*s", CELL, cell);
}

static void put_block(struct text *text, const struct parallel_forecast *forecast, double unit, bool best)
{
    (void)unit;
    char cell[32] = "-";
    if (isfinite(forecast->seconds))
        snprintf(cell, sizeof cell, "%" PRId64 "%s", forecast->block, best ? "*" : "");
    text_printf(text, "%*s", CELL, cell);
}

/* In a row, all existing grids are to the left of the missing ones. */
static void put_grids(struct text *text, const struct parallel_forecast *forecasts, size_t n, size_t width,
                      void (*put)(struct text *, const struct parallel_forecast *, double, bool))
{
    int64_t rows[MOST_SHOWN], cols[MOST_SHOWN];
    size_t room = width / CELL > 2 ? width / CELL - 1 : 1;
    room = room < MOST_SHOWN ? room : MOST_SHOWN;
    int64_t most = most_ranks(forecasts, n);
    size_t n_rows = choose(most, forecasts->grid.p, room, rows),
           n_cols = choose(most, forecasts->grid.q, room, cols);
    text_printf(text, "%*s", CELL, "p \\ q");
    for (size_t j = 0; j < n_cols; j++)
        text_printf(text, "%*" PRId64, CELL, cols[j]);
    text_put(text, "\n");
    for (size_t i = 0; i < n_rows; i++) {
        text_printf(text, "%*" PRId64, CELL, rows[i]);
        for (size_t j = 0; j < n_cols; j++) {
            const struct parallel_forecast *forecast = find(forecasts, n, rows[i], cols[j]);
            if (!forecast)
                break; /* grids further right have more ranks */
            put(text, forecast, per_second(forecasts), forecast == forecasts);
        }
        text_put(text, "\n");
    }
}

static bool blocks_differ(const struct parallel_forecast *forecasts, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (isfinite(forecasts[i].seconds) && forecasts[i].block != forecasts->block)
            return true;
    return false;
}

void grid_table_text(const struct parallel_forecast *forecasts, size_t n, size_t width, struct text *text)
{
    if (n == 0)
        return;
    put_grids(text, forecasts, n, width, put_time);
    if (blocks_differ(forecasts, n)) {
        text_put(text, "with blocks of:\n");
        put_grids(text, forecasts, n, width, put_block);
    }
    if (isfinite(forecasts->seconds))
        text_printf(text, "fastest: %" PRId64 " x %" PRId64 " ranks, blocks of %" PRId64 ", %.4g s\n",
                    forecasts->grid.p, forecasts->grid.q, forecasts->block, forecasts->seconds);
    else
        text_put(text, "no grid has the memory\n");
}

/* Returns 0 for the fastest, 1 for the slowest that fits in memory, on a logarithmic scale. */
static double heat(double seconds, double fastest, double slowest)
{
    return slowest > fastest && fastest > 0 ? log(seconds / fastest) / log(slowest / fastest) : 0;
}

/* Returns the font size of a label that fits into a square of that side: letters are about 0.6 of it wide. */
static double letter_size(const char *label, double side)
{
    const double fits = 0.95 * side / (0.6 * (double)strlen(label));
    return fmin(fmin(12, side / 3), fits);
}

static void draw(const struct parallel_forecast *forecast, bool best, double heat_of, double side,
                 double left, double top, struct text *text)
{
    char colour[SVG_COLOUR] = "#ddd", tooltip[160], seconds[24];
    bool fits = isfinite(forecast->seconds);
    if (fits)
        svg_heat(heat_of, colour);
    snprintf(seconds, sizeof seconds, fits ? "%.3g" : "-", forecast->seconds);
    snprintf(tooltip, sizeof tooltip, "%" PRId64 " x %" PRId64 " ranks, blocks of %" PRId64 ": %s s%s",
             forecast->grid.p, forecast->grid.q, forecast->block, seconds,
             fits ? "" : ", the ranks have too little memory");
    struct svg_box box = {left + (double)(forecast->grid.q - 1) * side,
                          top + (double)(forecast->grid.p - 1) * side, side, side};
    svg_box(text, box, colour, best ? "#000" : "#fff", tooltip);
    if (side >= 18)
        svg_label(text, box.x + side / 2, box.y + side / 2, letter_size(seconds, side), "middle", seconds);
}

void grid_table_svg(const struct parallel_forecast *forecasts, size_t n, double width, const char *title,
                    struct text *text)
{
    const double left = 34, top = 60;
    int64_t most = most_ranks(forecasts, n);
    double side = most > 0 ? (width - left - 10) / (double)most : 1, slowest = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(forecasts[i].seconds))
            slowest = fmax(slowest, forecasts[i].seconds);
    svg_open(text, width, top + side * (double)most + 10, title);
    svg_label(text, left, 16, 14, "start", title);
    svg_label(text, left, 36, 11, "start", "rows of ranks downwards, columns of ranks to the right, seconds");
    for (int64_t i = 1; i <= most; i++) {
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, i);
        if (side < 14 && !is_round(i))
            continue;
        svg_label(text, left + ((double)i - 0.5) * side, top - 8, 10, "middle", number);
        svg_label(text, left - 6, top + ((double)i - 0.5) * side, 10, "end", number);
    }
    for (size_t i = n; i-- > 0;) /* the fastest last, so that its frame is on top */
        draw(&forecasts[i], i == 0, heat(forecasts[i].seconds, forecasts[0].seconds, slowest), side, left,
             top, text);
    svg_close(text);
}
