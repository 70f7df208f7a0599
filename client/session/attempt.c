/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/ahead.h"
#include "client/session/attempt_parts.h"
#include "client/session/backlog.h"
#include "client/session/excluded.h"
#include "client/arguments/invocation_hold.h"
#include "client/jobs/job.h"
#include "client/data/lend.h"
#include "client/session/keepers.h"
#include "client/session/link.h"
#include "core/choice/terms.h"
#include "util/clock.h"

#include <stdio.h>
#include <string.h>

#define PATIENCE_MS 50   /* of a call: below it, no poll is needed */
#define SMALL_BYTES 1024 /* of arguments and results: what takes such a call on its way is how far it is */

int64_t attempt_patience_ms(const struct session *session)
{
    if (session->follow || session->is_job)
        return 0; /* what it prints comes by follow only */
    if (session->ended && thread_pool_waiting(session->engine->runners) > 0)
        return 0;
    int64_t left_ms = session_left_ms(session);
    return left_ms < PATIENCE_MS ? left_ms : PATIENCE_MS;
}

/* Another server may well take what this one did not. Surely nothing was executed. */
static bool is_declined(enum esp_status status)
{
    switch (status) {
    case ESP_UNREACHABLE:
    case ESP_REFUSED:
    case ESP_LIMIT:
    case ESP_VERSION:
    case ESP_STALE:
    case ESP_NO_MEMORY:
    case ESP_NO_SERVER:
    case ESP_UNKNOWN_PROBLEM:
    case ESP_SECURITY:
        return true;
    default:
        return false;
    }
}

/* Best effort: without memory the call goes without it. */
static void add_extension(struct message *request, uint32_t tag, const uint8_t *value, uint32_t length)
{
    struct extensions *extensions = &request->call.extensions;
    struct extension *items = arena_alloc(&request->arena, (extensions->n + 1) * sizeof *items);
    if (!items)
        return;
    if (extensions->n > 0)
        memcpy(items, extensions->items, extensions->n * sizeof *items);
    items[extensions->n] = (struct extension){.tag = tag, .value = value, .length = length};
    extensions->items = items;
    extensions->n++;
}

/* Best effort: without it the server keeps more. */
static void tell_open(struct session *session, struct link *link, struct message *request)
{
    struct open_sessions open = {0};
    struct extension told;
    if (engine_open(session->engine, link, &open) && open_put(&open, &request->arena, &told))
        add_extension(request, told.tag, told.value, told.length);
    open_clear(&open);
}

/* Of problems that save their state: what the call was first, and who may have something of it. Best effort:
 * without, it begins at the beginning. */
static void tell_checkpoints(struct session *session, struct message *request)
{
    uint8_t *origin = arena_alloc(&request->arena, ORIGIN_BYTES);
    if (!session->invocation.function->problem->checkpoint || session->bound || !origin)
        return;
    keepers_note(session);
    const char *keepers = session->keepers ? arena_strdup(&request->arena, session->keepers) : NULL;
    origin_put(&session->origin, origin);
    add_extension(request, EXTENSION_ORIGIN, origin, ORIGIN_BYTES);
    if (keepers)
        add_extension(request, EXTENSION_KEEPERS, (const uint8_t *)keepers, (uint32_t)strlen(keepers));
}

static enum esp_status build_call(struct session *session, const struct session_candidate *candidate,
                                  struct link *link, struct message *request, struct esp_error *error)
{
    bool first = session->next_candidate == 1;
    request->call = (struct call_request){
        .session = session->id,
        .oldest_unacknowledged =
            session->is_job ? session->id.sequence : engine_oldest(session->engine, link),
        .server_incarnation = candidate->incarnation,
        .time_left_ms = (uint64_t)session_left_ms(session),
        .patience_ms = (uint64_t)attempt_patience_ms(session),
        .problem = session->problem,
        .digest = session->invocation.function->digest,
        .master = first ? session->master : 0, /* the placement is the first candidate's */
        .placement = first ? session->placement : 0,
        .forecast_s = candidate->compute_s,
    };
    if (!session->is_job) {
        tell_open(session, link, request);
    } else {
        struct extension *extensions = arena_alloc(&request->arena, 2 * sizeof *extensions);
        if (!extensions)
            return error_no_memory(error, "a call");
        extensions[0] = (struct extension){EXTENSION_JOB, (const uint8_t *)"", 0};
        extensions[1] = (struct extension){EXTENSION_OWNER, session->owner, OWNER_BYTES};
        request->call.extensions = (struct extensions){extensions, session->has_owner ? 2 : 1};
    }
    if (lend_is_wanted(session, link->address))
        add_extension(request, EXTENSION_LENDS, (const uint8_t *)"", 0);
    tell_checkpoints(session, request);
    attempt_tell_again(session, &request->call.extensions, &request->arena); /* best effort */
    return invocation_arguments(&session->invocation, request, error);
}

/* Somebody else could take it, should this server say nothing. */
static bool has_others(const struct session *session)
{
    return session->engine->answer_patience_ms > 0 && !session->bound &&
           session->next_candidate < session->n_candidates;
}

/* While one of the candidates is waited for that may be stopped: whether the next ones are, as where several
 * fell silent at once they are not to be waited for one after the other. */
static void greet_next(void *arg)
{
    const struct session *session = arg;
    for (uint32_t i = session->next_candidate; i < session->n_candidates && !session->bound; i++) {
        struct link *link = link_find(session->engine, session->candidates[i].address);
        if (link)
            link_greet_beside(link);
    }
}

/* It was given the call and said nothing: whether it is silent to the simplest question as well, so that to
 * repeat the call would only be waiting. (One with much inside may only be slow on its way.) *error says so.
 */
static bool is_silent(struct session *session, struct link *link, enum esp_status status, int64_t since_ns,
                      struct esp_error *error)
{
    const struct meanwhile meanwhile = {greet_next, session};
    const int64_t waited_ms = (clock_now_ns(session->engine->clock) - since_ns) / NS_PER_MS;
    struct esp_error silence;
    if (status != ESP_TIMEOUT || link_probe(link, session_left_ms(session), &meanwhile, &silence) == ESP_OK)
        return false;
    error_set(error, status, "it was given the call and said nothing for %.3g s; %s", (double)waited_ms / 1e3,
              silence.text);
    return true;
}

static int64_t acceptance_ms(const struct session *session, const struct message *request, unsigned attempt)
{
    const struct engine *engine = session->engine;
    int64_t timeout_ms = engine->call_timeout_ms;
    if (attempt == 0 && has_others(session) && attempt_may_move(session) &&
        timeout_ms > engine->answer_patience_ms)
        timeout_ms = engine->answer_patience_ms;
    timeout_ms += (int64_t)request->call.patience_ms;
    int64_t most_ms = session_left_ms(session) + GRACE_MS;
    return timeout_ms < most_ms ? timeout_ms : most_ms;
}

static uint64_t bytes_inside(const struct call_request *call)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < call->n_arguments; i++)
        bytes += call->arguments[i].kind == KIND_INLINE ? call->arguments[i].length : 0;
    return bytes;
}

static uint64_t bytes_back(const struct session_report *report)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < report->n_results; i++)
        bytes += report->results[i].kind == KIND_INLINE ? report->results[i].length : 0;
    return bytes;
}

/* What a call with its arguments in it, answered at the first try, tells of the link. One that is not done
 * was answered when the server had waited as long as it was told to. */
static void learn_link(struct link *link, const struct call_request *call,
                       const struct session_report *report, double seconds, unsigned trips)
{
    const struct session_timings *timings = &report->timings;
    const uint64_t bytes = bytes_inside(call), back = bytes_back(report);
    double there_s = (double)call->patience_ms / 1e3;
    if (report->state == SESSION_DONE)
        there_s = timings->wait_s + timings->queue_s + timings->compute_s;
    else if (report->state == SESSION_RECEIVING)
        there_s = 0; /* it asks for the rest at once */
    if (bytes + back <= SMALL_BYTES && (report->state == SESSION_DONE || report->state == SESSION_RECEIVING))
        link_answered(link, seconds - there_s, trips);
    link_called(link, bytes, back, seconds, there_s, trips);
}

/* Calls the server, again as long as it may have the session but did not say so: it knows what it has by the
 * session's identity. One that has stopped is left after call_timeout and answer_patience, where another may
 * have the call. */
static enum esp_status call_server(struct session *session, struct link *link, struct message *request,
                                   struct message *reply, bool *uncertain, struct esp_error *error)
{
    enum esp_status status = ESP_UNREACHABLE;
    struct engine *engine = session->engine;
    struct patience patience = engine_patience(engine);
    for (unsigned attempt = 0; attempt < MOST_TRIES || attempt_waits(session, &patience, status); attempt++) {
        attempt_pause(session, attempt);
        int64_t timeout_ms = acceptance_ms(session, request, attempt);
        const unsigned trips = link_trips(link);
        const int64_t begun_ns = clock_now_ns(engine->clock);
        status = transport_call(engine->transport, link->address, request, timeout_ms, reply, error);
        if (status == ESP_OK && !*uncertain)
            learn_link(link, &request->call, &reply->call_reply.session,
                       (double)(clock_now_ns(engine->clock) - begun_ns) / NS_PER_S, trips);
        *uncertain |= attempt_is_uncertain(status);
        bool again = attempt_is_uncertain(status) || (*uncertain && status == ESP_UNREACHABLE);
        if (!again || session_is_cancelled(session) || session_left_ms(session) <= 1 ||
            (is_silent(session, link, status, patience.begun_ns, error) &&
             !attempt_waits(session, &patience, status)))
            break;
        message_clear(reply);
        request->call.time_left_ms = (uint64_t)session_left_ms(session);
    }
    return status;
}

static void accepted(struct session *session, struct link *link, const struct session_candidate *candidate,
                     const struct session_report *report)
{
    session->forecast_compute_s = candidate->compute_s;
    session->forecast_transfer_s = candidate->transfer_s;
    session->forecast_s = candidate->compute_s + candidate->queue_s + candidate->transfer_s;
    session->forecast_error_s = candidate->error_s;
    session->lost = session->unbegun = false;
    session->absence.begun_ns = 0;
    session->silent = false;
    session->rounds = 1;
    session_absorb(session, report);
    /* What is over at once need not be told apart from what may still go elsewhere. */
    if (atomic_load(&session->remote) < SESSION_DONE)
        engine_settle(session->engine, session, link);
    backlog_taken(session);
    atomic_store(&session->phase, PHASE_REMOTE);
}

/* Nobody took it, or it was lost: why, and what next. */
static void declined(struct session *session, const struct session_candidate *candidate, struct link *link,
                     const struct message *reply, enum esp_status status, bool uncertain,
                     const struct esp_error *why)
{
    session->error = *why;
    char who[CAP_NAME + 16];
    snprintf(who, sizeof who, "server %s", candidate->server);
    if (strcmp(candidate->server, candidate->address) == 0)
        strcpy(who, "server"); /* that was named by its address */
    error_prefix_at(&session->error, who, candidate->address);
    session->error.status = status;
    session->awaited = status == ESP_UNREACHABLE && reply->kind == MESSAGE_CALL_REPLY &&
                       extension_find(&reply->call_reply.session.extensions, EXTENSION_AWAITED);
    session->silent = (session->silent && session->n_excluded > 0) || (link && link_is_silent(link));
    if (status == ESP_UNKNOWN_PROBLEM || status == ESP_VERSION)
        functions_forget(session->engine->functions, session->invocation.function);
    if (uncertain) {
        attempt_recover(session);
    } else if (is_declined(status)) {
        exclude(session, candidate->server, status);
        if (status == ESP_LIMIT)
            backlog_note_full(session, link);
        attempt_set_server(session, NULL, session->bound ? session->server : "");
    } else {
        session_end(session, status);
    }
}

/* Who was named by its address is called as the incarnation that is there. */
static enum esp_status offer_to(struct session *session, struct session_candidate *candidate,
                                struct link *link, struct message *reply, bool *uncertain,
                                struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_CALL};
    enum esp_status status = ESP_OK;
    const bool named = candidate->incarnation == 0;
    if (named)
        status = link_incarnation(link, session_left_ms(session), &candidate->incarnation, error);
    if (status == ESP_OK)
        status = build_call(session, candidate, link, &request, error);
    if (status == ESP_OK) {
        attempt_set_server(session, link, candidate->server);
        status = call_server(session, link, &request, reply, uncertain, error);
    }
    message_clear(&request);
    if (named && status == ESP_STALE) {
        /* It was restarted since it was asked; at the next try it is asked again. */
        atomic_store(&link->incarnation, 0);
        status = *uncertain ? ESP_STALE : ESP_UNREACHABLE;
    }
    return status;
}

void attempt_offer(struct session *session)
{
    if (session->next_candidate == session->n_candidates) {
        atomic_store(&session->phase, PHASE_CHOOSE);
        return;
    }
    struct session_candidate *candidate = &session->candidates[session->next_candidate++];
    struct message reply = {0};
    struct esp_error error = {0};
    bool uncertain = false;
    const struct meanwhile meanwhile = {greet_next, session};
    struct link *link = link_find(session->engine, candidate->address);
    enum esp_status status = link ? ESP_OK : error_no_memory(&error, "a link");
    if (status == ESP_OK && session->absence.begun_ns != 0)
        status = link_probe(link, session_left_ms(session), &meanwhile,
                            &error); /* it may have been silent before */
    else if (status == ESP_OK && (has_others(session) || (!session->bound && link_is_doubted(link))))
        status = link_greet(link, session_left_ms(session), &meanwhile, &error);
    if (status == ESP_OK)
        status = hold_leave(&session->invocation, session->engine, candidate->server, link->address, &error);
    if (status == ESP_OK)
        status = offer_to(session, candidate, link, &reply, &uncertain, &error);
    pthread_mutex_lock(&session->engine->marks_lock);
    candidate->tried = true;
    candidate->status = status;
    pthread_mutex_unlock(&session->engine->marks_lock);
    if (status == ESP_OK) {
        link_heard(link);
        atomic_store(&session->engine->has_called, true);
        accepted(session, link, candidate, &reply.call_reply.session);
    } else {
        ahead_forget(session);
        declined(session, candidate, link, &reply, status, uncertain, &error);
    }
    message_clear(&reply);
}
