/* SPDX-License-Identifier: Apache-2.0 */
#include "client/arguments/invocation_data.h"
#include "client/arguments/invocation_hold.h"
#include "client/session/deadline.h"
#include "client/session/attempt_parts.h"
#include "client/session/backlog.h"
#include "client/session/excluded.h"
#include "client/session/given_up.h"
#include "client/jobs/job.h"
#include "client/data/lend.h"
#include "client/session/link.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LOSSES      8  /* of one session: it may be what ends the servers */
#define MOST_DATA_LOSSES 3  /* of one session: others may need the memory, too */
#define AGAIN_MS         50 /* until the same server is called again */

void attempt_pause(const struct session *session, unsigned attempt)
{
    const unsigned doublings = 2 * (attempt < MOST_TRIES ? attempt : MOST_TRIES);
    if (attempt > 0)
        engine_pause(&session->engine->closing, (INT64_C(20) << doublings) / 4);
}

bool attempt_is_uncertain(enum esp_status status)
{
    return status == ESP_MAYBE || status == ESP_TIMEOUT;
}

static bool may_repeat(const struct session *session)
{
    return session->invocation.function->problem->idempotent && !session->invocation.consumed;
}

bool attempt_may_move(const struct session *session)
{
    return session->attached || (may_repeat(session) && !session->bound);
}

void attempt_copy_text(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);
    if (length >= size)
        length = size - 1;
    memcpy(to, from, length);
    to[length] = 0;
}

void attempt_set_server(struct session *session, struct link *link, const char *server)
{
    pthread_mutex_lock(&session->engine->marks_lock);
    session->link = link;
    if (server != session->server)
        attempt_copy_text(session->server, sizeof session->server, server);
    pthread_mutex_unlock(&session->engine->marks_lock);
}

/* A state that nobody will ever know of keeps a worker and its memory until its lease ends: the server closes
 * it when it hears that its session was given up. */
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

void attempt_note_again(struct session *session, const char *server, const char *why)
{
    session->again_ns = clock_now_ns(session->engine->clock);
    snprintf(session->again, sizeof session->again, "%.32s%.31s", server, why);
}

bool attempt_tell_again(const struct session *session, struct extensions *extensions, struct arena *arena)
{
    uint8_t bytes[AGAIN_BYTES];
    if (session->again_ns == 0)
        return true;
    const int64_t age_ns = clock_now_ns(session->engine->clock) - session->again_ns;
    return extension_add(extensions, EXTENSION_AGAIN, bytes,
                         again_put(&session->origin, age_ns, session->again, bytes), arena);
}

bool attempt_begin_again(struct session *session)
{
    struct esp_error error;
    lend_end(&session->invocation, false);
    give_up(session);
    engine_retire(session->engine, session);
    backlog_left(session);
    attempt_set_server(session, NULL, session->bound ? session->server : "");
    if (engine_draw(session->engine, session, &error) != ESP_OK) {
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

/* Without what could be done about it, in brackets: it is told within a text. Best effort: without memory it
 * is not told. */
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

void attempt_explain_loss(struct session *session)
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

/* It is called there again, when it is back: as another incarnation, in all likelihood. */
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
        return; /* the next step ends it */
    if (session->attached) {
        job_recover(session);
        return;
    }
    if (session_left_ms(session) <= 1) {
        session_end_late(session);
        return;
    }
    const bool harmless = session->unbegun || may_repeat(session);
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
    attempt_note_again(session, session->server,
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

/* The server has tried it in several workers by itself, where it could. */
bool attempt_lost_worker(struct session *session)
{
    if (session->remote_error.status != ESP_MAYBE || session->attached)
        return false;
    session->losses += MOST_LOSSES / 4;
    return session->lost = true;
}

/* Nothing was executed; what can be done without leaving more data on servers now is. */
bool attempt_finds_data(struct session *session)
{
    struct esp_error why;
    if (!invocation_lost_datum(session->remote_error.status) || session->is_job ||
        session->data_losses++ == MOST_DATA_LOSSES)
        return false;
    hold_bring_home(&session->invocation);
    const int64_t before_ns = deadline_begin(session->deadline_ns);
    const enum esp_status found = invocation_find_again(&session->invocation, session->engine, &why);
    deadline_end(before_ns);
    if (found != ESP_OK)
        return false;
    invocation_split(&session->invocation, session->engine->inline_bytes);
    session->rounds = 0;
    attempt_note_again(session, session->server, " had not all of its data");
    return attempt_begin_again(session);
}

/* How the one that was called last has taken it after all, for who asks how the session went. */
static void mark_tried(struct session *session, enum esp_status status)
{
    pthread_mutex_lock(&session->engine->marks_lock);
    if (session->next_candidate > 0 && session->next_candidate <= session->n_candidates)
        session->candidates[session->next_candidate - 1].status = status;
    pthread_mutex_unlock(&session->engine->marks_lock);
}

/* The next candidates are asked at once, and when there are none, agents. */
bool attempt_was_shut_out(struct session *session)
{
    if (session->remote_error.status != ESP_REFUSED || session->bound || session->is_job ||
        session->timings.compute_s > 0 || !invocation_takes_data(&session->invocation))
        return false;
    session->error = session->remote_error;
    error_prefix(&session->error, "%s on %s", session->problem, session->server);
    exclude(session, session->server, ESP_REFUSED);
    mark_tried(session, ESP_REFUSED);
    attempt_note_again(session, session->server, " may not fetch its data");
    if (!attempt_begin_again(session))
        return false;
    if (session->next_candidate < session->n_candidates)
        atomic_store(&session->phase, PHASE_OFFER);
    return true;
}

bool attempt_waits(const struct session *session, struct patience *patience, enum esp_status status)
{
    return status == ESP_TIMEOUT && !attempt_may_move(session) &&
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
        if (!attempt_is_uncertain(status) && status != ESP_UNREACHABLE)
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
    if (attempt_is_uncertain(status) || status == ESP_UNREACHABLE || status == ESP_NOT_FOUND ||
        status == ESP_STALE) {
        session->lost = true;
        session->remote_error.status = status;
        if (error)
            session->remote_error = *error;
    }
    return status;
}
