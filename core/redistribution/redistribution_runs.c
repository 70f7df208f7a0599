/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/redistribution/redistribution.h"
#include "core/redistribution/redistribution_pattern.h"

#include <stdlib.h>

struct runs {
    struct redistribution_run *list;
    size_t n, room;
};

static bool add(struct runs *runs, int64_t first, int64_t length)
{
    if (runs->n == runs->room) {
        size_t room = runs->room ? 2 * runs->room : 16;
        struct redistribution_run *list = realloc(runs->list, room * sizeof *list);
        if (!list)
            return false;
        runs->list = list;
        runs->room = room;
    }
    runs->list[runs->n++] = (struct redistribution_run){.first = first, .length = length};
    return true;
}

static int compare_first(const void *a, const void *b)
{
    const struct redistribution_run *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Those of the first period by their offsets z, and again in each period after it. */
static bool add_by_offsets(struct runs *runs, const struct pattern *pattern, int64_t p, int64_t q)
{
    int64_t z, left = pattern_offsets(pattern, pattern_class(pattern, p, q), &z), n = pattern->n;
    for (; left > 0; left--, z += pattern->g) {
        int64_t start, length = pattern_run(pattern, p, q, z, &start) * pattern->unit;
        if (start == INT64_MAX)
            continue;
        for (int64_t at = start * pattern->unit; at < n; at += pattern->period) {
            if (!add(runs, at, length < n - at ? length : n - at))
                return false;
            if (!pattern->period || pattern->period > n - at)
                break;
        }
    }
    return true;
}

/* The sender's blocks one by one: where there are fewer of them than offsets. */
static bool add_by_blocks(struct runs *runs, const struct block_cyclic *from, const struct block_cyclic *to,
                          int64_t source, int64_t target)
{
    int64_t count = block_cyclic_count(from, source);
    for (int64_t local = 0; local < count;) {
        int64_t first = block_cyclic_global(from, source, local);
        int64_t in_from = from->block - first % from->block, in_to = to->block - first % to->block;
        int64_t length = in_from < in_to ? in_from : in_to;
        length = length < from->n - first ? length : from->n - first;
        if (block_cyclic_owner(to, first) == target && !add(runs, first, length))
            return false;
        local += length;
    }
    return true;
}

enum esp_status redistribution_runs(const struct block_cyclic *from, const struct block_cyclic *to,
                                    int64_t source, int64_t target, struct redistribution_run **runs,
                                    size_t *n, struct esp_error *error)
{
    struct runs found = {0};
    struct pattern pattern;
    pattern_open(from, to, &pattern);
    int64_t p = block_cyclic_position(from, source), q = block_cyclic_position(to, target);
    int64_t blocks =
        block_cyclic_count(from, source) / from->block + block_cyclic_count(from, source) / to->block;
    bool done = blocks < (pattern.r + pattern.s) / pattern.g && !pattern.period
                    ? add_by_blocks(&found, from, to, source, target)
                    : add_by_offsets(&found, &pattern, p, q);
    if (!done) {
        free(found.list);
        return error_no_memory(error, "the runs of a message");
    }
    if (found.n)
        qsort(found.list, found.n, sizeof *found.list, compare_first);
    for (size_t i = 0; i < found.n; i++) {
        found.list[i].from = block_cyclic_local(from, found.list[i].first);
        found.list[i].to = block_cyclic_local(to, found.list[i].first);
    }
    *runs = found.list;
    *n = found.n;
    return ESP_OK;
}
