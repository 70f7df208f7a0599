/* SPDX-License-Identifier: Apache-2.0
 *
 * Which calls ranks have prepared before. One that all of them know, whose arguments are small, cannot fail
 * before the routine is entered: nobody has to wait for the others, there or later.
 */
#include "sed/ranks/ranks_pool.h"

#include <string.h>

/* The memory of a rank for its part of it, at most; more than there is when it is not small. */
static uint64_t small_bytes(const struct ring_part *part)
{
    const struct block_cyclic_matrix *layout = &part->layout;
    const int64_t block = layout->rows.block > layout->cols.block ? layout->rows.block : layout->cols.block;
    const int64_t elements = RANK_SMALL_PART / part->element_bytes;
    if (part->from.there || part->to.there || layout->rows.n > elements || layout->cols.n > elements ||
        block > elements || layout->rows.n * layout->cols.n + block + 1 > elements)
        return UINT64_MAX / PROBLEM_MAX_ARGUMENTS / 2;
    uint64_t bytes = (uint64_t)(layout->rows.n * layout->cols.n + block + 1) * part->element_bytes;
    return (part->into ? 2 : 1) * (bytes + 3 * RANK_SMALL_FENCE);
}

static bool is_small(const struct ring_job *job)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < job->n_parts; i++)
        bytes += small_bytes(&job->parts[i]);
    return job->front >= RING_RESULTS_FROM && job->n_areas == 0 && job->n_queries == 0 &&
           job->n_descriptors == 0 && bytes <= RANK_SMALL_BYTES;
}

bool ranks_are_sure(struct rank_pool *pool, const struct ring_job *job, uint32_t first, uint32_t n)
{
    const uint64_t key = job->signature.key;
    bool sure = key != 0 && is_small(job);
    for (uint32_t i = first; i < first + n; i++) {
        uint64_t *known = &pool->known[i][key % RANK_CALLS_KEPT];
        sure &= *known == key;
        if (*known != key)
            *known = 0;
    }
    return sure;
}

void ranks_know(struct rank_pool *pool, const struct gang *gang)
{
    const uint64_t key = gang->ring->job.signature.key;
    for (uint32_t i = gang->first; i < gang->first + gang->n - gang->beside; i++)
        pool->known[i][key % RANK_CALLS_KEPT] = key;
}

void ranks_forget_calls(struct rank_pool *pool)
{
    memset(pool->known, 0, pool->options.ranks * sizeof *pool->known);
}
