/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/fill.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <suitesparse/amd.h>

/* ---- estimate by sizes ---- */

struct fill fill_by_sizes(int64_t n, int64_t elements)
{
    const double order = (double)(n > 0 ? n : 0), stored = (double)(elements > 0 ? elements : 0);
    struct fill fill = {fmax(order, stored / 2), stored};
    if (order < 2)
        return fill;
    const bool plane = stored <= 6 * order;
    const double factor = plane ? 1.9 * order * log2(order) : 8 * pow(order, 4.0 / 3);
    const double flop = plane ? 15 * pow(order, 1.5) : 8 * order * order;
    /* A dense matrix of that order has at least this many. */
    fill.elements = fmax(fill.elements, fmin(factor, order * (order + 1) / 2));
    fill.flop = fmax(fill.flop, fmin(flop, order * order * order / 3));
    return fill;
}

/* ---- cache of the latest results ---- */

#define N_KEPT 4

static struct {
    pthread_mutex_t lock;
    struct {
        uint64_t hash;
        int64_t n, elements; /* n 0: nothing */
        struct fill fill;
    } kept[N_KEPT];
    unsigned next;
} analysed = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool find_kept(uint64_t hash, int64_t n, int64_t elements, struct fill *fill)
{
    bool found = false;
    pthread_mutex_lock(&analysed.lock);
    for (unsigned i = 0; i < N_KEPT && !found; i++) {
        found =
            analysed.kept[i].n == n && analysed.kept[i].elements == elements && analysed.kept[i].hash == hash;
        if (found)
            *fill = analysed.kept[i].fill;
    }
    pthread_mutex_unlock(&analysed.lock);
    return found;
}

static void keep(uint64_t hash, int64_t n, int64_t elements, const struct fill *fill)
{
    pthread_mutex_lock(&analysed.lock);
    const unsigned i = analysed.next++ % N_KEPT;
    analysed.kept[i].hash = hash;
    analysed.kept[i].n = n;
    analysed.kept[i].elements = elements;
    analysed.kept[i].fill = *fill;
    pthread_mutex_unlock(&analysed.lock);
}

/* ---- analysis of the pattern ---- */

static int64_t number_at(const void *numbers, bool wide, int64_t k)
{
    return wide ? ((const int64_t *)numbers)[k] : ((const int32_t *)numbers)[k];
}

/* A copy of the pattern with 64-bit numbers that count from 0. */
struct pattern {
    int64_t *pointers, *indices;
};

/* False without memory, or if a number lies outside the matrix. *hash is of the numbers counted from 0. */
static bool copy_pattern(int64_t n, const void *pointers, const void *indices, bool wide, int base,
                         struct pattern *copy, uint64_t *hash)
{
    const int64_t elements = number_at(pointers, wide, n) - base;
    const uint64_t factor = UINT64_C(0x100000001b3);
    bool good = elements >= 0;
    *copy = (struct pattern){malloc(((size_t)n + 1) * sizeof *copy->pointers),
                             good ? malloc(((size_t)elements + 1) * sizeof *copy->indices) : NULL};
    *hash = UINT64_C(0xcbf29ce484222325);
    if (!copy->pointers || !copy->indices)
        return false;
    for (int64_t j = 0; j <= n && good; j++) {
        copy->pointers[j] = number_at(pointers, wide, j) - base;
        good = copy->pointers[j] >= (j ? copy->pointers[j - 1] : 0) && copy->pointers[j] <= elements;
        *hash = (*hash ^ (uint64_t)copy->pointers[j]) * factor;
    }
    for (int64_t k = 0; k < elements && good; k++) {
        copy->indices[k] = number_at(indices, wide, k) - base;
        good = copy->indices[k] >= 0 && copy->indices[k] < n;
        *hash = (*hash ^ (uint64_t)copy->indices[k]) * factor;
    }
    return good && copy->pointers[0] == 0;
}

static bool analyse(int64_t n, const struct pattern *pattern, struct fill *fill)
{
    double info[AMD_INFO];
    SuiteSparse_long *order = malloc((size_t)n * sizeof *order);
    const int status =
        order ? (int)amd_l_order((SuiteSparse_long)n, (const SuiteSparse_long *)pattern->pointers,
                                 (const SuiteSparse_long *)pattern->indices, order, NULL, info)
              : AMD_OUT_OF_MEMORY;
    free(order);
    if (status != AMD_OK && status != AMD_OK_BUT_JUMBLED)
        return false;
    *fill = (struct fill){info[AMD_LNZ] + (double)n, info[AMD_NDIV] + 2 * info[AMD_NMULTSUBS_LDL]};
    return true;
}

bool fill_by_pattern(int64_t n, const void *pointers, const void *indices, bool wide, int base,
                     struct fill *fill)
{
    struct pattern pattern = {NULL, NULL};
    uint64_t hash;
    _Static_assert(sizeof(SuiteSparse_long) == sizeof(int64_t), "patterns are given to AMD as they are");
    if (n < 1 || n > INT32_MAX || number_at(pointers, wide, n) - base > FILL_MOST_ELEMENTS)
        return false;
    bool known = copy_pattern(n, pointers, indices, wide, base, &pattern, &hash);
    if (known && !find_kept(hash, n, pattern.pointers[n], fill)) {
        known = analyse(n, &pattern, fill);
        if (known)
            keep(hash, n, pattern.pointers[n], fill);
    }
    free(pattern.pointers);
    free(pattern.indices);
    return known;
}
