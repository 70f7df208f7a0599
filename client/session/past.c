/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/past.h"
#include "client/session/session.h"
#include "util/clock.h"
#include "util/package.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *state_text(struct session *session)
{
    switch (atomic_load(&session->phase)) {
    case PHASE_ENDED:
        return "ended";
    case PHASE_CHOOSE:
    case PHASE_OFFER:
        return atomic_load(&session->back.held) ? "held back" : "submitting";
    }
    switch (atomic_load(&session->remote)) {
    case SESSION_RECEIVING:
        return "sending";
    case SESSION_QUEUED:
        return "queued";
    case SESSION_RUNNING:
        return "running";
    case SESSION_DONE:
        return "receiving";
    default:
        return "waiting";
    }
}

static double seconds(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) / NS_PER_S;
}

void past_view(struct past *past, struct session *session)
{
    *past = (struct past){.id = session->log_id,
                          .problem = session->problem,
                          .server = session->server,
                          .state = state_text(session),
                          .text = "",
                          .status = ESP_PENDING,
                          .capable = session->capable,
                          .asked = session->asked,
                          .progress = session->following.told};
    past->id.secret = 0;
    if (session->submitted_ns > session->started_ns && !session->bound)
        past->submit_s = seconds(session->started_ns, session->submitted_ns);
    if (atomic_load(&session->phase) != PHASE_ENDED)
        return; /* the rest belongs to its runner */
    past->status = session->error.status;
    past->text = session->error.text;
    past->transfer_s = (double)session->sent_ns / NS_PER_S;
    past->total_s = seconds(session->started_ns, session->ended_ns);
    past->forecast_s = session->forecast_s;
    past->forecast_compute_s = session->forecast_compute_s;
    past->forecast_error_s = session->forecast_error_s;
    past->timings = session->timings;
    past->fetch_s = session->fetch_s;
    past->ranks = session->ranks;
    past->left = session->left;
}

static const char *append(char **at, const char *text)
{
    char *start = *at;
    size_t length = strlen(text) + 1;
    memcpy(start, text, length);
    *at += length;
    return start;
}

struct past *past_keep(struct session *session)
{
    struct past view;
    past_view(&view, session);
    size_t texts = strlen(view.problem) + strlen(view.server) + strlen(view.text) + 3;
    size_t left = left_bytes(view.left);
    struct past *past = malloc(sizeof *past + left + texts);
    if (!past)
        return NULL;
    char *at = (char *)(past + 1);
    *past = view;
    past->left = left > 0 ? memcpy(at, view.left, left) : NULL;
    at += left;
    past->problem = append(&at, view.problem);
    past->server = append(&at, view.server);
    past->text = append(&at, view.text);
    return past;
}

struct esp_session_info *past_tell(const struct past *past)
{
    char id[SESSION_TEXT];
    struct esp_session_info *info = package_create(sizeof *info);
    if (!info)
        return NULL;
    *info = (struct esp_session_info){.id = package_text(info, session_id_text(&past->id, id)),
                                      .problem = package_text(info, past->problem),
                                      .server = package_text(info, past->server),
                                      .state = past->state,
                                      .submit_s = past->submit_s,
                                      .wait_s = past->timings.wait_s,
                                      .transfer_s = past->transfer_s,
                                      .queue_s = past->timings.queue_s,
                                      .compute_s = past->timings.compute_s,
                                      .total_s = past->total_s,
                                      .forecast_s = past->forecast_s,
                                      .forecast_compute_s = past->forecast_compute_s,
                                      .forecast_error_s = past->forecast_error_s,
                                      .capable = past->capable,
                                      .asked = past->asked,
                                      .progress = past->progress,
                                      .first_rank = past->ranks.first,
                                      .grid_rows = past->ranks.rows,
                                      .grid_cols = past->ranks.cols,
                                      .grid_block = past->ranks.block,
                                      .fetch_s = past->fetch_s};
    info->error.status = past->status;
    snprintf(info->error.text, sizeof info->error.text, "%s", past->text);
    if (info->id && info->problem && info->server && left_tell(past->left, info, &info->data, &info->n_data))
        return info;
    package_destroy(info);
    return NULL;
}

static void tell_candidates(struct esp_session_info *info, const struct session *session)
{
    struct arena *arena = package_arena(info);
    struct esp_candidate *candidates = arena_alloc(arena, session->n_candidates * sizeof *candidates);
    for (uint32_t i = 0; candidates && i < session->n_candidates; i++) {
        const struct session_candidate *from = &session->candidates[i];
        candidates[i] = (struct esp_candidate){.server = package_text(info, from->server),
                                               .address = package_text(info, from->address),
                                               .compute_s = from->compute_s,
                                               .queue_s = from->queue_s,
                                               .transfer_s = from->transfer_s,
                                               .error_s = from->error_s,
                                               .tried = from->tried,
                                               .status = from->status};
        if (!candidates[i].server || !candidates[i].address)
            return; /* without memory there are no candidates */
        info->n_candidates = i + 1;
    }
    info->candidates = candidates;
}

enum esp_status past_tell_session(struct session *session, struct esp_session_info **result,
                                  struct esp_error *error)
{
    struct past view;
    bool ended = atomic_load(&session->phase) == PHASE_ENDED;
    if (!ended)
        pthread_mutex_lock(&session->engine->marks_lock);
    past_view(&view, session);
    *result = past_tell(&view);
    if (*result)
        tell_candidates(*result, session);
    if (!ended)
        pthread_mutex_unlock(&session->engine->marks_lock);
    return *result ? ESP_OK : error_no_memory(error, "information on a session");
}
