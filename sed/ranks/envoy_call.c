/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/ranks/envoy_internal.h"
#include "sed/ranks/gang.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define LOOK_MS 2 /* between two looks whether the last rank is through */

static bool are_layouts(const struct ring_part *part)
{
    return part->element_bytes > 0 && block_cyclic_matrix_check(&part->layout, "a part", NULL) == ESP_OK &&
           (!part->from.there || block_cyclic_matrix_check(&part->from.layout, "a datum", NULL) == ESP_OK);
}

static bool is_sound(const struct envoy_call *call)
{
    const struct ring_job *job = call->job;
    if (job->front > job->end || job->end > RING_ARENA_BYTES || job->n_areas > PROBLEM_MAX_ARGUMENTS ||
        job->n_parts > PROBLEM_MAX_ARGUMENTS || job->grid.cols == 0 || call->rank < job->first_rank)
        return false;
    for (uint32_t i = 0; i < job->n_parts; i++)
        if (!are_layouts(&job->parts[i]))
            return false;
    return true;
}

static enum esp_status post(const struct envoy_call *call, struct esp_error *error)
{
    const struct far_message message = {.kind = FAR_CALL};
    const struct ring_job *job = call->job;
    enum esp_status status = porter_say(call->socket, &message, sizeof message, &call->end, error);
    if (status == ESP_OK)
        status = porter_say(call->socket, job, FAR_JOB_BYTES, &call->end, error);
    if (status == ESP_OK)
        status = porter_say(call->socket, call->ring->arena + job->front, job->end - job->front, &call->end,
                            error);
    return status;
}

static enum esp_status await(const struct envoy_call *call, struct far_message *message,
                             struct esp_error *error)
{
    return envoy_hear(call->socket, &call->end, message, error);
}

/* Its last one of this call, noting what comes before. */
static enum esp_status await_end(const struct envoy_call *call, struct far_message *message,
                                 struct esp_error *error)
{
    enum esp_status status = await(call, message, error);
    while (status == ESP_OK && message->kind == FAR_PROGRESS) {
        if (call->rank == call->job->first_rank)
            ring_tell_progress(call->ring, message->progress);
        status = await(call, message, error);
    }
    return status;
}

/* A pool that does not hear it is told after the next call. */
static void tell_kept(const struct envoy_call *call, uint64_t bytes)
{
    const struct rank_message message = {.kind = RANK_KEPT, .kept_bytes = bytes};
    rank_link_send(call->end.order, &message, NULL, 0, MSG_DONTWAIT);
}

static enum esp_status finish(const struct envoy_call *call, const struct far_message *done,
                              struct esp_error *error)
{
    const struct ring_job *job = call->job;
    struct ring *ring = call->ring;
    if (done->returned)
        atomic_store(&ring->gang.touched, 1);
    enum esp_status status = done->returned ? envoy_hear_results(call, error) : ESP_OK;
    if (status != ESP_OK)
        return status;
    if (done->unable)
        gang_cannot(ring, call->rank - job->first_rank, job->grid.rows * job->grid.cols, done->text,
                    done->starved != 0);
    if (done->returned && call->rank == job->first_rank)
        gang_returned(ring);
    bool strayed = done->strayed >= 0 && done->strayed < PROBLEM_MAX_ARGUMENTS;
    gang_note(&ring->gang, done->compute_ns, strayed ? done->strayed : -1);
    gang_refused(&ring->gang, call->rank - job->first_rank, done->refused_bytes);
    if (done->kept_bytes > 0)
        tell_kept(call, done->kept_bytes);
    return gang_leave(ring, call->bell) ? ESP_OK : error_errno(error, "the bell does not ring");
}

/* A rank that is through keeps messages of the others going until they are, too. */
static enum esp_status tell_when_through(const struct envoy_call *call, uint32_t request,
                                         struct esp_error *error)
{
    const struct far_message message = {.kind = FAR_THROUGH};
    struct pollfd next = {.fd = call->end.order, .events = POLLIN | POLLRDHUP};
    while (atomic_load(&call->ring->request) == request && atomic_load(&call->ring->gang.left) > 0 &&
           poll(&next, 1, LOOK_MS) == 0)
        ;
    return porter_say(call->socket, &message, sizeof message, &call->end, error);
}

enum esp_status envoy_make_call(struct envoy_call *call, struct esp_error *error)
{
    struct far_message message;
    uint32_t request = atomic_load(&call->ring->request);
    memcpy(call->job, &call->ring->job, FAR_JOB_BYTES);
    if (!is_sound(call))
        return error_set(error, ESP_INTERNAL, "an envoy was handed a malformed call");
    enum esp_status status = post(call, error);
    if (status == ESP_OK)
        status = await(call, &message, error);
    const bool beside = status == ESP_OK && gang_is_beside(call->job, call->rank);
    if (status == ESP_OK && message.kind == FAR_WANTS && !beside)
        status = envoy_say_arguments(call, &message, error);
    else if (status == ESP_OK && message.kind != FAR_CANNOT && !beside)
        status = error_set(error, ESP_PROTOCOL, "the rank says what was not asked");
    if (status == ESP_OK)
        status = await_end(call, &message, error);
    if (status == ESP_OK && (message.kind != FAR_DONE || (beside && message.returned)))
        status = error_set(error, ESP_PROTOCOL, "the rank says what was not asked");
    if (status == ESP_OK)
        status = finish(call, &message, error);
    return status == ESP_OK ? tell_when_through(call, request, error) : status;
}
