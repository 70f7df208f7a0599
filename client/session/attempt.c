/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/attempt.h"
#include "client/arguments/hooks.h"
#include "client/arguments/invocation_data.h"
#include "client/session/ahead.h"
#include "client/session/backlog.h"
#include "client/session/choice.h"
#include "client/session/engine.h"
#include "client/session/excluded.h"
#include "client/session/given_up.h"
#include "client/session/keepers.h"
#include "client/session/lend.h"
#include "client/session/link.h"
#include "client/session/link_sound.h"
#include "client/session/marks.h"
#include "core/choice/estimate.h"
#include "core/choice/terms.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LOSSES      8  /* per session, as the session itself may end the servers */
#define MOST_DATA_LOSSES 3  /* per session, as other sessions may need the memory, too */
#define AGAIN_MS         50 /* pause before the same server is called again */

void attempt_pause(const struct session *session, unsigned attempt)
{
    const unsigned doublings = 2 * (attempt < MOST_TRIES ? attempt : MOST_TRIES);
    if (attempt > 0)
        engine_pause(&session->engine->closing, (INT64_C(20) << doublings) / 4);
}

/* A state that the client does not know would keep a worker and its memory until its lease ends. So the
 * client reports the session as given up, and the server closes the state. */
static void give_up(struct session *session)
{
    int index = problem_state_index(session->invocation.function->problem);
    bool opens = index >= 0 && session->invocation.function->problem->arguments[index].mode == MODE_OUT;
    if (!opens || !session->link || session->id.sequence == 0)
        return;
    session->given_up = session->link;
    session->given_up_id = session->id;
    session_tell_given_up(session);
}

static bool attempt_tell_again(const struct session *session, struct extensions *extensions,
                               struct arena *arena)
{
    uint8_t bytes[AGAIN_BYTES];
    if (session->again_ns == 0)
        return true;
    const int64_t age_ns = clock_now_ns(session->engine->clock) - session->again_ns;
    return extension_add(extensions, EXTENSION_AGAIN, bytes,
                         again_put(&session->origin, age_ns, session->again, bytes), arena);
}

/* Draws a new identity, because the session with the old one may still be computed. If there are no random
 * numbers, ends the session and returns false. */
static bool attempt_begin_again(struct session *session)
{
    struct esp_error error;
    lend_end(&session->invocation, false);
    give_up(session);
    marks_retire(session->engine, session);
    backlog_left(session);
    session_set_server(session, NULL, session->bound ? session->server : "");
    if (marks_draw(session->engine, session, &error) != ESP_OK) {
        session->error = error;
        return false;
    }
    pthread_mutex_lock(&session->engine->marks_lock);
    session->log_id = session->id;
    pthread_mutex_unlock(&session->engine->marks_lock);
    session->lost = session->unbegun = false;
    atomic_store(&session->remote, SESSION_UNKNOWN);
    atomic_store(&session->phase, PHASE_CHOOSE);
    return true;
}

/* Stores the error text without its hint in brackets, because it becomes part of another text. Without
 * memory it is left out. */
static void note_loss(struct session *session)
{
    free(session->loss);
    const char *text = session->error.text, *advice = strstr(text, " (");
    session->loss = advice ? strndup(text, (size_t)(advice - text)) : strdup(text);
    session->loss_unbegun = session->unbegun;
    session->loss_ns = clock_now_ns(session->engine->clock);
}

static const char *how_far(bool unbegun)
{
    return unbegun ? "before it was begun" : "in the middle of the call";
}

/* Puts before the session's error how a server lost the session, and how long the client looked for
 * another one. Does nothing if no server has lost it. Called once, right before the session ends. */
static void attempt_explain_loss(struct session *session)
{
    struct esp_error *error = &session->error;
    if (!session->loss)
        return;
    const double tried_s = (double)(clock_now_ns(session->engine->clock) - session->loss_ns) / NS_PER_S;
    error_prefix(error, "%s was lost %s: %.200s; tried again for %.3g s%s", session->problem,
                 how_far(session->loss_unbegun), session->loss, tried_s,
                 !session->bound         ? ""
                 : session->loss_unbegun ? " on that server, for which it was meant"
                                         : " on that server, for which it was meant, and to repeat it does "
                                           "no harm");
}

static const char *why_not_again(const struct session *session)
{
    if (!session->invocation.function->problem->idempotent)
        return session->bound ? ", and is not declared idempotent, so it was not called again"
                              : ", and is not declared idempotent, so no other server was tried";
    if (session->invocation.consumed)
        return session->bound
                   ? ", and results had taken the place of its inputs, so it was not called again"
                   : ", and results had taken the place of its inputs, so no other server was tried";
    return "";
}

/* The session waits until the server is back, most likely as another incarnation, and is called there
 * again. */
static void await_again(struct session *session)
{
    if (session->link)
        atomic_store(&session->link->incarnation, 0);
    session->rounds = 0;
    session->error.status = ESP_UNREACHABLE;
    engine_pause(&session->engine->closing, AGAIN_MS);
}

void attempt_recover(struct session *session)
{
    struct esp_error *error = &session->error;
    if (session->lost && session->remote_error.status != ESP_OK) {
        *error = session->remote_error;
        error_prefix(error, "server %s", session->server);
    }
    if (session_is_cancelled(session))
        return; /* the next step ends the session */
    if (session->attached) {
        session->job_ops->recover(session);
        return;
    }
    if (session_left_ms(session) <= 1) {
        session_end_late(session);
        return;
    }
    const bool harmless = session->unbegun || session_may_repeat(session);
    if (!harmless || ++session->losses >= MOST_LOSSES) {
        error_prefix(error, "%s was lost %s%s", session->problem, how_far(session->unbegun),
                     harmless ? "" : why_not_again(session));
        session_end(session, error->status = session->unbegun ? ESP_UNREACHABLE : ESP_MAYBE);
        return;
    }
    if (!session->bound)
        exclude(session, session->server, error->status);
    note_loss(session);
    const bool silent = error->status == ESP_TIMEOUT;
    session_note_again(session, session->server,
                       session->unbegun ? " gave it back"
                       : silent         ? " fell silent"
                                        : " was lost");
    if (silent && session->link)
        given_up_note(session->engine, session->link, &session->id);
    if (session->bound)
        await_again(session);
    if (!attempt_begin_again(session))
        session_end(session, error->status);
}

/* If possible, the server has already tried the session in several workers itself. */
bool attempt_lost_worker(struct session *session)
{
    if (session->remote_error.status != ESP_MAYBE || session->attached)
        return false;
    session->losses += MOST_LOSSES / 4;
    return session->lost = true;
}

/* Nothing was executed. Data are looked for now, if that leaves no further data on servers. */
bool attempt_finds_data(struct session *session)
{
    struct esp_error why;
    if (!invocation_lost_datum(session->remote_error.status) || session->is_job ||
        session->data_losses++ == MOST_DATA_LOSSES)
        return false;
    if (call_hooks->bring_home)
        call_hooks->bring_home(&session->invocation);
    const int64_t before_ns = deadline_begin(session->deadline_ns);
    const enum esp_status found = call_hooks->find_again
                                      ? call_hooks->find_again(&session->invocation, session->engine, &why)
                                      : ESP_NOT_FOUND;
    deadline_end(before_ns);
    if (found != ESP_OK)
        return false;
    invocation_split(&session->invocation, session->engine->inline_bytes);
    session->rounds = 0;
    session_note_again(session, session->server, " had not all of its data");
    return attempt_begin_again(session);
}

/* Notes how the attempt at the last called server ended after all, for observers of the session. */
static void mark_tried(struct session *session, enum esp_status status)
{
    pthread_mutex_lock(&session->engine->marks_lock);
    if (session->next_candidate > 0 && session->next_candidate <= session->n_candidates)
        session->candidates[session->next_candidate - 1].status = status;
    pthread_mutex_unlock(&session->engine->marks_lock);
}

/* The next candidates are asked at once; if there are none left, the agents. */
bool attempt_was_shut_out(struct session *session)
{
    if (session->remote_error.status != ESP_REFUSED || session->bound || session->is_job ||
        session->timings.compute_s > 0 || !invocation_takes_data(&session->invocation))
        return false;
    session->error = session->remote_error;
    error_prefix(&session->error, "%s on %s", session->problem, session->server);
    exclude(session, session->server, ESP_REFUSED);
    mark_tried(session, ESP_REFUSED);
    session_note_again(session, session->server, " may not fetch its data");
    if (!attempt_begin_again(session))
        return false;
    if (session->next_candidate < session->n_candidates)
        atomic_store(&session->phase, PHASE_OFFER);
    return true;
}

bool attempt_waits(const struct session *session, struct patience *patience, enum esp_status status)
{
    return status == ESP_TIMEOUT && !session_may_move(session) &&
           patience_lasts(patience, true, clock_now_ns(session->engine->clock));
}

enum esp_status attempt_ask(struct session *session, const struct message *request, int64_t patience_ms,
                            struct message *reply, struct esp_error *error)
{
    struct engine *engine = session->engine;
    struct patience patience = engine_patience(engine);
    enum esp_status status = ESP_UNREACHABLE;
    for (unsigned attempt = 0; attempt < MOST_TRIES || attempt_waits(session, &patience, status); attempt++) {
        attempt_pause(session, attempt);
        message_clear(reply);
        const int64_t most_ms = session_left_ms(session) + GRACE_MS,
                      timeout_ms = attempt == 0 ? given_up_answer_ms(engine, 0, patience_ms)
                                                : patience_ms + engine->call_timeout_ms;
        status = transport_call(engine->transport, session->link->address, request,
                                timeout_ms < most_ms ? timeout_ms : most_ms, reply, error);
        if (!session_is_uncertain(status) && status != ESP_UNREACHABLE)
            break;
        if (session_is_cancelled(session) || session_left_ms(session) <= 1)
            break;
        if (status == ESP_TIMEOUT && given_up_watch(session)) {
            if (session->lost && error)
                *error = session->remote_error;
            break;
        }
    }
    if (status == ESP_OK)
        link_heard(session->link);
    if (session_is_uncertain(status) || status == ESP_UNREACHABLE || status == ESP_NOT_FOUND ||
        status == ESP_STALE) {
        session->lost = true;
        session->remote_error.status = status;
        if (error)
            session->remote_error = *error;
    }
    return status;
}

#define PATIENCE_MS 50   /* patience for a call; a server that answers within it needs no poll */
#define SMALL_BYTES 1024 /* arguments and results; the time of such a call is the latency of the way */

int64_t attempt_patience_ms(const struct session *session)
{
    if (session->follow || session->is_job)
        return 0; /* output arrives only by following the session */
    if (session->ended && thread_pool_waiting(session->engine->runners) > 0)
        return 0;
    int64_t left_ms = session_left_ms(session);
    return left_ms < PATIENCE_MS ? left_ms : PATIENCE_MS;
}

/* Another server may take what this one has declined. In these cases nothing was executed. */
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

/* Best effort: without memory the call goes without the extension. */
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

/* Best effort: without the list the server stores more results than necessary. */
static void tell_open(struct session *session, struct link *link, struct message *request)
{
    struct open_sessions open = {0};
    struct extension told;
    if (marks_open(session->engine, link, &open) && open_put(&open, &request->arena, &told))
        add_extension(request, told.tag, told.value, told.length);
    open_clear(&open);
}

/* For problems that save their state: sends the session's first identity, and the servers that may have
 * saved states. Best effort: without them the computation starts from the beginning. */
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
        .oldest_unacknowledged = session->is_job ? session->id.sequence : marks_oldest(session->engine, link),
        .server_incarnation = candidate->incarnation,
        .time_left_ms = (uint64_t)session_left_ms(session),
        .patience_ms = (uint64_t)attempt_patience_ms(session),
        .problem = session->problem,
        .digest = session->invocation.function->digest,
        .master = first ? session->master : 0, /* only the first candidate has a placement */
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

/* Whether another server could take the session if this one does not answer. */
static bool has_others(const struct session *session)
{
    return session->engine->answer_patience_ms > 0 && !session->bound &&
           session->next_candidate < session->n_candidates;
}

/* While the client waits for a candidate that may be stopped, greets the following candidates. If several
 * fell silent at once, they are then not waited for one after the other. */
static void greet_next(void *arg)
{
    const struct session *session = arg;
    for (uint32_t i = session->next_candidate; i < session->n_candidates && !session->bound; i++) {
        struct link *link = link_find(session->engine, session->candidates[i].address);
        if (link)
            link_greet_beside(link);
    }
}

/* The server did not answer the call: checks whether it also does not answer a greeting, in which case to
 * repeat the call would only add delay. (A large call may only be slow on its way.) *error says so.
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
    if (attempt == 0 && has_others(session) && session_may_move(session) &&
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

/* Learns about the link from a call that carried its arguments and was answered at the first try. A call
 * that was not done yet was answered after the time for which the server was asked to wait. */
static void learn_link(struct link *link, const struct call_request *call,
                       const struct session_report *report, double seconds, unsigned trips)
{
    const struct session_timings *timings = &report->timings;
    const uint64_t bytes = bytes_inside(call), back = bytes_back(report);
    double there_s = (double)call->patience_ms / 1e3;
    if (report->state == SESSION_DONE)
        there_s = timings->wait_s + timings->queue_s + timings->compute_s;
    else if (report->state == SESSION_RECEIVING)
        there_s = 0; /* the server asks for the rest at once */
    if (bytes + back <= SMALL_BYTES && (report->state == SESSION_DONE || report->state == SESSION_RECEIVING))
        link_answered(link, seconds - there_s, trips);
    link_called(link, bytes, back, seconds, there_s, trips);
}

/* Calls the server, and repeats the call while the server may have the session but has not said so; the
 * server recognizes the session by its identity. A server that is stopped is left after call_timeout and
 * answer_patience, if another one may have the call. */
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
        *uncertain |= session_is_uncertain(status);
        bool again = session_is_uncertain(status) || (*uncertain && status == ESP_UNREACHABLE);
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
    /* A session that is over at once need not be distinguished from one that may go to another server. */
    if (atomic_load(&session->remote) < SESSION_DONE)
        marks_settle(session->engine, session, link);
    backlog_taken(session);
    session_enter_queue(session);
    atomic_store(&session->phase, PHASE_REMOTE);
}

/* No server took the session, or it was lost: sets the reason and the next step. */
static void declined(struct session *session, const struct session_candidate *candidate, struct link *link,
                     const struct message *reply, enum esp_status status, bool uncertain,
                     const struct esp_error *why)
{
    session->error = *why;
    char who[CAP_NAME + 16];
    snprintf(who, sizeof who, "server %s", candidate->server);
    if (strcmp(candidate->server, candidate->address) == 0)
        strcpy(who, "server"); /* the program gave an address instead of a name */
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
        session_set_server(session, NULL, session->bound ? session->server : "");
    } else {
        session_end(session, status);
    }
}

/* A server that the program named by its address is called as the incarnation that is present. */
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
        session_set_server(session, link, candidate->server);
        status = call_server(session, link, &request, reply, uncertain, error);
    }
    message_clear(&request);
    if (named && status == ESP_STALE) {
        /* The server was restarted since its incarnation was asked; the next try asks again. */
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
    if (status == ESP_OK && call_hooks->before_call)
        status = call_hooks->before_call(&session->invocation, session->engine, candidate->server,
                                         link->address, &error);
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

#define MOST_ROUNDS 4 /* times that the agents are asked for one session */

#define FIRST_WAIT_MS   20 /* pause before agents are asked again */
#define LONGEST_WAIT_MS 500

/* Takes the choice into the session. Members that other threads read while the session runs are written
 * under the marks lock. */
static void take_choice(struct session *session, const struct choice *choice)
{
    struct engine *engine = session->engine;
    session->master = choice->master;
    session->placement = choice->placement;
    pthread_mutex_lock(&engine->marks_lock);
    free(session->candidates);
    session->candidates = choice->candidates;
    session->n_candidates = choice->n;
    session->next_candidate = 0;
    session->capable = choice->capable;
    session->asked = choice->asked;
    session->submitted_ns = clock_now_ns(engine->clock);
    pthread_mutex_unlock(&engine->marks_lock);
}

void attempt_move(struct session *session, struct choice *choice)
{
    session->rounds = 0;
    session_note_again(session, session->server, " has a longer queue");
    if (!attempt_begin_again(session)) {
        choice_release(choice);
        session_end(session, session->error.status);
        return;
    }
    take_choice(session, choice);
    atomic_store(&session->phase, PHASE_OFFER);
}

static enum esp_status submit_once(struct session *session, struct route_hope *hope, struct esp_error *error)
{
    struct engine *engine = session->engine;
    struct message request = {.kind = MESSAGE_SUBMIT}, reply = {0};
    struct choice choice;
    int64_t timeout_ms = session_left_ms(session);
    *hope = (struct route_hope){false};
    enum esp_status status = choice_request(session, timeout_ms, &request, error);
    if (status == ESP_OK)
        links_sound(engine, &request);
    if (status == ESP_OK && !links_tell(engine, &request.submit.request, &request.arena))
        status = error_no_memory(error, "a request");
    if (status == ESP_OK && !attempt_tell_again(session, &request.submit.request.extensions, &request.arena))
        status = error_no_memory(error, "a request");
    const struct ahead_wish ahead = status == ESP_OK ? ahead_wanted(session) : (struct ahead_wish){0};
    if (ahead.n > 0 && !ahead_ask(&request.submit.request, &ahead, &request.arena))
        status = error_no_memory(error, "a request");
    if (timeout_ms > engine->call_timeout_ms)
        timeout_ms = engine->call_timeout_ms;
    if (status == ESP_OK)
        status = route_try(engine->route, &request, timeout_ms, hope, &reply, error);
    if (status == ESP_OK && reply.submit_reply.n_candidates == 0)
        status = error_set(error, ESP_NO_SERVER, "no server can take %s now", session->problem);
    if (status == ESP_OK && !choice_of(&reply.submit_reply, &choice))
        status = error_no_memory(error, "candidates");
    if (status == ESP_OK) {
        links_note_choice(engine, &request.submit.request, &reply.submit_reply);
        take_choice(session, &choice);
    }
    if (ahead.n > 0)
        ahead_keep(session, status == ESP_OK ? &reply.submit_reply : NULL);
    message_clear(&request);
    message_clear(&reply);
    return status;
}

/* Whether there is no node that the request could be given to. The handle was created, so the nodes were
 * there: an agent, a server or the redirector was restarted, and will know the others again. Not in these
 * cases: servers were tried and declined, so they are there; no present server fits the request. A lost
 * reply counts as no node, because choosing servers executes nothing. */
static bool is_deserted(const struct session *session, enum esp_status status)
{
    if (status == ESP_UNREACHABLE || session_is_uncertain(status))
        return true;
    if (session->n_excluded > 0)
        return false;
    return status == ESP_UNKNOWN_PROBLEM ||
           (status == ESP_NO_SERVER &&
            (route_is_deserted(session->engine->route) || route_is_partial(session->engine->route)));
}

/* Whether the problem's signature has changed; then waiting is of no use. */
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

/* Asks until there is an answer other than that no node is there, or until patience ends. A server that is
 * being restarted first ends its present calls, however long that takes. So patience does not start while
 * the server is known to come back. */
static enum esp_status submit(struct session *session, struct esp_error *error)
{
    struct engine *engine = session->engine;
    struct choice choice;
    if (ahead_take(session, &choice)) {
        take_choice(session, &choice);
        return ESP_OK;
    }
    struct patience patience = engine_patience(engine);
    const int64_t begun_ns = clock_now_ns(engine->clock);
    int64_t wait_ms = FIRST_WAIT_MS;
    for (;;) {
        struct route_hope hope;
        enum esp_status status = submit_once(session, &hope, error);
        if (!is_deserted(session, status))
            return status;
        if (status == ESP_UNKNOWN_PROBLEM && has_changed(session))
            return status;
        if (hope.awaited) {
            patience = engine_patience(engine);
            session->absence.begun_ns = 0; /* no node is gone yet */
        }
        if (!patience_lasts(&patience, hope.silent || session->silent, clock_now_ns(engine->clock)) ||
            session_left_ms(session) <= wait_ms || session_is_cancelled(session)) {
            if (status == ESP_UNKNOWN_PROBLEM) {
                error_prefix(error, "%s was known before", session->problem);
                error->status = status = ESP_NO_SERVER;
            }
            patience_tell("a master agent that finds a server", begun_ns, clock_now_ns(engine->clock), error);
            return error->status = status == ESP_MAYBE ? ESP_UNREACHABLE : status;
        }
        engine_pause(&engine->closing, wait_ms);
        wait_ms = 2 * wait_ms < LONGEST_WAIT_MS ? 2 * wait_ms : LONGEST_WAIT_MS;
    }
}

/* A bound session has one candidate: the given address, and then, if the server has moved, the address
 * that the agents know. */
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
            return ESP_UNREACHABLE; /* the present error says it all */
    }
    struct session_candidate *candidate = calloc(1, sizeof *candidate);
    if (!candidate)
        return error_no_memory(error, "a candidate");
    strcpy(candidate->server, session->server);
    strcpy(candidate->address, address);
    take_choice(session, &(struct choice){.candidates = candidate, .n = 1});
    return ESP_OK;
}

/* Whether to wait: all servers that could take the session are gone, and no present server declined it.
 * The handle was created, so they were there and may be coming back. Nothing was executed that may not be
 * executed again. */
static bool waits_for_servers(struct session *session, enum esp_status status)
{
    struct engine *engine = session->engine;
    bool absent = session->bound ? session->error.status == ESP_UNREACHABLE
                                 : (status == ESP_NO_SERVER || status == ESP_UNKNOWN_PROBLEM) &&
                                       (excluded_are_absent(session) ||
                                        (session->absence.begun_ns != 0 && session->n_excluded == 0));
    if (!absent || session_is_cancelled(session))
        return false;
    if (session->absence.begun_ns == 0)
        session->absent_wait_ms = FIRST_WAIT_MS;
    if (session->awaited)
        session->absence = engine_patience_returning(engine);
    else if (session->absence.begun_ns == 0)
        session->absence = engine_patience(engine);
    session->awaited = false; /* until it is reported again */
    if (!patience_lasts(&session->absence, session->silent, clock_now_ns(engine->clock)) ||
        session_left_ms(session) <= session->absent_wait_ms)
        return false;
    engine_pause(&engine->closing, session->absent_wait_ms);
    if (session->absent_wait_ms < LONGEST_WAIT_MS)
        session->absent_wait_ms *= 2;
    session->rounds = 0;
    excluded_forget(session);
    return true;
}

/* A sequence asks more of servers than its calls alone do. Before a call fails, this extra demand is
 * dropped. */
static bool asks_for_less(struct session *session)
{
    if (!excluded_for(session, ESP_NO_MEMORY) || !call_hooks->bring_home ||
        !call_hooks->bring_home(&session->invocation))
        return false;
    invocation_split(&session->invocation, session->engine->inline_bytes);
    excluded_forget(session);
    session->rounds = 0;
    return true;
}

/* No server took the session. If servers had no room, it is held back until there is room; else it ends. */
static void fail(struct session *session, enum esp_status status)
{
    if (backlog_wants(session)) {
        session->holding = true;
        return;
    }
    if (asks_for_less(session))
        return;
    attempt_explain_loss(session);
    session_end(session, status);
}

static void choose_again(struct session *session)
{
    struct esp_error error = {0};
    if (waits_for_servers(session, ESP_NO_SERVER))
        return;
    if (!session->bound)
        excluded_explain(session, ESP_NO_SERVER, &error);
    fail(session, session->error.status);
}

/* Whether the session should look for a server now. */
static bool is_due(struct session *session)
{
    /* The session was held back until its deadline: no server is asked any more, and the error says why it
     * was held. */
    if (session->back.number > 0 && session_left_ms(session) <= 1) {
        engine_pause(&session->engine->closing, session_left_ms(session));
        return false;
    }
    if (session->id.sequence == 0 && !attempt_begin_again(session)) {
        session_end(session, session->error.status);
        return false;
    }
    if (session->rounds == 0)
        session->holding = backlog_joins(session);
    return !session->holding;
}

void attempt_choose(struct session *session)
{
    struct esp_error error = {0};
    enum esp_status status;
    bool again = session->rounds > 0;
    uint32_t most = session->bound ? 2 : MOST_ROUNDS;
    if (session->rounds >= most) {
        choose_again(session);
        return;
    }
    if (!is_due(session))
        return;
    status = session->bound ? choose_bound(session, &error) : submit(session, &error);
    if (status == ESP_NO_SERVER && session->invocation.home_by_datum)
        error_prefix(&error, "a datum that it takes is unique, and on server %s", session->invocation.home);
    else if (status == ESP_NO_SERVER && session->invocation.home[0])
        error_prefix(&error, "the state is on server %s, and ends with it", session->invocation.home);
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
    if (session_left_ms(session) <= (status == ESP_TIMEOUT ? LONGEST_WAIT_MS : 1)) {
        engine_pause(&session->engine->closing, session_left_ms(session));
        return; /* the next step reports the deadline and this error */
    }
    fail(session, session->error.status != ESP_PENDING ? session->error.status : status);
}
