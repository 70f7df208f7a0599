/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions in slots: starting them, and the reports of workers.
 */
#include "core/problem/problem_callback.h"
#include "sed/server/server_operands.h"
#include "sed/server/server_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#define RETRY_NS     (5 * NS_PER_MS)
#define RANKS_BACK_S 2 /* about the time to start a job of MPI again */
#define MOST_RESTARTS                                                                                        \
    3 /* of one session, which itself may be what kills its workers, by its use of memory                    \
       */

/* ---- starting ---- */

static bool is_on_ranks(const struct session *session)
{
    return implementation_is_parallel(session->job.implementation);
}

/* The ranks do not start: the client may call another server, if a repetition does no harm. */
static bool may_be_called_elsewhere(const struct session *session, enum esp_status why)
{
    return why == ESP_SYSTEM && is_on_ranks(session) && session->problem->idempotent;
}

/* The session has lost its ranks, which are being started again, and would end on them sooner than on a
 * worker. */
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

/* Long calls, and first calls of a problem, are timed: the description may declare next to no work for a long
 * call, and the next forecasts are made from this one. */
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
    /* Chosen again, as ranks may have come or gone since the call was accepted. */
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
    session->job.attended = session->attended;
    /* Set before the start, as the worker may run on this processor before this thread does again. */
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

/* Puts sessions that were held back into the queue again, each at its place in the order of its client. */
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

void server_dispatch(void *arg)
{
    struct server *server = arg;
    struct queue_entry *held = NULL;
    while (server->queue.length > 0 && server->slots.retry_ns == 0) {
        uint64_t job_id;
        struct esp_error error;
        struct slot *slot = slots_take(&server->slots, &job_id);
        if (!slot)
            break;
        struct queue_entry *entry = queue_pop(&server->queue);
        struct session *session = (struct session *)((char *)entry - offsetof(struct session, queued));
        bool wait;
        if (server_holds_back(session)) {
            slots_free(&server->slots, slot);
            DL_APPEND(held, entry);
            continue;
        }
        enum esp_status status = states_take(server->states, session, &wait, &error);
        if (status == ESP_OK && wait) {
            slots_free(&server->slots, slot);
            continue;
        }
        if (status == ESP_OK)
            status = start(server, session, slot, job_id, &error);
        if (status == ESP_OK) {
            started(server, session);
            continue;
        }
        states_not_started(server->states, session);
        slots_free(&server->slots, slot);
        if (status == ESP_LIMIT) { /* a worker that died is being replaced */
            queue_push_front(&server->queue, &session_share_of(session)->run, &session->queued);
            server->slots.retry_ns = server_now(server) + RETRY_NS;
        } else {
            server_end_session(server, session, SESSION_FAILED, &error);
        }
    }
    put_back(server, held);
}

/* ---- what workers report ---- */

/* The routine returned well. `note`: its text is a note on the results. */
static void job_done(struct server *server, struct session *session, const struct esp_error *note)
{
    struct esp_error error;
    session->error = *note;
    if (server_operands_store(server, session, &error))
        return; /* the session ends when its results are on the disk */
    if (error.status == ESP_OK)
        server_end_session(server, session, SESSION_DONE, NULL);
    else
        server_end_session(server, session, SESSION_FAILED, &error);
}

/* Whether the inputs are unchanged. Results may lie in the place of inputs. */
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

/* The session is the next in the queue. */
static void resume(struct server *server, struct session *session, const struct esp_error *error,
                   const char *how)
{
    char text[SESSION_TEXT];
    log_write(LOG_NOTICE_LEVEL, session_id_text(&session->id, text), "%s: %s", error->text, how);
    session->state = SESSION_QUEUED;
    queue_push_front(&server->queue, &session_share_of(session)->run, &session->queued);
    server_load_changed(server, session->forecast_s);
    server_tell_changed(server, session);
}

/* Whether the session may begin again after its worker or ranks were lost, as far as is known through no
 * fault of its own. After MOST_RESTARTS the session itself is suspected. */
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
    enum esp_status kept = states_after(server->states, session, end, &error);
    if (end->error.status == ESP_OK)
        server_learn(server, session, end->cpu_s, end->waited_s);
    server_note_processor(server, session, end->cpu_s);
    if (session->stopping != ESP_OK)
        server_end_stopped(server, session, session->stopping);
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
    else if (end->lost) /* the client decides whether to call it elsewhere */
        server_end_session(server, session, SESSION_FAILED, explain_loss(session, end, &error));
    else
        server_end_session(server, session,
                           end->error.status == ESP_CANCELLED ? SESSION_CANCELLED : SESSION_FAILED,
                           &end->error);
    if (session_has_ended(session) &&
        session->state != SESSION_DONE) /* the client will not learn of the state that it opened */
        states_give_up(server->states, session);
    if (!session->client && session->moving == 0 && session_has_ended(session))
        server_release_session(server, session);
}

void server_job_ended(void *arg, uint64_t job_id, const struct job_end *end)
{
    struct server *server = arg;
    endpoint_enter(server->endpoint);
    struct slot *slot = slots_find(&server->slots, job_id);
    if (slot) {
        struct session *session = slot->session;
        slots_free(&server->slots, slot);
        server->slots.retry_ns = 0; /* a worker is free */
        if (session)
            job_ended(server, session, end);
        else
            server_measure_ended(server, end);
        server_dispatch(server);
        server_measure_step(server);
    }
    endpoint_leave(server->endpoint);
}

/* ---- states ---- */

void server_state_lost(void *arg, uint64_t job_id)
{
    struct server *server = arg;
    endpoint_enter(server->endpoint);
    states_lost(server->states, job_id);
    endpoint_leave(server->endpoint);
}

static void on_unqueued(struct server *server, struct session *session)
{
    (void)server;
    states_step_aside(session);
}

static void on_result_goes(struct server *server, struct session *session)
{
    states_uncollected(server->states, session);
}

const struct session_observer run_observer = {.unqueued = on_unqueued, .result_goes = on_result_goes};
