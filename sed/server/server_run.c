/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/problem_callback.h"
#include "sed/server/printed.h"
#include "sed/server/server_operands.h"
#include "sed/server/server_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#define RETRY_NS      (5 * NS_PER_MS)
#define RANKS_BACK_S  2 /* what it takes to start a job of MPI again, about */
#define MOST_RESTARTS 3 /* of one session: it may be what ends workers, for want of memory */

/* ---- slots ---- */

struct slot *server_take_slot(struct server *server, uint64_t *job_id)
{
    for (uint32_t i = 0; server->running < server->options.slots && i < server->options.slots; i++) {
        struct slot *slot = &server->slots[i];
        if (slot->job_id != 0)
            continue;
        *job_id = slot->job_id = ++server->last_job * CAP_SLOTS + i;
        server->running++;
        return slot;
    }
    return NULL;
}

void server_free_slot(struct server *server, struct slot *slot)
{
    *slot = (struct slot){0};
    server->running--;
}

/* ---- starting ---- */

static bool is_on_ranks(const struct session *session)
{
    return implementation_is_parallel(session->job.implementation);
}

/* Ranks that do not come (back): its client calls elsewhere, where that does no harm. */
static bool may_be_called_elsewhere(const struct session *session, enum esp_status why)
{
    return why == ESP_SYSTEM && is_on_ranks(session) && session->problem->idempotent;
}

/* It has lost its ranks, which are being started again, and would be through on them before a worker is. */
static bool awaits_ranks(const struct server *server, const struct session *session,
                         const struct parallel_choice *choice)
{
    struct esp_error why;
    const struct workers_ops *ops = server->workers->ops;
    return session->restarts > 0 && session->ranks.rows > 0 && choice->ranks_absent &&
           !implementation_is_parallel(choice->implementation) &&
           session->forecast_s + RANKS_BACK_S < choice->proposal.seconds &&
           (!ops->admits || ops->admits(server->workers, &why) == ESP_OK);
}

/* Nobody has tested the forecast of a problem that was not called yet: the description may declare next to no
 * work for a long call, which the next forecasts are made of. */
static bool is_worth_timing(const struct server *server, const struct session *session)
{
    return session->forecast_s >= WORTH_TIMING_S ||
           !problem_speed_find(&server->speed.called, session->problem->digest);
}

static enum esp_status start(struct server *server, struct session *session, struct slot *slot,
                             uint64_t job_id, struct esp_error *error)
{
    const struct problem *problem = session->problem;
    if (problem->n_implementations == 0)
        return error_set(error, ESP_INVALID, "%s: its description (%s:%u) names no implementation",
                         problem->name, problem->file, problem->line);
    /* Again: ranks may have come or gone since the call was accepted. */
    struct parallel_choice choice;
    server_choose(server, problem, session->job.scope, session->work_flop, session->call_bytes, session,
                  session->alone_s, &choice);
    if (awaits_ranks(server, session, &choice))
        return error_set(error, ESP_LIMIT, "the ranks are being started");
    session->job.id = job_id;
    session->job.implementation = choice.implementation;
    session->job.grid = choice.grid;
    session->job.proposal = choice.proposal;
    server_operands_lay(session);
    session->forecast_s = choice.proposal.seconds;
    session->job.timed = is_worth_timing(server, session) && server->options.threads == 1 &&
                         !implementation_is_parallel(choice.implementation);
    session->job.time_limit_ms = session->job.implementation->time_limit_ms;
    server_checkpoint_prepare(server, session);
    session->job.attended = server->brought && session_id_equal(server->brought, &session->id);
    /* Before it starts: the worker may well run on this processor before this thread does again. */
    session->started_ns = server_now(server);
    enum esp_status status = server->workers->ops->start(server->workers, &session->job, error);
    if (status == ESP_OK)
        slot->session = session;
    else if (may_be_called_elsewhere(session, status))
        status = error->status = ESP_MAYBE;
    return status;
}

static void started(struct server *server, struct session *session)
{
    char text[SESSION_TEXT];
    session->state = SESSION_RUNNING;
    session->begun = true;
    server_load_started(server);
    char grid[64] = "";
    if (is_on_ranks(session))
        snprintf(grid, sizeof grid, " on %u x %u ranks, blocks of %u", session->job.grid.rows,
                 session->job.grid.cols, session->job.grid.block);
    if (log_wants(LOG_DEBUG_LEVEL))
        log_write(LOG_DEBUG_LEVEL, session_id_text(&session->id, text), "started: %s by %s%s after %.3g s",
                  session->problem->name, session->job.implementation->name, grid,
                  server_seconds(session->arrived_ns, session->started_ns));
    server_set_timer(server, session);
}

/* They are back in the line, each where it was in the line of its client. */
static void put_back(struct server *server, struct queue_entry *held)
{
    while (held) {
        struct queue_entry *last = held->prev;
        struct session *session = (struct session *)((char *)last - offsetof(struct session, queued));
        DL_DELETE(held, last);
        *last = (struct queue_entry){0};
        queue_push_front(&server->queue, &session_share_of(session)->run, last);
    }
}

void server_dispatch(struct server *server)
{
    struct queue_entry *held = NULL;
    while (server->queue.length > 0 && server->retry_ns == 0) {
        uint64_t job_id;
        struct esp_error error;
        struct slot *slot = server_take_slot(server, &job_id);
        if (!slot)
            break;
        struct queue_entry *entry = queue_pop(&server->queue);
        struct session *session = (struct session *)((char *)entry - offsetof(struct session, queued));
        bool wait;
        if (server_holds_back(session)) {
            server_free_slot(server, slot);
            DL_APPEND(held, entry);
            continue;
        }
        enum esp_status status = server_kept_take(server, session, &wait, &error);
        if (status == ESP_OK && wait) {
            server_free_slot(server, slot);
            continue;
        }
        if (status == ESP_OK)
            status = start(server, session, slot, job_id, &error);
        if (status == ESP_OK) {
            started(server, session);
            continue;
        }
        server_kept_not_started(server, session);
        server_free_slot(server, slot);
        if (status == ESP_LIMIT) { /* a worker that died is being replaced */
            queue_push_front(&server->queue, &session_share_of(session)->run, &session->queued);
            server->retry_ns = server_now(server) + RETRY_NS;
        } else {
            server_end_session(server, session, SESSION_FAILED, &error);
        }
    }
    put_back(server, held);
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
    if (results && session->segment) /* the routine's own part is free again */
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
    server_admit(server);
}

void server_release_session(struct server *server, struct session *session)
{
    timers_cancel(&server->timers, &session->timer);
    if (session->segment)
        give_segment(server, session);
    if (session->reserved)
        admission_release(&server->admission, session->memory.bytes);
    struct shelf *shelf = session->shelf;
    server_operands_free(session);
    server->printed_bytes -= session->printed ? session->printed->size : 0;
    session_free(&server->sessions, session);
    shelf_release(shelf);
    server_admit(server);
}

/* ---- the end ---- */

static void leave_state(struct server *server, struct session *session)
{
    switch (session->state) {
    case SESSION_WAITING:
        if (session->memory.waiting)
            server->waiting--;
        admission_leave(&server->admission, &session->memory);
        server->stashed_bytes -= session->stash ? session->stash_bytes : 0;
        free(session->stash);
        session->stash = NULL;
        break;
    case SESSION_RECEIVING:
        server->receiving--;
        break;
    case SESSION_QUEUED:
        queue_remove(&server->queue, &session->queued);
        server_kept_step_aside(session);
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
        if (!log_quota_take(&server->failed_lines, server_now(server)))
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
    if (state == SESSION_DONE)
        server->completed++;
    else
        server->failed++;
    DL_DELETE2(server->active, session, prev_active, next_active);
    server->idle_since_ns = session->ended_ns;
    log_ended(server, session);
    server_count_end(server, session);
    server_checkpoint_ended(session);
    server_operands_release(server, session, state == SESSION_DONE);
    server_lends_release(server, session);
    server_trace_end(server, session);
    server_load_changed(server, session->forecast_s);
    server_session_changed(server, session);
    server_settle_memory(server, session);
    if (session->client)
        server_set_timer(server, session);
}

static const char *session_name(const struct session *session)
{
    return session->problem->name;
}

static void end_stopped(struct server *server, struct session *session, enum esp_status why)
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
        end_stopped(server, session, why);
        return;
    }
    if (session->stopping != ESP_OK)
        return;
    session->stopping = why;
    server->workers->ops->cancel(server->workers, session->job.id);
}

void server_forget_session(struct server *server, struct session *session)
{
    server_dismiss_waiters(server, session);
    server_remove_result(server, session);
    if (session->state == SESSION_DONE)
        server_kept_uncollected(server, session);
    if (session->state == SESSION_RUNNING)
        server_stop_session(server, session, ESP_CANCELLED);
    else if (!session_has_ended(session))
        end_stopped(server, session, ESP_CANCELLED);
    timers_cancel(&server->timers, &session->timer);
    keep(session, 0);
    server_job_ends(server, session);
    session_detach(&server->sessions, session);
    if (session_has_ended(session) && session->moving == 0)
        server_release_session(server, session);
}

/* ---- what workers report ---- */

void server_results_stored(struct server *server, struct session *session)
{
    if (session->stopping != ESP_OK)
        end_stopped(server, session, session->stopping);
    else
        server_end_session(server, session, SESSION_DONE, NULL);
}

/* It has computed well. `note`: of ESP_OK, on its results. */
static void job_done(struct server *server, struct session *session, const struct esp_error *note)
{
    struct esp_error error;
    session->error = *note;
    if (server_operands_store(server, session, &error))
        return; /* it ends when what it leaves here is safe */
    if (error.status == ESP_OK)
        server_end_session(server, session, SESSION_DONE, NULL);
    else
        server_end_session(server, session, SESSION_FAILED, &error);
}

/* Whether what it was given is still there as it was: results may lie in the place of their inputs. */
static bool has_inputs(const struct session *session)
{
    for (uint32_t i = 0; i < session->problem->n_arguments; i++) {
        const struct job_argument *argument = &session->job.arguments[i];
        if (argument_is_input(&session->problem->arguments[i]) && argument->writable &&
            argument->in_segment && !argument->source)
            return false;
    }
    return true;
}

/* It has the next slot. */
static void resume(struct server *server, struct session *session, const struct esp_error *error,
                   const char *how)
{
    char text[SESSION_TEXT];
    log_write(LOG_NOTICE_LEVEL, session_id_text(&session->id, text), "%s: %s", error->text, how);
    session->state = SESSION_QUEUED;
    queue_push_front(&server->queue, &session_share_of(session)->run, &session->queued);
    server_load_changed(server, session->forecast_s);
    server_session_changed(server, session);
}

/* Its worker or its ranks were lost by no fault of its own, as it seems. What ends them again and again may
 * be something else. */
static bool may_start_again(const struct session *session, const struct job_end *end)
{
    const struct problem *problem = session->problem;
    return end->lost && session->client && session->restarts < MOST_RESTARTS &&
           problem_state_index(problem) < 0 &&
           (end->unbegun ||
            (problem->idempotent && !problem_has_callbacks(problem) && (end->intact || has_inputs(session))));
}

static const struct esp_error *explain_loss(const struct session *session, const struct job_end *end,
                                            struct esp_error *error)
{
    const char *times = session->restarts == MOST_RESTARTS ? ", and others before it" : "";
    error_set(error, ESP_MAYBE, "%.300s%s", end->error.text, times);
    return error;
}

static void job_ended(struct server *server, struct session *session, const struct job_end *end)
{
    struct esp_error error;
    session->compute_s = end->compute_s;
    session->ranks = is_on_ranks(session)
                         ? (struct session_ranks){end->first_rank, session->job.grid.rows,
                                                  session->job.grid.cols, session->job.grid.block}
                         : (struct session_ranks){0};
    enum esp_status kept = server_kept_after(server, session, end, &error);
    if (end->error.status == ESP_OK)
        server_learn(server, session, end->cpu_s, end->waited_s);
    server_note_processor(server, session, end->cpu_s);
    if (session->stopping != ESP_OK)
        end_stopped(server, session, session->stopping);
    else if ((end->error.status == ESP_CRASHED || end->lost) && server_checkpoint_resumes(session))
        resume(server, session, &end->error, "goes on from its checkpoint");
    else if (may_start_again(session, end)) {
        session->restarts++;
        resume(server, session, &end->error,
               is_on_ranks(session) ? "begins anew" : "begins anew in another worker");
    } else if (kept != ESP_OK)
        server_end_session(server, session, SESSION_FAILED, &error);
    else if (end->error.status == ESP_OK)
        job_done(server, session, &end->error);
    else if (end->lost) /* its client knows whether it may be called again elsewhere */
        server_end_session(server, session, SESSION_FAILED, explain_loss(session, end, &error));
    else
        server_end_session(server, session,
                           end->error.status == ESP_CANCELLED ? SESSION_CANCELLED : SESSION_FAILED,
                           &end->error);
    if (session_has_ended(session) && session->state != SESSION_DONE) /* nobody will hear of its state */
        server_kept_give_up(server, session);
    if (!session->client && session->moving == 0 && session_has_ended(session))
        server_release_session(server, session);
}

void server_job_ended(void *arg, uint64_t job_id, const struct job_end *end)
{
    struct server *server = arg;
    endpoint_enter(server->endpoint);
    struct slot *slot = &server->slots[job_id % CAP_SLOTS % server->options.slots];
    if (slot->job_id == job_id) {
        struct session *session = slot->session;
        server_free_slot(server, slot);
        server->retry_ns = 0; /* a worker is free */
        if (session)
            job_ended(server, session, end);
        else
            server_measure_ended(server, end);
        server_dispatch(server);
        server_measure_step(server);
    }
    endpoint_leave(server->endpoint);
}

/* ---- deadlines and leases ---- */

void server_drop_result(struct server *server, struct session *session)
{
    char text[SESSION_TEXT];
    double waited_s =
        server_seconds(session->detached ? session->ended_ns : session->heard_ns, server_now(server));
    session->dropped = true;
    server_remove_result(server, session);
    if (session->state == SESSION_DONE) {
        server_kept_uncollected(server, session);
        session->state = SESSION_FAILED;
        error_set(&session->error, ESP_TIMEOUT, "%s: its result waited %.3g s for its client and was dropped",
                  session->problem->name, waited_s);
        log_write(LOG_NOTICE_LEVEL, session_id_text(&session->id, text), "%s", session->error.text);
    }
    server_settle_memory(server, session);
    session->heard_ns = server_now(server);
    server_set_timer(server, session);
}

/* Who sends piece after piece and lives is back on another connection at once. */
#define PARTED_LEASE_NS (3 * NS_PER_S)

static int64_t parted_lease_ns(const struct server *server)
{
    const int64_t orphan_ns = server->options.orphan_lease_ns;
    return orphan_ns < PARTED_LEASE_NS ? orphan_ns : PARTED_LEASE_NS;
}

/* Its arguments were on their way, and nothing of it was heard since their connection was closed. */
static bool is_parted(const struct session *session)
{
    return session->state == SESSION_RECEIVING && !session->run_asked && session->moving == 0 &&
           session->parted_ns != 0 && session->parted_ns >= session->heard_ns;
}

static int64_t next_due(const struct server *server, const struct session *session)
{
    const struct server_options *options = &server->options;
    /* However often somebody asks after it: the result of a job is not kept for ever. */
    if (session_has_ended(session) && session->detached && !session->dropped)
        return session->ended_ns + options->job_lease_ns;
    if (session_has_ended(session)) {
        /* A dropped session is remembered until its client must be taken for dead: if it came again with the
         * same call, that must not be executed once more. */
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
        if (session->waiters) { /* somebody is there */
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
        server_set_timer(server, session); /* something was heard meanwhile */
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
