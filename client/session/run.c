/* SPDX-License-Identifier: Apache-2.0
 *
 * Drives a session from phase to phase: in the thread of a blocking call, or in threads of the pool.
 */
#include "client/arguments/hooks.h"
#include "client/session/attempt.h"
#include "client/session/backlog.h"
#include "client/session/bulk.h"
#include "client/session/given_up.h"
#include "client/session/handle.h"
#include "client/session/library.h"
#include "client/session/link.h"
#include "client/session/requeue.h"
#include "core/problem/problem_callback.h"
#include "util/clock.h"

static void session_run(void *arg);

#define CANCEL_MS 5000 /* limit for informing a server that a session is cancelled */

static enum esp_status finish_results(struct session *session)
{
    enum esp_status status = invocation_finish(&session->invocation, &session->error);
    return status == ESP_OK && call_hooks->after_call
               ? call_hooks->after_call(&session->invocation, session->engine, session->server,
                                        session->link->address, &session->error)
               : status;
}

static void finish(struct session *session)
{
    enum esp_status status = bulk_receive(session);
    if (status == ESP_OK)
        status = finish_results(session);
    else if (session->lost)
        return;
    session_end(session, status);
}

/* The session has waited long in the server's queue. Returns whether it has left the server, or has ended. */
static bool leaves_queue(struct session *session)
{
    struct link *link = session->link;
    session->restless = false;
    const bool left = requeue_try(session);
    if (left)
        link_search_again(link);
    return left;
}

/* Continues a session that a server has. Returns false while the server computes. */
static bool remote(struct session *session)
{
    const bool doubted = session->doubted;
    session->doubted = false;
    if (doubted && !session->lost && atomic_load(&session->remote) < SESSION_DONE && given_up_leaves(session))
        link_doubt(session->link, session->problem);
    if (session->restless && !session->lost && leaves_queue(session))
        return true;
    if (session->lost) {
        attempt_recover(session);
        return true;
    }
    if (session->is_job && !session->attached && session->job_ops->is_handed_over(session))
        return false;
    switch (atomic_load(&session->remote)) {
    case SESSION_RECEIVING:
        bulk_send(session);
        return true;
    case SESSION_DONE:
        finish(session);
        return true;
    case SESSION_FAILED:
        if (attempt_finds_data(session) || attempt_was_shut_out(session) || attempt_lost_worker(session))
            return true;
        /* fall through */
    case SESSION_CANCELLED:
        error_set(&session->error, session->remote_error.status, "%s", session->remote_error.text);
        if (session->error.status != ESP_CANCELLED)
            error_prefix(&session->error, "%s on %s", session->problem, session->server);
        session_end(session, session->error.status);
        return true;
    default:
        return false;
    }
}

enum session_step session_advance(struct session *session)
{
    while (atomic_load(&session->phase) != PHASE_ENDED) {
        /* A result that has arrived is not dropped for being late. */
        if (atomic_load(&session->remote) < SESSION_DONE && session_called_off(session))
            break;
        switch (atomic_load(&session->phase)) {
        case PHASE_CHOOSE:
            attempt_choose(session);
            if (session->holding)
                return STEP_HELD;
            break;
        case PHASE_OFFER:
            attempt_offer(session);
            break;
        case PHASE_REMOTE:
            if (!remote(session))
                return STEP_WAIT;
            break;
        }
    }
    return STEP_ENDED;
}

/* ---- which thread runs it ---- */

enum esp_status session_call(struct session *session)
{
    enum session_step step;
    while ((step = session_advance(session)) != STEP_ENDED)
        if (step == STEP_HELD)
            backlog_wait(session);
        else if (session->follow)
            session_follow(session);
        else
            link_wait(session->link, session);
    return session->error.status;
}

static void follow_run(void *arg)
{
    struct session *session = arg;
    session_follow(session);
    session->job.run = session_run;
    thread_pool_submit(session->engine->runners, &session->job); /* cannot fail: it came from a runner */
}

/* A session that is followed holds a thread while the server computes; that thread is not one of the
 * runners, which all sessions need. */
static bool hand_to_follower(struct session *session)
{
    session->job.run = follow_run;
    if (thread_pool_submit(session->engine->followers, &session->job))
        return true;
    session->job.run = session_run;
    return false;
}

/* The pool's job for an asynchronous session. */
static void session_run(void *arg)
{
    struct session *session = arg;
    enum session_step step = STEP_ENDED;
    if (session->work)
        session->work(session);
    else
        step = session_advance(session);
    while (step != STEP_ENDED) {
        if (step == STEP_HELD && backlog_park(session))
            return;
        if (step == STEP_WAIT && !session->follow) {
            link_park(session->link, session);
            return;
        }
        if (step == STEP_WAIT && hand_to_follower(session))
            return;
        if (step == STEP_WAIT)
            session_follow(session);
        step = session_advance(session);
    }
    session->ended(session, session->arg);
}

void session_start_here(struct session *session)
{
    session->job = (struct thread_job){.run = session_run, .arg = session};
    session_run(session);
}

enum esp_status session_start(struct session *session, struct esp_error *error)
{
    session->job = (struct thread_job){.run = session_run, .arg = session};
    struct engine *engine = session->engine;
    if (thread_pool_submit(session->work ? engine->chains : engine->runners, &session->job))
        return ESP_OK;
    return error_set(error, ESP_SYSTEM, "cannot start a thread for asynchronous sessions");
}

void session_cancel(struct session *session)
{
    struct engine *engine = session->engine;
    atomic_store(&session->cancelled, true);
    backlog_release(session);
    pthread_mutex_lock(&engine->marks_lock);
    const struct session *remote = session->step ? session->step : session;
    struct link *link = remote->link;
    struct session_id id = remote->id;
    pthread_mutex_unlock(&engine->marks_lock);
    if (!link || id.sequence == 0)
        return; /* its runner checks the flag before each step */
    struct message request = {.kind = MESSAGE_CANCEL, .cancel = {.session = id}}, reply = {0};
    transport_call(engine->transport, link->address, &request, CANCEL_MS, &reply, NULL);
    message_clear(&reply);
    link_release(link, id.sequence);
}

/* ---- from a handle and an invocation to a session ---- */

static double deadline_s(struct handle *handle, const struct esp_call_options *options)
{
    return options && options->deadline_s > 0 ? options->deadline_s : atomic_load(&handle->deadline_s);
}

int64_t start_until_ns(const struct library *library, struct handle *handle,
                       const struct esp_call_options *options)
{
    return session_until_ns(library->engine, deadline_s(handle, options));
}

enum esp_status start_session(struct library *library, struct handle *handle, struct invocation *invocation,
                              const struct esp_call_options *options, struct session **session,
                              struct esp_error *error)
{
    const struct target target = {handle->server, handle->address, NULL, options};
    bool asks = problem_has_callbacks(invocation->function->problem);
    enum esp_status status =
        session_begin(library->engine, invocation, &target, deadline_s(handle, options), session, error);
    if (status != ESP_OK)
        return status;
    if (options) {
        (*session)->ended_fd = options->ended_fd;
        (*session)->here = options->here;
        (*session)->following.sent = options->sent;
        (*session)->following.arg = options->arg;
    }
    if (options && options->follow) {
        (*session)->follow = true;
        (*session)->following.output = options->output;
        (*session)->following.progress = options->progress;
        (*session)->following.arg = options->arg;
    }
    if (asks)
        (*session)->follow = true; /* even if the caller wants neither output nor progress */
    return ESP_OK;
}

/* Notes the step under way, so that cancelling the whole also cancels the step. */
static void set_step(struct session *whole, struct session *step)
{
    pthread_mutex_lock(&whole->engine->marks_lock);
    whole->step = step;
    pthread_mutex_unlock(&whole->engine->marks_lock);
}

static void add_times(struct session *whole, const struct session *step)
{
    whole->sent_ns += step->sent_ns;
    whole->submitted_ns = whole->submitted_ns ? whole->submitted_ns : step->submitted_ns;
    whole->timings.wait_s += step->timings.wait_s;
    whole->timings.transfer_s += step->timings.transfer_s;
    whole->timings.queue_s += step->timings.queue_s;
    whole->fetch_s += step->fetch_s;
    whole->timings.compute_s += step->timings.compute_s;
    whole->forecast_s += step->forecast_s;
    whole->forecast_compute_s += step->forecast_compute_s;
}

enum esp_status start_blocking(struct library *library, struct handle *handle, struct invocation *invocation,
                               const struct esp_call_options *options, struct session *whole,
                               struct session **session, struct esp_error *error)
{
    *session = NULL;
    enum esp_status status = start_session(library, handle, invocation, options, session, error);
    if (status != ESP_OK)
        return status;
    (*session)->whole = whole;
    if (whole)
        set_step(whole, *session);
    status = session_call(*session);
    if (whole) {
        set_step(whole, NULL);
        add_times(whole, *session);
    }
    if (status != ESP_OK)
        *error = (*session)->error;
    return status;
}
