/* SPDX-License-Identifier: Apache-2.0
 *
 * Receives the arguments of a call on a rank whose daemon is on another host: its parts of matrices and
 * copies of whole arrays come over TCP from its envoy (sed/ranks/envoy.h), in this order, and results go
 * back there. */
#include "sed/mpi/prd.h"
#include "sed/porter/porter_stream.h"
#include "sed/ranks/gang.h"

#include <stdio.h>
#include <string.h>

static const struct porter_end nobody = {.stop = -1, .order = -1}; /* prd.c watches the connection */

static bool hear(int socket, void *data, uint64_t bytes)
{
    return porter_hear(socket, data, bytes, &nobody, NULL) == ESP_OK;
}

static enum esp_status make_room(struct rank_state *state, struct esp_error *error)
{
    const struct ring_job *job = &state->ring->job;
    enum esp_status status = ESP_OK;
    if (job->front > job->end || job->end > RING_ARENA_BYTES || job->n_areas > PROBLEM_MAX_ARGUMENTS ||
        job->n_parts > PROBLEM_MAX_ARGUMENTS)
        return error_set(error, ESP_INTERNAL, "the rank was handed a malformed call");
    memset(state->parts, 0,
           job->n_parts * sizeof *state->parts); /* preparation may fail before they are set */
    for (uint32_t i = 0; i < job->n_areas && status == ESP_OK; i++) {
        bool whole = !gang_is_distributed(job, job->areas[i].argument);
        status = areas_add(&state->areas, job->areas[i].argument, whole ? job->areas[i].bytes : 0, error);
        if (status == ESP_OK)
            state->memory[i] = state->areas.items[i].data;
    }
    state->shared_areas = state->areas.n;
    memcpy(state->arena + job->front, state->ring->arena + job->front, job->end - job->front);
    return status == ESP_OK ? parts_make(job, state->grid, &state->areas, state->parts, error) : status;
}

/* A received input that is cached is available to later calls, too. */
static void take_kept(const struct ring_part *of, const struct rank_part *part)
{
    if (!of->goes_in || !part->input)
        return;
    kept_filled(part->input);
    if (!part->in_place)
        memcpy(part->data, part->input->data, part->input->bytes);
}

static bool hear_arguments(struct rank_state *state, int socket, uint64_t there)
{
    const struct ring_job *job = &state->ring->job;
    bool heard = true;
    for (uint32_t i = 0; i < job->n_areas && heard; i++)
        if (!gang_is_distributed(job, job->areas[i].argument))
            heard = hear(socket, state->memory[i], job->areas[i].bytes);
    for (uint32_t i = 0; i < job->n_parts && heard; i++) {
        const struct rank_part *part = &state->parts[i];
        if (job->parts[i].goes_in && !(there >> i & 1))
            heard = hear(socket, part->input ? part->input->data : part->data,
                         part_element_bytes(&job->parts[i], part));
        if (heard)
            take_kept(&job->parts[i], part);
    }
    return heard;
}

static uint64_t kept_inputs(const struct rank_state *state)
{
    uint64_t kept = 0;
    for (uint32_t i = 0; i < state->ring->job.n_parts; i++)
        if (state->parts[i].input && state->parts[i].input->whole)
            kept |= UINT64_C(1) << i;
    return kept;
}

enum esp_status far_take(struct rank_state *state, int socket, bool *lost, struct esp_error *error)
{
    moves_hold(state);
    enum esp_status status = make_room(state, error);
    const uint64_t kept = status == ESP_OK ? kept_inputs(state) : 0;
    moves_make(state, moves_of(&state->ring->job), NULL, status == ESP_OK);
    const struct far_message answer = {
        .kind = status == ESP_OK ? FAR_WANTS : FAR_CANNOT, .kept = kept, .moved = state->moved & ~kept};
    *lost = !far_say(socket, &answer, sizeof answer) ||
            (status == ESP_OK && !hear_arguments(state, socket, kept | state->moved));
    return status;
}

void far_let_go(struct rank_state *state, bool returned)
{
    for (uint32_t i = 0; i < state->ring->job.n_parts; i++) {
        struct rank_part *part = &state->parts[i];
        if (part->result && returned)
            kept_filled(part->result);
        kept_let(part->input);
        kept_let(part->result);
        part->input = part->result = NULL;
    }
}

static bool say_results(const struct rank_state *state, int socket)
{
    const struct ring_job *job = &state->ring->job;
    bool first = state->place == 0;
    bool said = !first || far_say(socket, state->arena + job->front, job->end - job->front);
    for (uint32_t i = 0; i < job->n_areas && said && first; i++)
        if (gang_takes_back(job, &job->areas[i]))
            said = far_say(socket, state->memory[i], job->areas[i].bytes);
    for (uint32_t i = 0; i < job->n_parts && said; i++) {
        const struct rank_part *part = &state->parts[i];
        if (gang_puts_back(&job->parts[i], &job->grid, state->grid->row, state->grid->col))
            said = far_say(socket, part->into ? part->into : part->data,
                           part_element_bytes(&job->parts[i], part));
    }
    return said;
}

bool far_give_back(const struct rank_state *state, int socket, bool returned)
{
    struct far_message done = {.kind = FAR_DONE,
                               .returned = returned,
                               .unable = state->why.status != ESP_OK,
                               .starved = state->why.status == ESP_NO_MEMORY,
                               .strayed = (int32_t)state->strayed,
                               .compute_ns = state->compute_ns,
                               .verdict = state->verdict,
                               .refused_bytes = state->refused_bytes,
                               .kept_bytes = rank_keeps(areas_own_bytes(&state->areas))};
    snprintf(done.text, sizeof done.text, "%.*s", (int)sizeof done.text - 1, state->why.text);
    far_hold();
    const bool said = far_say(socket, &done, sizeof done) && (!returned || say_results(state, socket));
    far_let();
    return said;
}
