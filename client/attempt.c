/* SPDX-License-Identifier: Apache-2.0 */
#include "client/attempt.h"
#include "client/excluded.h"
#include "client/invocation_hold.h"
#include "client/job.h"
#include "client/link.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_MS 50 /* of a call: below it, no poll is needed */
#define MOST_ROUNDS 4  /* times that agents are asked for one session */
#define MOST_TRIES  4  /* of one request, when connections break */
#define MOST_LOSSES 8  /* of one session: it may be what ends the servers */

#define FIRST_WAIT_MS   20 /* for agents that come back */
#define LONGEST_WAIT_MS 500

int64_t attempt_patience_ms(const struct session *session)
{
    if (session->follow || session->is_job)
        return 0; /* what it prints comes by follow only */
    if (session->ended && thread_pool_waiting(session->engine->runners) > 0)
        return 0;
    int64_t left_ms = session_left_ms(session);
    return left_ms < PATIENCE_MS ? left_ms : PATIENCE_MS;
}

/* 0, 20, 80, 320 ms: a server that is being restarted, a router that hiccups. */
static void pause_before(const struct session *session, unsigned attempt)
{
    if (attempt > 0)
        engine_pause(&session->engine->closing, INT64_C(20) << (2 * (attempt - 1)));
}

/* The connection may be to blame, and the request have arrived or not. */
static bool is_uncertain(enum esp_status status)
{
    return status == ESP_MAYBE || status == ESP_TIMEOUT;
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

/* ---- choosing ---- */

/* Cuts what is too long. (printf would be a visible part of a small call.) */
static void copy_text(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);
    if (length >= size)
        length = size - 1;
    memcpy(to, from, length);
    to[length] = 0;
}

/* The candidates become those of a new answer. They are read by others. */
static enum esp_status set_candidates(struct session *session, struct session_candidate *candidates,
                                      uint32_t n)
{
    pthread_mutex_lock(&session->engine->marks_lock);
    free(session->candidates);
    session->candidates = candidates;
    session->n_candidates = n;
    session->next_candidate = 0;
    pthread_mutex_unlock(&session->engine->marks_lock);
    return candidates ? ESP_OK : ESP_NO_MEMORY;
}

static enum esp_status take_candidates(struct session *session, const struct submit_reply *reply)
{
    uint32_t n = reply->n_candidates < MOST_CANDIDATES ? reply->n_candidates : MOST_CANDIDATES;
    struct session_candidate *candidates = malloc((n ? n : 1) * sizeof *candidates);
    for (uint32_t i = 0; candidates && i < n; i++) {
        const struct candidate *from = &reply->candidates[i];
        struct session_candidate *to = &candidates[i];
        copy_text(to->server, sizeof to->server, from->server);
        copy_text(to->address, sizeof to->address, from->address);
        to->incarnation = from->incarnation;
        to->compute_s = from->compute_s;
        to->queue_s = from->queue_s;
        to->transfer_s = from->transfer_s;
        to->error_s = from->error_s;
        to->tried = false;
        to->status = ESP_OK;
    }
    session->master = reply->master;
    session->placement = reply->placement;
    pthread_mutex_lock(&session->engine->marks_lock); /* these are told while it runs */
    session->capable = reply->capable;
    session->asked = reply->asked;
    session->submitted_ns = clock_now_ns(session->engine->clock);
    pthread_mutex_unlock(&session->engine->marks_lock);
    return set_candidates(session, candidates, n);
}

static enum esp_status submit_once(struct session *session, struct esp_error *error)
{
    struct engine *engine = session->engine;
    struct message request = {.kind = MESSAGE_SUBMIT}, reply = {0};
    int64_t timeout_ms = session_left_ms(session);
    request.submit.time_left_ms = (uint64_t)timeout_ms;
    request.submit.request = (struct request){.session = session->id,
                                              .server = session->invocation.home,
                                              .excluded = (const char **)session->excluded,
                                              .n_excluded = session->n_excluded};
    enum esp_status status = invocation_request(&session->invocation, &request, error);
    const double passed_s = (double)(clock_now_ns(engine->clock) - session->started_ns) / NS_PER_S;
    if (status == ESP_OK)
        status = wishes_tell(&session->wishes, passed_s, &request, error);
    if (timeout_ms > engine->call_timeout_ms)
        timeout_ms = engine->call_timeout_ms;
    if (status == ESP_OK)
        status = route_ask(engine->route, &request, timeout_ms, &reply, error);
    if (status == ESP_OK && reply.submit_reply.n_candidates == 0)
        status = error_set(error, ESP_NO_SERVER, "no server can take %s now", session->problem);
    if (status == ESP_OK && take_candidates(session, &reply.submit_reply) != ESP_OK)
        status = error_no_memory(error, "candidates");
    message_clear(&request);
    message_clear(&reply);
    return status;
}

/* Nobody is there whom the request could be given to. The handle was made, so somebody was: an agent, a
 * server or the redirector was restarted and will hear of the others again. Servers that were tried and
 * declined are there, and a request that fits none of those that are is an answer. A reply that was lost is
 * none: to choose servers executes nothing. */
static bool is_deserted(const struct session *session, enum esp_status status)
{
    if (status == ESP_UNREACHABLE || is_uncertain(status))
        return true;
    if (session->n_excluded > 0)
        return false;
    return status == ESP_UNKNOWN_PROBLEM ||
           (status == ESP_NO_SERVER && route_is_deserted(session->engine->route));
}

/* The signature may have changed, not only the servers: then waiting is of no use. */
static bool has_changed(struct session *session)
{
    struct message request = {.kind = MESSAGE_DESCRIBE, .describe = {.problem = session->problem}};
    struct message reply = {0};
    struct esp_error error;
    struct engine *engine = session->engine;
    bool changed = route_ask(engine->route, &request, engine->call_timeout_ms, &reply, &error) == ESP_OK &&
                   reply.describe_reply.digest != session->invocation.function->digest;
    message_clear(&reply);
    return changed;
}

/* Asks until there is an answer other than that nobody is there, or patience ends. */
static enum esp_status submit(struct session *session, struct esp_error *error)
{
    struct engine *engine = session->engine;
    int64_t until_ns = clock_now_ns(engine->clock) + engine->agent_patience_ms * NS_PER_MS;
    int64_t wait_ms = FIRST_WAIT_MS;
    for (;;) {
        enum esp_status status = submit_once(session, error);
        if (!is_deserted(session, status))
            return status;
        if (status == ESP_UNKNOWN_PROBLEM && has_changed(session))
            return status;
        int64_t left_ms = (until_ns - clock_now_ns(engine->clock)) / NS_PER_MS;
        if (left_ms <= 0 || session_left_ms(session) <= wait_ms || session_is_cancelled(session)) {
            if (status == ESP_UNKNOWN_PROBLEM) {
                error_prefix(error, "%s was known before", session->problem);
                return error->status = ESP_NO_SERVER;
            }
            return error->status = status == ESP_MAYBE ? ESP_UNREACHABLE : status;
        }
        engine_pause(&engine->closing, wait_ms < left_ms ? wait_ms : left_ms);
        wait_ms = 2 * wait_ms < LONGEST_WAIT_MS ? 2 * wait_ms : LONGEST_WAIT_MS;
    }
}

/* A bound session has one candidate: the address it was given, and then, if the server has moved, the one
 * that the agents know of. */
static enum esp_status choose_bound(struct session *session, struct esp_error *error)
{
    char address[CAP_ADDRESS + 1];
    snprintf(address, sizeof address, "%s", session->bound_address);
    if (session->rounds > 0) {
        if (strcmp(session->server, session->bound_address) == 0)
            return ESP_UNREACHABLE;
        enum esp_status status = engine_resolve(session->engine, session->server, address, error);
        if (status != ESP_OK)
            return status;
        if (strcmp(address, session->bound_address) == 0)
            return ESP_UNREACHABLE; /* the error that is there says it all */
    }
    struct session_candidate *candidate = calloc(1, sizeof *candidate);
    if (!candidate)
        return error_no_memory(error, "a candidate");
    strcpy(candidate->server, session->server);
    strcpy(candidate->address, address);
    return set_candidates(session, candidate, 1);
}

/* Whoever could have had it is gone, and nobody who is there declined it. The handle was made, so somebody
 * was there: on the way back, perhaps. Surely nothing was executed that may not be executed again. */
static bool waits_for_servers(struct session *session, enum esp_status status)
{
    struct engine *engine = session->engine;
    bool absent = session->bound ? session->error.status == ESP_UNREACHABLE
                                 : (status == ESP_NO_SERVER || status == ESP_UNKNOWN_PROBLEM) &&
                                       excluded_are_absent(session);
    if (!absent || session_is_cancelled(session))
        return false;
    int64_t now_ns = clock_now_ns(engine->clock);
    if (session->absent_until_ns == 0) {
        session->absent_until_ns = now_ns + engine->agent_patience_ms * NS_PER_MS;
        session->absent_wait_ms = FIRST_WAIT_MS;
    }
    if (now_ns >= session->absent_until_ns || session_left_ms(session) <= session->absent_wait_ms)
        return false;
    engine_pause(&engine->closing, session->absent_wait_ms);
    if (session->absent_wait_ms < LONGEST_WAIT_MS)
        session->absent_wait_ms *= 2;
    session->rounds = 0;
    excluded_forget(session);
    return true;
}

void attempt_choose(struct session *session)
{
    struct esp_error error = {0};
    enum esp_status status;
    bool again = session->rounds > 0;
    uint32_t most = session->bound ? 2 : MOST_ROUNDS;
    if (session->rounds >= most) {
        if (waits_for_servers(session, ESP_NO_SERVER))
            return;
        if (!session->bound)
            excluded_explain(session, ESP_NO_SERVER, &error);
        session_end(session, session->error.status);
        return;
    }
    status = session->bound ? choose_bound(session, &error) : submit(session, &error);
    session->rounds++;
    if (status == ESP_OK) {
        atomic_store(&session->phase, PHASE_OFFER);
        return;
    }
    if (status == ESP_UNKNOWN_PROBLEM)
        functions_forget(session->engine->functions, session->invocation.function);
    if (!session->bound && waits_for_servers(session, status))
        return;
    if (!again || !excluded_has_cause(session))
        session->error = error;
    else if (!session->bound)
        excluded_explain(session, status, &error);
    if (session->bound && waits_for_servers(session, status))
        return;
    session_end(session, session->error.status != ESP_PENDING ? session->error.status : status);
}

/* ---- offering ---- */

/* Best effort: without it the server keeps more. */
static void tell_open(struct session *session, struct link *link, struct message *request)
{
    struct open_sessions open;
    if (!engine_open(session->engine, link, &open))
        return;
    struct extensions *extensions = &request->call.extensions;
    struct extension *items = arena_alloc(&request->arena, (extensions->n + 1) * sizeof *items);
    uint8_t *bytes = arena_alloc(&request->arena, OPEN_BYTES);
    if (!items || !bytes)
        return;
    if (extensions->n > 0)
        memcpy(items, extensions->items, extensions->n * sizeof *items);
    items[extensions->n] =
        (struct extension){.tag = EXTENSION_OPEN, .value = bytes, .length = open_put(&open, bytes)};
    extensions->items = items;
    extensions->n++;
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
    return invocation_arguments(&session->invocation, request, error);
}

/* Somebody else could take it, should this server say nothing. */
static bool has_others(const struct session *session)
{
    return session->engine->answer_patience_ms > 0 && !session->bound &&
           session->next_candidate < session->n_candidates;
}

static bool may_run_twice(const struct session *session)
{
    return session->invocation.function->problem->idempotent && !session->invocation.consumed;
}

/* It was given the call and said nothing: whether it is silent to the simplest question as well, so that to
 * repeat the call would only be waiting. (One with much inside may only be slow on its way.) *error says so.
 */
static bool is_silent(const struct session *session, struct link *link, enum esp_status status,
                      int64_t waited_ms, struct esp_error *error)
{
    struct esp_error silence;
    if (status != ESP_TIMEOUT || link_probe(link, session_left_ms(session), &silence) == ESP_OK)
        return false;
    error_set(error, status, "it was given the call and said nothing for %.3g s; %s", (double)waited_ms / 1e3,
              silence.text);
    return true;
}

static int64_t acceptance_ms(const struct session *session, const struct message *request, unsigned attempt)
{
    const struct engine *engine = session->engine;
    int64_t timeout_ms = engine->call_timeout_ms;
    if (attempt == 0 && has_others(session) && may_run_twice(session) &&
        timeout_ms > engine->answer_patience_ms)
        timeout_ms = engine->answer_patience_ms;
    timeout_ms += (int64_t)request->call.patience_ms;
    int64_t most_ms = session_left_ms(session) + 1000;
    return timeout_ms < most_ms ? timeout_ms : most_ms;
}

/* Calls the server, again as long as it may have the session but did not say so. One that has stopped is left
 * after call_timeout and answer_patience. */
static enum esp_status call_server(struct session *session, struct link *link, struct message *request,
                                   struct message *reply, bool *uncertain, struct esp_error *error)
{
    enum esp_status status = ESP_UNREACHABLE;
    struct engine *engine = session->engine;
    for (unsigned attempt = 0; attempt < MOST_TRIES; attempt++) {
        pause_before(session, attempt);
        int64_t timeout_ms = acceptance_ms(session, request, attempt);
        status = transport_call(engine->transport, link->address, request, timeout_ms, reply, error);
        *uncertain |= is_uncertain(status);
        bool again = is_uncertain(status) || (*uncertain && status == ESP_UNREACHABLE);
        if (!again || session_is_cancelled(session) || session_left_ms(session) <= 1 ||
            is_silent(session, link, status, timeout_ms, error))
            break;
        message_clear(reply);
        request->call.time_left_ms = (uint64_t)session_left_ms(session);
    }
    return status;
}

static void set_server(struct session *session, struct link *link, const char *server)
{
    pthread_mutex_lock(&session->engine->marks_lock);
    session->link = link;
    if (server != session->server)
        copy_text(session->server, sizeof session->server, server);
    pthread_mutex_unlock(&session->engine->marks_lock);
}

static void accepted(struct session *session, struct link *link, const struct session_candidate *candidate,
                     const struct session_report *report)
{
    session->forecast_compute_s = candidate->compute_s;
    session->forecast_s = candidate->compute_s + candidate->queue_s + candidate->transfer_s;
    session->forecast_error_s = candidate->error_s;
    session->lost = false;
    session->absent_until_ns = 0;
    session->rounds = 1;
    session_absorb(session, report);
    /* What is over at once need not be told apart from what may still go elsewhere. */
    if (atomic_load(&session->remote) < SESSION_DONE)
        engine_settle(session->engine, session, link);
    atomic_store(&session->phase, PHASE_REMOTE);
}

/* Nobody took it, or it was lost: why, and what next. */
static void declined(struct session *session, const struct session_candidate *candidate,
                     enum esp_status status, bool uncertain, const struct esp_error *why)
{
    session->error = *why;
    char who[CAP_NAME + 16];
    snprintf(who, sizeof who, "server %s", candidate->server);
    if (strcmp(candidate->server, candidate->address) == 0)
        strcpy(who, "server"); /* that was named by its address */
    error_prefix_at(&session->error, who, candidate->address);
    session->error.status = status;
    if (status == ESP_UNKNOWN_PROBLEM || status == ESP_VERSION)
        functions_forget(session->engine->functions, session->invocation.function);
    if (uncertain) {
        attempt_recover(session);
    } else if (is_declined(status)) {
        exclude(session, candidate->server, status);
        set_server(session, NULL, session->bound ? session->server : "");
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
        set_server(session, link, candidate->server);
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
    struct link *link = link_find(session->engine, candidate->address);
    enum esp_status status = link ? ESP_OK : error_no_memory(&error, "a link");
    if (status == ESP_OK && session->absent_until_ns != 0)
        status = link_probe(link, session_left_ms(session), &error); /* it may have been silent before */
    else if (status == ESP_OK && has_others(session))
        status = link_greet(link, &error);
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
        accepted(session, link, candidate, &reply.call_reply.session);
    } else
        declined(session, candidate, status, uncertain, &error);
    message_clear(&reply);
}

/* ---- losing ---- */

/* Takes a new identity: the old one may still be computing somewhere. */
static bool begin_again(struct session *session)
{
    struct esp_error error;
    engine_retire(session->engine, session);
    set_server(session, NULL, session->bound ? session->server : "");
    if (engine_draw(session->engine, session, &error) != ESP_OK) {
        session->error = error;
        return false;
    }
    pthread_mutex_lock(&session->engine->marks_lock);
    session->log_id = session->id;
    pthread_mutex_unlock(&session->engine->marks_lock);
    session->lost = false;
    atomic_store(&session->remote, SESSION_UNKNOWN);
    atomic_store(&session->phase, PHASE_CHOOSE);
    return true;
}

void attempt_recover(struct session *session)
{
    const struct problem *problem = session->invocation.function->problem;
    struct esp_error *error = &session->error;
    if (session->lost && session->remote_error.status != ESP_OK) {
        *error = session->remote_error;
        error_prefix(error, "server %s", session->server);
    }
    if (session_is_cancelled(session))
        return; /* the next step ends it */
    if (session->attached) {
        session_end(session, job_explain_loss(session, error));
        return;
    }
    if (session_left_ms(session) <= 1) {
        session_end(session, error->status = ESP_TIMEOUT);
        return;
    }
    if (!problem->idempotent || session->invocation.consumed || session->bound ||
        ++session->losses == MOST_LOSSES) {
        error_prefix(error, "%s was lost in the middle of the call%s", session->problem,
                     problem->idempotent || session->bound
                         ? ""
                         : ", and is not declared idempotent, so no other server was tried");
        session_end(session, error->status = ESP_MAYBE);
        return;
    }
    exclude(session, session->server, error->status);
    if (!begin_again(session))
        session_end(session, error->status);
}

enum esp_status attempt_ask(struct session *session, const struct message *request, int64_t patience_ms,
                            struct message *reply, struct esp_error *error)
{
    struct engine *engine = session->engine;
    enum esp_status status = ESP_UNREACHABLE;
    for (unsigned attempt = 0; attempt < MOST_TRIES; attempt++) {
        pause_before(session, attempt);
        message_clear(reply);
        status = transport_call(engine->transport, session->link->address, request,
                                patience_ms + engine->call_timeout_ms, reply, error);
        if (!is_uncertain(status) && status != ESP_UNREACHABLE)
            break;
        if (session_is_cancelled(session) || session_left_ms(session) <= 1)
            break;
    }
    if (status == ESP_OK)
        link_heard(session->link);
    if (is_uncertain(status) || status == ESP_UNREACHABLE || status == ESP_NOT_FOUND || status == ESP_STALE) {
        session->lost = true;
        session->remote_error.status = status;
        if (error)
            session->remote_error = *error;
    }
    return status;
}
