/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/ranks/gang.h"

#include <stdio.h>
#include <string.h>

bool gang_is_beside(const struct ring_job *job, uint32_t rank)
{
    return rank - job->first_rank >= (uint64_t)job->grid.rows * job->grid.cols;
}

bool gang_is_distributed(const struct ring_job *job, uint32_t argument)
{
    for (uint32_t i = 0; i < job->n_parts; i++)
        if (job->parts[i].argument == argument)
            return true;
    return false;
}

bool gang_puts_back(const struct ring_part *part, const struct process_grid *grid, int64_t row, int64_t col)
{
    return part->comes_back && (part->layout.rows.ranks > 1 || grid->rows == 1 || row == 0) &&
           (part->layout.cols.ranks > 1 || grid->cols == 1 || col == 0);
}

void gang_copy_values(const struct ring_job *job, unsigned char *to, const unsigned char *from)
{
    const uint64_t front = job->front;
    uint64_t at = front;
    while (at < job->end) {
        uint64_t next = job->end, behind = job->end;
        for (uint32_t i = 0; i < job->n_parts; i++) {
            const struct ring_part *part = &job->parts[i];
            uint64_t bytes = (uint64_t)(part->layout.rows.n * part->layout.cols.n) * part->element_bytes;
            if (part->comes_back && !part->to.there && bytes > 0 && part->whole.place == OPERAND_ARENA &&
                part->whole.value >= at && part->whole.value < next) {
                next = part->whole.value;
                behind = next + bytes;
            }
        }
        memcpy(to + (at - front), from + (at - front), next - at);
        at = behind;
    }
}

bool gang_takes_back(const struct ring_job *job, const struct ring_area *area)
{
    return area->writable && area->file != RING_NO_SOURCE && !gang_is_distributed(job, area->argument);
}

void gang_returned(struct ring *ring, const struct ring_verdict *verdict)
{
    ring->answer.verdict = *verdict;
    ring->answer.cpu_ns = 0;
    ring->answer.keeps = 0;
    ring->answer.kind = ANSWER_RETURNED;
}

void gang_cannot(struct ring *ring, uint32_t place, uint32_t n, const char *why, bool starved)
{
    struct ring_answer *answer = &ring->answer;
    if (atomic_fetch_add(&ring->gang.unable, 1) > 0)
        return;
    snprintf(answer->text, sizeof answer->text, "rank %u of %u: %.460s", place, n, why);
    answer->kind = ANSWER_UNABLE;
    atomic_store(&ring->gang.starved, starved);
}

void gang_note(struct ring_gang *gang, uint64_t compute_ns, int64_t strayed)
{
    uint64_t longest = atomic_load(&gang->compute_ns);
    while (longest < compute_ns && !atomic_compare_exchange_weak(&gang->compute_ns, &longest, compute_ns))
        ;
    if (strayed >= 0)
        atomic_store(&gang->strayed, 1 + (uint32_t)strayed);
}

void gang_refused(struct ring_gang *gang, uint32_t place, uint64_t bytes)
{
    uint32_t nobody = 0;
    if (bytes > 0 && atomic_compare_exchange_strong(&gang->refuser, &nobody, 1 + place))
        atomic_store(&gang->refused, bytes);
}

static void note_straying(struct ring *ring)
{
    uint32_t strayed = atomic_load(&ring->gang.strayed);
    if (strayed == 0)
        return;
    ring->answer.kind = ANSWER_STRAYED;
    ring->answer.place = FAULT_BEHIND;
    ring->answer.argument = strayed - 1;
}

/* No rank reads the arguments any more. */
static void take_results(struct ring *ring)
{
    const struct ring_job *job = &ring->job;
    memcpy(ring->arena + job->front, ring->results + (job->front - RING_RESULTS_FROM), job->end - job->front);
}

bool gang_leave(struct ring *ring, int bell)
{
    if (atomic_fetch_sub(&ring->gang.left, 1) > 1)
        return true;
    if (ring->job.sure)
        take_results(ring);
    ring->answer.compute_ns = atomic_load(&ring->gang.compute_ns);
    ring->answer.refused_bytes = atomic_load(&ring->gang.refused);
    note_straying(ring);
    return ring_reply(ring, bell);
}
