/* SPDX-License-Identifier: Apache-2.0 */
#include "client/arguments/invocation_hold.h"
#include "client/session/ahead.h"
#include "client/session/attempt_parts.h"
#include "client/session/backlog.h"
#include "client/session/choice.h"
#include "client/session/excluded.h"
#include "client/session/link.h"
#include "client/session/link_sound.h"
#include "core/choice/estimate.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROUNDS 4 /* times that agents are asked for one session */

#define FIRST_WAIT_MS   20 /* for agents that come back */
#define LONGEST_WAIT_MS 500

/* The answer becomes the session's. What is told while it runs is read by others. */
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

/* The request for servers that may take it. */
static enum esp_status build_request(const struct session *session, int64_t timeout_ms,
                                     struct message *request, struct esp_error *error)
{
    request->submit.time_left_ms = (uint64_t)timeout_ms;
    request->submit.request = (struct request){.session = session->id,
                                               .server = session->invocation.home,
                                               .excluded = (const char **)session->excluded,
                                               .n_excluded = session->n_excluded};
    enum esp_status status = invocation_request(&session->invocation, request, error);
    const double passed_s = (double)(clock_now_ns(session->engine->clock) - session->started_ns) / NS_PER_S;
    return status == ESP_OK ? wishes_tell(&session->wishes, passed_s, request, error) : status;
}

static enum esp_status submit_once(struct session *session, struct route_hope *hope, struct esp_error *error)
{
    struct engine *engine = session->engine;
    struct message request = {.kind = MESSAGE_SUBMIT}, reply = {0};
    struct choice choice;
    int64_t timeout_ms = session_left_ms(session);
    *hope = (struct route_hope){false};
    enum esp_status status = build_request(session, timeout_ms, &request, error);
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

struct other_server {
    struct session *session;
    bool found;
};

static void find_other(void *arg, const char *address, const struct message *reply,
                       const struct esp_error *why)
{
    struct other_server *other = arg;
    (void)address;
    (void)why;
    for (uint32_t i = 0; reply && i < reply->submit_reply.n_candidates; i++)
        other->found |= strcmp(reply->submit_reply.candidates[i].server, other->session->server) != 0 &&
                        !excluded_has(other->session, reply->submit_reply.candidates[i].server);
}

bool attempt_knows_other(struct session *session)
{
    struct engine *engine = session->engine;
    struct message request = {.kind = MESSAGE_SUBMIT};
    struct esp_error unread;
    struct other_server other = {.session = session};
    const int64_t left_ms = session_left_ms(session),
                  timeout_ms = left_ms < engine->call_timeout_ms ? left_ms : engine->call_timeout_ms;
    if (build_request(session, timeout_ms, &request, &unread) == ESP_OK &&
        extension_add(&request.submit.request.extensions, EXTENSION_FORECAST, "", 0, &request.arena))
        route_ask_all(engine->route, &request, timeout_ms, find_other, &other, &unread);
    message_clear(&request);
    return other.found;
}

/* Nobody is there whom the request could be given to. The handle was made, so somebody was: an agent, a
 * server or the redirector was restarted and will hear of the others again. Servers that were tried and
 * declined are there, and a request that fits none of those that are is an answer. A reply that was lost is
 * none: to choose servers executes nothing. */
static bool is_deserted(const struct session *session, enum esp_status status)
{
    if (status == ESP_UNREACHABLE || attempt_is_uncertain(status))
        return true;
    if (session->n_excluded > 0)
        return false;
    return status == ESP_UNKNOWN_PROBLEM ||
           (status == ESP_NO_SERVER &&
            (route_is_deserted(session->engine->route) || route_is_partial(session->engine->route)));
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

/* Asks until there is an answer other than that nobody is there, or patience ends. A server that is being
 * started again first ends what it has, however long that takes: while it is known to come back, patience
 * does not begin to end. */
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
            session->absence.begun_ns = 0; /* nobody is gone yet */
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
    take_choice(session, &(struct choice){.candidates = candidate, .n = 1});
    return ESP_OK;
}

/* Whoever could have had it is gone, and nobody who is there declined it. The handle was made, so somebody
 * was there: on the way back, perhaps. Surely nothing was executed that may not be executed again. */
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
    session->awaited = false; /* until it is said again */
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

/* A sequence asks for more of servers than the program without it: that is given up before the call fails. */
static bool asks_for_less(struct session *session)
{
    if (!excluded_for(session, ESP_NO_MEMORY) || !hold_bring_home(&session->invocation))
        return false;
    invocation_split(&session->invocation, session->engine->inline_bytes);
    excluded_forget(session);
    session->rounds = 0;
    return true;
}

/* Nobody took it. Servers that had no room will have some: then it is held back, else it ends. */
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

/* Whether it is to look for a server now. */
static bool is_due(struct session *session)
{
    /* Held back until then: nobody is asked any more, and the deadline tells why it was held. */
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
        return; /* the next step tells of the deadline, and of this */
    }
    fail(session, session->error.status != ESP_PENDING ? session->error.status : status);
}
