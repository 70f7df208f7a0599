/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a session from its acceptance on: its memory, its deadline and leases, and its end. Other
 * parts of the server hear of it through observers (struct session_observer).
 */
#include "sed/sessions/printed.h"
#include "sed/server/server_operands.h"
#include "sed/server/server_state.h"

#include <stdlib.h>
#include <utlist.h>

/* ---- observers ---- */

/* Calls the slot in each observer that has it. */
#define TELL(server, session, slot)                                                                          \
    for (const struct session_observer *const *observer = (server)->observers; *observer; observer++)        \
        if ((*observer)->slot)                                                                               \
    (*observer)->slot(server, session)

void server_tell_changed(struct server *server, struct session *session)
{
    TELL(server, session, changed);
}

void server_proceed(struct server *server, struct session *session)
{
    TELL(server, session, proceeds);
}

/* ---- memory ---- */

static bool has_results_in_segment(const struct session *session)
{
    for (uint32_t i = 0; i < session->problem->n_arguments; i++)
        if (session->job.arguments[i].in_segment && session->arguments[i].kind != KIND_ABSENT &&
            !operands_result(session, i) && argument_is_output(&session->problem->arguments[i]) &&
            !(session->arguments[i].was_lent && session->problem->arguments[i].mode == MODE_OUT))
            return true;
    return false;
}

static void give_segment(struct server *server, struct session *session)
{
    for (uint32_t i = 0; i < session->problem->n_arguments; i++)
        if (session->job.arguments[i].in_segment)
            session->job.arguments[i].data = NULL;
    segments_give(server->segments, session->segment);
    session->segment = NULL;
}

static void keep(struct session *session, uint64_t bytes)
{
    if (session->client) {
        session->client->kept_bytes -= session->kept_bytes;
        session->client->kept_bytes += bytes;
    }
    session->kept_bytes = bytes;
}

void server_settle_memory(struct server *server, struct session *session)
{
    if (session->moving > 0 || !session_has_ended(session))
        return;
    bool results = session->state == SESSION_DONE && session->client;
    if (session->segment && !(results && has_results_in_segment(session)))
        give_segment(server, session);
    uint64_t bytes = 0;
    if (results && session->segment) /* memory that only the routine used is free again */
        bytes = session->memory.bytes < session->call_bytes ? session->memory.bytes : session->call_bytes;
    else if (results)
        for (uint32_t i = 0; i < session->problem->n_arguments; i++)
            if (!session->job.arguments[i].in_segment && session->job.arguments[i].data)
                bytes += session->job.arguments[i].bytes;
    if (session->reserved && bytes < session->memory.bytes) {
        admission_release(&server->admission, session->memory.bytes - bytes);
        server_job_resized(server, session, session->memory.bytes, bytes);
        session->memory.bytes = bytes;
    }
    keep(session, session->reserved ? bytes : 0);
    admission_admit(&server->admission);
}

void server_release_session(struct server *server, struct session *session)
{
    timers_cancel(&server->timers, &session->timer);
    if (session->segment)
        give_segment(server, session);
    if (session->reserved)
        admission_release(&server->admission, session->memory.bytes);
    struct shelf *shelf = session->shelf;
    TELL(server, session, released);
    server->sessions.printed_bytes -= session->printed ? session->printed->size : 0;
    session_free(&server->sessions, session);
    shelf_release(shelf);
    admission_admit(&server->admission);
}

/* ---- the end ---- */

static void leave_state(struct server *server, struct session *session)
{
    switch (session->state) {
    case SESSION_WAITING:
        if (session->memory.waiting)
            server->sessions.waiting--;
        admission_leave(&server->admission, &session->memory);
        server->sessions.stashed_bytes -= session->stash ? session->stash_bytes : 0;
        free(session->stash);
        session->stash = NULL;
        break;
    case SESSION_RECEIVING:
        server->sessions.receiving--;
        break;
    case SESSION_QUEUED:
        queue_remove(&server->queue, &session->queued);
        TELL(server, session, unqueued);
        break;
    default:
        break;
    }
}

static long long microseconds(double seconds)
{
    return (long long)(seconds * 1e6 + 0.5);
}

static void log_ended(struct server *server, const struct session *session)
{
    char text[SESSION_TEXT];
    if (session->state != SESSION_DONE) {
        if (!log_quota_take(&server->sessions.failed_lines, server_now(server)))
            return;
        log_write(LOG_NOTICE_LEVEL, session_id_text(&session->id, text), "%s: %s after %.3g s: %s",
                  session_state_name(session->state), session->problem->name,
                  server_seconds(session->arrived_ns, session->ended_ns), session->error.text);
        return;
    }
    if (!log_wants(LOG_DEBUG_LEVEL))
        return;
    log_write(LOG_DEBUG_LEVEL, session_id_text(&session->id, text),
              "done: %s computed %lld us (forecast %lld), waited %lld, received %lld, queued %lld%s%s",
              session->problem->name, microseconds(session->compute_s), microseconds(session->forecast_s),
              microseconds(server_seconds(session->arrived_ns, session->admitted_ns)),
              microseconds(server_seconds(session->admitted_ns, session->ready_ns)),
              microseconds(server_seconds(session->ready_ns, session->started_ns)),
              session->error.text[0] ? ": " : "", session->error.text);
}

void server_end_session(struct server *server, struct session *session, enum session_state state,
                        const struct esp_error *error)
{
    leave_state(server, session);
    session->state = state;
    session->ended_ns = session->heard_ns = server_now(server);
    session->error.status = ESP_OK; /* its text: the note on its results */
    if (error)
        session->error = *error;
    DL_DELETE2(server->sessions.active, session, prev_active, next_active);
    log_ended(server, session);
    TELL(server, session, ended);
    server_load_changed(server, session->forecast_s);
    TELL(server, session, changed);
    server_settle_memory(server, session);
    if (session->client)
        server_set_timer(server, session);
}

static const char *session_name(const struct session *session)
{
    return session->problem->name;
}

void server_end_stopped(struct server *server, struct session *session, enum esp_status why)
{
    struct esp_error error;
    double after_s = server_seconds(session->arrived_ns, server_now(server));
    if (session->cut_short)
        error_set(&error, why, "it is shutting down, and has stopped %s after %.3g s", session_name(session),
                  after_s);
    else if (why == ESP_TIMEOUT)
        error_set(&error, why, "%s: the deadline passed after %.3g s, %s", session_name(session), after_s,
                  session->state == SESSION_RUNNING     ? "its computation was stopped"
                  : session->state == SESSION_WAITING   ? "waiting for memory"
                  : session->state == SESSION_RECEIVING ? "receiving its arguments"
                                                        : "waiting in the queue");
    else if (why == ESP_UNREACHABLE)
        error_set(&error, why,
                  "%s: stopped after %.3g s: the client %s, and nothing was heard of it for %.3g s",
                  session_name(session), after_s,
                  server_job_is_open(session) ? "has not asked for it to be kept"
                                              : "closed the connection on which it waited",
                  (double)server->options.orphan_lease_ns / 1e9);
    else
        error_set(&error, why, "%s: cancelled after %.3g s", session_name(session), after_s);
    const bool wanted = !session->cut_short && why != ESP_TIMEOUT;
    server_end_session(server, session, wanted ? SESSION_CANCELLED : SESSION_FAILED, &error);
}

void server_stop_session(struct server *server, struct session *session, enum esp_status why)
{
    if (session->state != SESSION_RUNNING) {
        server_end_stopped(server, session, why);
        return;
    }
    if (session->stopping != ESP_OK)
        return;
    session->stopping = why;
    server->workers->ops->cancel(server->workers, session->job.id);
}

void server_forget_session(struct server *server, struct session *session)
{
    TELL(server, session, forgotten);
    TELL(server, session, result_goes);
    if (session->state == SESSION_RUNNING)
        server_stop_session(server, session, ESP_CANCELLED);
    else if (!session_has_ended(session))
        server_end_stopped(server, session, ESP_CANCELLED);
    timers_cancel(&server->timers, &session->timer);
    keep(session, 0);
    server_job_ends(server, session);
    session_detach(&server->sessions, session);
    if (session_has_ended(session) && session->moving == 0)
        server_release_session(server, session);
}

void server_results_stored(struct server *server, struct session *session)
{
    if (session->stopping != ESP_OK)
        server_end_stopped(server, session, session->stopping);
    else
        server_end_session(server, session, SESSION_DONE, NULL);
}

/* ---- deadlines and leases ---- */

void server_drop_result(struct server *server, struct session *session)
{
    char text[SESSION_TEXT];
    double waited_s =
        server_seconds(session->detached ? session->ended_ns : session->heard_ns, server_now(server));
    session->dropped = true;
    TELL(server, session, result_goes);
    if (session->state == SESSION_DONE) {
        session->state = SESSION_FAILED;
        error_set(&session->error, ESP_TIMEOUT, "%s: its result waited %.3g s for its client and was dropped",
                  session->problem->name, waited_s);
        log_write(LOG_NOTICE_LEVEL, session_id_text(&session->id, text), "%s", session->error.text);
    }
    server_settle_memory(server, session);
    session->heard_ns = server_now(server);
    server_set_timer(server, session);
}

/* A client that sends piece after piece and lives is back on another connection at once. */
#define PARTED_LEASE_NS (3 * NS_PER_S)

static int64_t parted_lease_ns(const struct server *server)
{
    const int64_t orphan_ns = server->options.orphan_lease_ns;
    return orphan_ns < PARTED_LEASE_NS ? orphan_ns : PARTED_LEASE_NS;
}

/* The connection on which arguments came is closed, and the client has not sent anything since. */
static bool is_parted(const struct session *session)
{
    return session->state == SESSION_RECEIVING && !session->run_asked && session->moving == 0 &&
           session->parted_ns != 0 && session->parted_ns >= session->heard_ns;
}

static int64_t next_due(const struct server *server, const struct session *session)
{
    const struct server_options *options = &server->options;
    /* The result of a job is not kept for ever, however often a client asks for it. */
    if (session_has_ended(session) && session->detached && !session->dropped)
        return session->ended_ns + options->job_lease_ns;
    if (session_has_ended(session)) {
        /* A dropped session is remembered until its client counts as dead: the same call, sent again, must
         * not be executed once more. */
        int64_t heard = session->dropped && session->client->seen_ns > session->heard_ns
                            ? session->client->seen_ns
                            : session->heard_ns;
        return heard + options->result_lease_ns;
    }
    int64_t due = session->deadline_ns;
    if (session->state == SESSION_RECEIVING && !session->run_asked &&
        session->heard_ns + options->receive_lease_ns < due)
        due = session->heard_ns + options->receive_lease_ns;
    if (is_parted(session) && session->parted_ns + parted_lease_ns(server) < due)
        due = session->parted_ns + parted_lease_ns(server);
    if (server_job_is_open(session)) {
        int64_t over = session->doubted_ns > session->heard_ns ? session->doubted_ns + SECOND_LOOK_NS
                                                               : session->heard_ns + options->orphan_lease_ns;
        due = over < due ? over : due;
    }
    return due;
}

static void ended_timer(struct server *server, struct session *session)
{
    if (session->dropped) {
        server_forget_session(server, session);
        return;
    }
    server_drop_result(server, session);
}

static void active_timer(struct server *server, struct session *session, int64_t now_ns)
{
    if (now_ns >= session->deadline_ns) {
        server_stop_session(server, session, ESP_TIMEOUT);
        return;
    }
    struct esp_error error;
    if (is_parted(session)) {
        error_set(&error, ESP_UNREACHABLE,
                  "%s: its client closed the connection on which it sent arguments, and did not come again "
                  "for %.3g s",
                  session->problem->name, (double)parted_lease_ns(server) / 1e9);
        server_end_session(server, session, SESSION_FAILED, &error);
        return;
    }
    if (server_job_is_open(session)) {
        if (session->waiters) { /* the client is there */
            session->heard_ns = now_ns;
            server_set_timer(server, session);
        } else if (session->doubted_ns <= session->heard_ns) {
            session->doubted_ns = now_ns;
            server_set_timer(server, session);
        } else {
            server_stop_session(server, session, ESP_UNREACHABLE);
        }
        return;
    }
    error_set(&error, ESP_TIMEOUT, "%s: no more of its arguments came for %.3g s", session->problem->name,
              (double)server->options.receive_lease_ns / 1e9);
    server_end_session(server, session, SESSION_FAILED, &error);
}

static void on_timer(struct timer *timer, int64_t now_ns, void *context)
{
    struct server *server = context;
    struct session *session = (struct session *)((char *)timer - offsetof(struct session, timer));
    if (now_ns < next_due(server, session))
        server_set_timer(server, session); /* the lease was renewed meanwhile */
    else if (session_has_ended(session))
        ended_timer(server, session);
    else
        active_timer(server, session, now_ns);
}

void server_set_timer(struct server *server, struct session *session)
{
    if (!session->client)
        return;
    session->timer.fire = on_timer;
    session->timer.context = server;
    int64_t due = next_due(server, session);
    if (due == CLOCK_NEVER)
        timers_cancel(&server->timers, &session->timer);
    else
        timers_set(&server->timers, &session->timer, due, NULL);
}
