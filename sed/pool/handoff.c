/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/pool/handoff_write.h"

#include <stdio.h>
#include <string.h>

/* Commands take their values as files, and ranks of their own copy of the arena. */
static bool has_bays(const struct job *job)
{
    return !job->implementation->command && !implementation_is_parallel(job->implementation);
}

/* What a call's values take of the arena at most, fences and all, when each array that finds a bay has it.
 * *arrays: there are some that do not. */
static uint64_t arena_need(const struct job *job, struct handoff *handoff, bool *arrays)
{
    uint64_t bays = 0;
    const struct implementation *implementation = job->implementation;
    uint64_t bytes = RING_FENCE_BYTES + (implementation->returns ? 16 + RING_FENCE_BYTES : 0);
    *arrays = false;
    for (uint32_t i = 0; i < job->problem->n_arguments; i++) {
        const struct argument *argument = &job->problem->arguments[i];
        if (argument_is_queried(argument) || argument->type == TYPE_STATE ||
            (job->arguments[i].in_segment && job->arguments[i].bytes > 0 && argument->type != TYPE_STRING))
            continue;
        if (argument->n_dims > 0 && job->arguments[i].bytes > 0 && has_bays(job))
            handoff->argument_bays[i] = (int8_t)bay_take(&bays, job->arguments[i].bytes);
        if (handoff->argument_bays[i] >= 0)
            continue;
        if (job->arguments[i].bytes >= RING_ARENA_BYTES)
            return RING_ARENA_BYTES;
        *arrays |= argument->n_dims > 0;
        bytes += handoff_round_up(job->arguments[i].bytes + 1) + 2 * handoff_fence_bytes(job, (int32_t)i) -
                 RING_FENCE_BYTES;
    }
    for (uint32_t i = 0; i < implementation->n_parameters; i++)
        if (implementation->parameters[i].kind != PARAMETER_ARGUMENT)
            bytes += 16 + RING_FENCE_BYTES;
    return bytes;
}

/* A routine's values lie at the end of the arena: what it writes behind them meets fences and then the
 * guard, however far it goes. */
static void begin_arena(struct ring *ring, const struct job *job, struct handoff *handoff)
{
    bool arrays = false;
    memset(handoff->argument_bays, -1, job->problem->n_arguments * sizeof *handoff->argument_bays);
    uint64_t need = job->implementation->command ? RING_ARENA_BYTES : arena_need(job, handoff, &arrays);
    uint32_t first = need < RING_ARENA_BYTES ? (uint32_t)(RING_ARENA_BYTES - need) & ~15u : 0;
    uint32_t fence = !arrays ? 0 : first < RING_FRONT_FENCE ? first : RING_FRONT_FENCE;
    handoff->front = first - fence;
    handoff->used = first + RING_FENCE_BYTES;
    ring_fence_write(ring->arena + handoff->front, handoff->used - handoff->front);
}

/* For the worker to tell whose guard was met. */
static void tell_bays(struct ring *ring, const struct handoff *handoff)
{
    ring->job.bays = 0;
    for (uint32_t i = 0; i < handoff->n_values; i++)
        if (handoff->values[i].bay >= 0)
            ring->job.bays |= UINT64_C(1) << handoff->values[i].bay;
}

static void end_arena(struct ring *ring, struct handoff *handoff)
{
    handoff->end = RING_ARENA_BYTES;
    ring_fence_write(ring->arena + handoff->used, handoff->end - handoff->used);
}

static enum esp_status write_job(struct ring *ring, const struct job *job, struct handoff *handoff,
                                 struct esp_error *error)
{
    struct writer writer = {.ring = ring, .handoff = handoff, .error = error};
    enum esp_status status = ESP_OK;
    if (!job->implementation->command)
        status = signature_build(job->problem, job->implementation, &ring->job.signature, error);
    if (status != ESP_OK)
        return status;
    handoff->job = *job;
    handoff->has_state = problem_state_index(job->problem) >= 0;
    handoff->n_values = 0;
    handoff->has_texts = false;
    ring->answer.n_outputs = 0;
    begin_arena(ring, job, handoff);
    for (uint32_t i = 0; i < job->problem->n_arguments; i++)
        handoff->argument_values[i] = -1;
    atomic_store_explicit(&ring->progress, -1, memory_order_relaxed);
    ring->job.n_descriptors = handoff->n_descriptors = 0;
    ring->job.timed = job->timed;
    ring->job.n_areas = 0;
    ring->job.n_queries = ring->job.n_callbacks = 0;
    ring->job.system.wanted = 0;
    ring->answer.is_wrong = 0;
    ring->job.n_sections = 0;
    ring->job.n_texts = 0;
    ring->job.n_parts = 0;
    ring->job.n_files = 0;
    ring->job.fortran_files = job->implementation->convention == CONVENTION_FORTRAN;
    ring->job.output_bytes = job->implementation->output_bytes;
    ring->job.grid = job->grid;
    snprintf(ring->job.checkpoint, sizeof ring->job.checkpoint, "%s", job->checkpoint ? job->checkpoint : "");
    ring->job.checkpoint_number = job->checkpoint_number;
    atomic_store_explicit(&ring->saved, job->checkpoint_number, memory_order_relaxed);
    atomic_store_explicit(&ring->question.asked, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->question.answered, 0, memory_order_relaxed);
    ring->job.segment_bytes = job->segment_bytes;
    ring->job.command.n_words = 0;
    if (job->implementation->command) {
        handoff->result_value = -1;
        status = handoff_put_command(&writer);
    } else {
        status = handoff_put_parameters(&writer);
        if (status == ESP_OK)
            status = handoff_put_result(&writer);
        handoff_put_system(&writer);
        handoff->has_texts = ring->job.n_texts > 0 || ring->job.n_files > 0;
        if (status == ESP_OK)
            end_arena(ring, handoff);
        tell_bays(ring, handoff);
        ring->job.front = handoff->front;
        ring->job.end = handoff->end;
    }
    ring->answer.kind = ANSWER_NONE;
    return status;
}

enum esp_status handoff_write(struct ring *ring, const struct job *job, struct handoff *handoff,
                              struct esp_error *error)
{
    enum esp_status status = write_job(ring, job, handoff, error);
    /* ESP_LIMIT of a start means that a worker will be free: what does not fit would be tried for ever, and
     * everybody behind it would wait. */
    return status == ESP_LIMIT ? (error->status = ESP_INVALID) : status;
}
