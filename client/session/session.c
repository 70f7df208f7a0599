/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of a session: creation, access, changes by a server's reports, destruction.
 */
#include "client/session/session.h"
#include "client/arguments/invocation_data.h"
#include "client/session/link.h"
#include "client/session/marks.h"
#include "core/choice/terms.h"
#include "util/clock.h"
#include "util/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_LIMIT_MS    INT64_C(2592000000) /* 30 days: longer than any session */
#define END_PATIENCE_S 1e9                 /* a longer deadline counts as none */

/* The given limit; if 0, the engine's. */
static double limit_s(const struct engine *engine, double deadline_s)
{
    return deadline_s <= 0 && engine->session_timeout_ms > 0 ? (double)engine->session_timeout_ms / 1e3
                                                             : deadline_s;
}

int64_t session_until_ns(const struct engine *engine, double deadline_s)
{
    const int64_t now_ns = clock_now_ns(engine->clock);
    deadline_s = limit_s(engine, deadline_s);
    if (deadline_s <= 0 || deadline_s >= END_PATIENCE_S)
        return CLOCK_NEVER;
    return now_ns + (int64_t)(deadline_s * NS_PER_S);
}

static enum esp_status take_wishes(struct session *session, const struct esp_call_options *options,
                                   struct esp_error *error)
{
    enum esp_status status = wishes_take(&session->wishes, options, error);
    if (status != ESP_OK || !session->bound || !wishes_any(&session->wishes))
        return status;
    return error_set(error, ESP_INVALID,
                     "the handle is bound to server \"%s\": there is nothing left to choose by constraints",
                     session->server);
}

enum esp_status session_begin(struct engine *engine, struct invocation *invocation,
                              const struct target *target, double deadline_s, struct session **result,
                              struct esp_error *error)
{
    struct session *session = calloc(1, sizeof *session);
    enum esp_status status = ESP_OK;
    if (!session) {
        invocation_release(invocation);
        return error_no_memory(error, "a session");
    }
    session->engine = engine;
    session->invocation = *invocation;
    memset(invocation, 0, sizeof *invocation);
    invocation_split(&session->invocation, engine->inline_bytes);
    session->started_ns = clock_now_ns(engine->clock);
    session->limit_s = limit_s(engine, deadline_s);
    session->deadline_ns =
        session->invocation.until_ns ? session->invocation.until_ns : session_until_ns(engine, deadline_s);
    session->error.status = ESP_PENDING;
    session->following.told = -1;
    session->is_job = target->job != NULL;
    session->job_ops = target->job;
    strcpy(session->problem, session->invocation.function->problem->name);
    if (target->address) {
        session->bound = true;
        snprintf(session->server, sizeof session->server, "%s", target->server);
        if (!(session->bound_address = strdup(target->address)))
            status = error_no_memory(error, "a session");
    }
    if (status == ESP_OK)
        status = take_wishes(session, target->options, error);
    if (status == ESP_OK)
        status = marks_draw(engine, session, error);
    if (status == ESP_OK) {
        session->log_id = session->origin = session->id;
        *result = session;
    } else {
        session_discard(session);
    }
    return status;
}

void session_compact(struct session *session)
{
    wishes_release(&session->wishes);
    invocation_release(&session->invocation);
    for (uint32_t i = 0; i < session->n_excluded; i++)
        free(session->excluded[i]);
    free(session->excluded);
    free(session->bound_address);
    free(session->loss);
    session->loss = NULL;
    session->excluded = NULL;
    session->bound_address = NULL;
    session->n_excluded = 0;
}

void session_discard(struct session *session)
{
    if (!session)
        return;
    session_compact(session);
    free(session->following.kept);
    free(session->candidates);
    free(session->plan);
    free(session->keepers);
    free(session->left);
    if (session->record)
        session->job_ops->destroy(session->record);
    free(session);
}

int64_t session_left_ms(const struct session *session)
{
    if (session->deadline_ns == CLOCK_NEVER)
        return NO_LIMIT_MS;
    int64_t left_ms = (session->deadline_ns - clock_now_ns(session->engine->clock)) / NS_PER_MS;
    return left_ms < 1 ? 1 : left_ms > NO_LIMIT_MS ? NO_LIMIT_MS : left_ms;
}

bool session_is_cancelled(struct session *session)
{
    return atomic_load(&session->cancelled) || atomic_load(&session->engine->closing) ||
           (session->whole && atomic_load(&session->whole->cancelled));
}

/* ---- what a session permits ---- */

bool session_may_repeat(const struct session *session)
{
    return session->invocation.function->problem->idempotent && !session->invocation.consumed;
}

bool session_may_move(const struct session *session)
{
    return session->attached || (session_may_repeat(session) && !session->bound);
}

bool session_is_uncertain(enum esp_status status)
{
    return status == ESP_MAYBE || status == ESP_TIMEOUT;
}

/* ---- waiting in a server's queue ---- */

#define LEAST_PATIENCE_S 1.0 /* the shortest wait before another server is looked for */
#define PROMISES         2.0 /* and the wait in multiples of the promised one */
#define MOST_PATIENCE_S  1e9

static int64_t after_ns(const struct session *session, double seconds)
{
    return clock_now_ns(session->engine->clock) + (int64_t)(fmin(seconds, MOST_PATIENCE_S) * NS_PER_S);
}

void session_enter_queue(struct session *session)
{
    const double promised_s =
        session->forecast_s - session->forecast_compute_s - session->forecast_transfer_s;
    if (!(session->queue_patience_s > 0))
        session->queue_patience_s = LEAST_PATIENCE_S;
    session->restless = false;
    session->queued_ns = clock_now_ns(session->engine->clock);
    session->requeue_ns = after_ns(session, fmax(session->queue_patience_s, PROMISES * promised_s));
}

int64_t session_search_ns(const struct session *session)
{
    const int remote = atomic_load(&session->remote);
    const bool waits = remote == SESSION_QUEUED || remote == SESSION_WAITING,
               moves = !session->bound && !session->is_job && !session->attached && !session->lost &&
                       !session->invocation.home[0];
    return waits && moves ? session->requeue_ns : CLOCK_NEVER;
}

void session_search_later(struct session *session)
{
    session->queue_patience_s *= 2;
    session->requeue_ns = after_ns(session, session->queue_patience_s);
}

void session_set_server(struct session *session, struct link *link, const char *server)
{
    pthread_mutex_lock(&session->engine->marks_lock);
    session->link = link;
    if (server != session->server)
        text_copy(session->server, sizeof session->server, server);
    pthread_mutex_unlock(&session->engine->marks_lock);
}

void session_note_again(struct session *session, const char *server, const char *why)
{
    session->again_ns = clock_now_ns(session->engine->clock);
    snprintf(session->again, sizeof session->again, "%.32s%.31s", server, why);
}

/* ---- reports of the server ---- */

void session_absorb(struct session *session, const struct session_report *report)
{
    enum session_state state = (enum session_state)report->state;
    session->timings = report->timings;
    session->ranks = session_ranks_get(&report->extensions);
    if (!terms_get_real(&report->extensions, EXTENSION_FETCH_TIME, &session->fetch_s) ||
        !(session->fetch_s > 0))
        session->fetch_s = 0;
    error_set(&session->remote_error, ESP_OK, "%s",
              state == SESSION_DONE && report->outcome.text ? report->outcome.text : "");
    if (state == SESSION_FAILED || state == SESSION_CANCELLED || state == SESSION_UNKNOWN) {
        enum esp_status status = report->outcome.status       ? (enum esp_status)report->outcome.status
                                 : state == SESSION_CANCELLED ? ESP_CANCELLED
                                 : state == SESSION_UNKNOWN   ? ESP_NOT_FOUND
                                                              : ESP_FAILED;
        const char *text =
            report->outcome.text && *report->outcome.text ? report->outcome.text : esp_status_string(status);
        error_set(&session->remote_error, status, "%s", text);
    }
    if (state == SESSION_UNKNOWN) {
        session->lost = true;
        session->unbegun = extension_find(&report->extensions, EXTENSION_UNBEGUN) != NULL;
        session->awaited = extension_find(&report->extensions, EXTENSION_AWAITED) != NULL;
    }
    if (session->attached && state >= SESSION_DONE)
        session->job_ops->take_end(session->record, report);
    /* The results of a job are for the session that attaches to it. */
    bool wanted = !session->is_job || session->attached;
    if (state == SESSION_DONE && wanted)
        invocation_take_edges(&session->invocation, &report->extensions);
    if (state == SESSION_DONE && wanted &&
        invocation_results(&session->invocation, report->results, report->n_results,
                           &session->remote_error) != ESP_OK)
        state = SESSION_FAILED;
    atomic_store(&session->remote, state);
}
