/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds out where a routine wrote outside its arrays. */
#include "sed/pool/handoff_judge.h"

#include <string.h>

/* Whether the unused part of a bay, before or after the array, is damaged. */
static bool bay_is_damaged(const struct ring *ring, const struct handoff_value *value, bool *before)
{
    uint32_t begin = RING_ARENA_BYTES + bay_offset((uint32_t)value->bay);
    uint32_t end = begin + bay_bytes((uint32_t)value->bay), behind = value->offset + value->bytes;
    *before = ring_fence_damage(ring_room_read(ring, begin), value->offset - begin) >= 0;
    return *before || ring_fence_damage(ring_room_read(ring, behind), end - behind) >= 0;
}

/* Returns the first value in the arena from number `i` on; NULL: none is left. */
static const struct handoff_value *value_in_arena(const struct handoff *handoff, uint32_t i)
{
    while (i < handoff->n_values && handoff->values[i].bay >= 0)
        i++;
    return i < handoff->n_values ? &handoff->values[i] : NULL;
}

/* Checks the fence after a value in the arena, up to the next value. */
static bool fence_behind_is_damaged(const struct ring *ring, const struct handoff *handoff,
                                    const struct handoff_value *value, int32_t *argument, bool *before)
{
    const struct handoff_value *behind = value_in_arena(handoff, (uint32_t)(value - handoff->values) + 1);
    uint32_t next = behind ? behind->offset : handoff->end, from = value->offset + value->bytes;
    int64_t damage = ring_fence_damage(ring->arena + from, next - from);
    if (damage < 0)
        return false;
    /* If the first half of a fence is intact, the damage came from the value after it. */
    *before = damage >= (next - from) / 2 && behind && behind->argument >= 0;
    *argument = *before ? behind->argument : value->argument;
    return true;
}

/* Checks all fences. On damage *argument is the argument whose end (or beginning, *before) was overrun, or
 * -1. */
static bool fence_is_damaged(const struct ring *ring, const struct handoff *handoff, int32_t *argument,
                             bool *before)
{
    const struct handoff_value *value = value_in_arena(handoff, 0);
    uint32_t first = value ? value->offset : handoff->used;
    if (ring_fence_damage(ring->arena + handoff->front, first - handoff->front) >= 0) {
        *argument = value ? value->argument : -1;
        *before = true;
        return true;
    }
    for (uint32_t i = 0; i < handoff->n_values; i++) {
        value = &handoff->values[i];
        *argument = value->argument;
        if (value->bay >= 0 ? bay_is_damaged(ring, value, before)
                            : fence_behind_is_damaged(ring, handoff, value, argument, before))
            return true;
    }
    return false;
}

static void describe_damage(const struct job *job, int32_t argument, bool before, struct job_end *end)
{
    if (argument < 0)
        error_set(&end->error, ESP_CRASHED, "%s wrote outside its arguments", job->implementation->symbol);
    else
        error_set(&end->error, ESP_CRASHED, "%s wrote %s argument '%s' (%llu bytes)",
                  job->implementation->symbol, before ? "in front of" : "behind",
                  handoff_argument_name(job, argument), (unsigned long long)job->arguments[argument].bytes);
}

/* Finds an input that the routine has changed, while the caller's is unchanged; or -1. */
static int32_t changed_input(const struct ring *ring, const struct handoff *handoff)
{
    for (uint32_t i = 0; i < handoff->n_values; i++) {
        const struct handoff_value *value = &handoff->values[i];
        const struct job_argument *argument =
            value->argument >= 0 ? &handoff->job.arguments[value->argument] : NULL;
        if (argument && !argument->writable && argument->data && argument->bytes <= value->bytes &&
            memcmp(ring_room_read(ring, value->offset), argument->data, argument->bytes) != 0)
            return value->argument;
    }
    return -1;
}

void handoff_describe_overrun(const struct ring *ring, const struct handoff *handoff, struct job_end *end)
{
    const struct job *job = &handoff->job;
    int32_t argument;
    bool before;
    if (fence_is_damaged(ring, handoff, &argument, &before))
        describe_damage(job, argument, before, end);
    else if ((argument = changed_input(ring, handoff)) >= 0)
        error_set(&end->error, ESP_CRASHED,
                  "%s wrote into argument '%s', which is an input (or beyond another argument)",
                  job->implementation->symbol, handoff_argument_name(job, argument));
}

void handoff_describe_stray(const struct ring_answer *answer, const struct handoff *handoff,
                            struct job_end *end)
{
    uint32_t argument = answer->argument;
    bool known = argument < handoff->job.problem->n_arguments;
    describe_damage(&handoff->job, known ? (int32_t)argument : -1, answer->place == FAULT_BEFORE, end);
}
