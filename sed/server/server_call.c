/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls: identity, limits, admission, and the way of a session to the queue.
 */
#include "sed/server/server_operands.h"
#include "sed/server/server_state.h"
#include "util/bytes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <utlist.h>

static void refuse(struct server *server, struct call *call, const struct session_id *id,
                   enum message_kind reply, const struct esp_error *error)
{
    char text[SESSION_TEXT];
    struct message *message = message_failure(reply, error->status, "%s", error->text);
    status_count(&server->totals.refusals, error->status);
    log_write(LOG_WARNING_LEVEL, session_id_text(id, text), "refused: %s", error->text);
    if (message && reply == MESSAGE_CALL_REPLY && error->status == ESP_UNREACHABLE &&
        duty_is_back_soon(&server->duty))
        extension_add(&message->call_reply.session.extensions, EXTENSION_AWAITED, "", 0, &message->arena);
    call_reply(call, message);
}

/* ---- identity ---- */

static enum esp_status check_identity(struct server *server, const struct call_request *call,
                                      struct client *client, struct esp_error *error)
{
    if (call->server_incarnation != 0 && call->server_incarnation != server->options.incarnation)
        return error_set(error, ESP_STALE,
                         "server %s was restarted: incarnation %016" PRIx64 " is expected, found %016" PRIx64,
                         server->name, server->options.incarnation, call->server_incarnation);
    uint64_t floor =
        client && client->floor > call->oldest_unacknowledged ? client->floor : call->oldest_unacknowledged;
    if (call->session.sequence < floor)
        return error_set(error, ESP_REFUSED,
                         "session %" PRIu64 " was acknowledged and is forgotten: expected at least %" PRIu64,
                         call->session.sequence, floor);
    if (client && client->open && open_excludes(client->open, call->session.sequence))
        return error_set(error, ESP_REFUSED, "session %" PRIu64 " was acknowledged and is forgotten",
                         call->session.sequence);
    return ESP_OK;
}

/* ---- limits ---- */

static bool call_is_job(const struct call_request *call)
{
    return extension_find(&call->extensions, EXTENSION_JOB) ||
           extension_find(&call->extensions, EXTENSION_DETACHED);
}

/* The owner of the job. False: the call names none, or is no job. */
static bool call_owner(const struct call_request *call, uint64_t owner[2])
{
    const struct extension *extension = extension_find(&call->extensions, EXTENSION_OWNER);
    if (!call_is_job(call) || !extension || extension->length != 2 * sizeof *owner)
        return false;
    memcpy(owner, extension->value, extension->length);
    return true;
}

/* In a full queue each client has an equal part of the places. */
static bool has_place(struct server *server, const struct call_request *call, const struct client *client)
{
    uint64_t owner[2];
    const uint32_t places = server->options.queue;
    if (server->queue.length + server->admission.waiting < places || places == 0)
        return places > 0;
    const struct share *share =
        call_owner(call, owner) ? sessions_share_of(&server->sessions, owner) : &client->share;
    uint32_t own = share ? share_waiting(share) : 0;
    uint32_t parts = sessions_waiting_shares(&server->sessions) + (own == 0);
    return own < (parts < places ? places / parts : 1);
}

static enum esp_status check_limits(struct server *server, const struct call_request *call,
                                    const struct client *client, struct esp_error *error)
{
    const struct server_options *options = &server->options;
    uint64_t kept = options->kept_bytes_per_client;
    char size[BYTES_TEXT], limit[BYTES_TEXT];
    if (client->n_sessions >= options->sessions_per_client)
        return error_set(error, ESP_LIMIT,
                         "this client has %u sessions on server %s that it did not acknowledge; at most %u "
                         "(sessions_per_client in the server's file)",
                         client->n_sessions, server->name, options->sessions_per_client);
    if (client->kept_bytes > kept)
        return error_set(error, ESP_LIMIT,
                         "results of this client that it did not acknowledge take %s on server %s; at most "
                         "%s (kept_bytes_per_client in the server's file)",
                         bytes_text(client->kept_bytes, size), server->name, bytes_text(kept, limit));
    if (server->sessions.n_sessions >= SERVER_MOST_SESSIONS)
        return error_set(error, ESP_LIMIT, "server %s has %u sessions; at most %u", server->name,
                         server->sessions.n_sessions, SERVER_MOST_SESSIONS);
    bool must_wait =
        server->slots.running + server->queue.length >= options->slots || server->admission.waiting;
    if (must_wait && !has_place(server, call, client))
        return error_set(
            error, ESP_LIMIT,
            "%u sessions wait on server %s; at most %u (queue in the server's file), of which this "
            "client has its part",
            server->queue.length + server->admission.waiting, server->name, options->queue);
    return ESP_OK;
}

static enum esp_status held_by_others(const struct server *server, const struct call_plan *plan,
                                      uint64_t bytes, struct esp_error *error)
{
    char size[BYTES_TEXT], left[BYTES_TEXT], limit[BYTES_TEXT];
    return error_set(error, ESP_NO_MEMORY,
                     "%s takes %s of memory; others on the machine of server %s leave %s of the %s that "
                     "calls may take there (memory in the server's file)",
                     plan->problem->name, bytes_text(bytes, size), server->name,
                     bytes_text(server->admission.total, left),
                     bytes_text(server->options.memory_bytes, limit));
}

static enum esp_status check_memory(struct server *server, const struct call_plan *plan,
                                    struct esp_error *error)
{
    char size[BYTES_TEXT], limit[BYTES_TEXT];
    if (plan->reserve_bytes > server->options.memory_bytes)
        return error_set(
            error, ESP_NO_MEMORY,
            "%s: arguments, results and work arrays take %s; server %s has %s in all (memory in the "
            "server's file)",
            plan->problem->name, bytes_text(plan->reserve_bytes, size), server->name,
            bytes_text(server->options.memory_bytes, limit));
    if (plan->reserve_bytes > server->admission.total)
        return held_by_others(server, plan, plan->reserve_bytes, error);
    if (plan->segment_bytes > 0 && server->sessions.stashed_bytes + plan->inline_bytes > SERVER_MOST_STASHED)
        return error_set(error, ESP_LIMIT,
                         "values of sessions that wait for memory take %s on server %s; at most %s",
                         bytes_text(server->sessions.stashed_bytes, size), server->name,
                         bytes_text(SERVER_MOST_STASHED, limit));
    return ESP_OK;
}

/* ---- a new session ---- */

static void fail(struct server *server, struct session *session, const struct esp_error *error)
{
    server_end_session(server, session, SESSION_FAILED, error);
}

/* Its memory is reserved. */
static void admitted(struct server *server, struct session *session)
{
    struct esp_error error;
    session->reserved = true;
    session->admitted_ns = session->heard_ns = server_now(server);
    if (session->segment_bytes > 0) {
        struct segment *segment;
        if (session->stash)
            server->sessions.stashed_bytes -= session->stash_bytes;
        if (segments_take(server->segments, session->segment_bytes, session->client->key, &segment, &error) !=
            ESP_OK) {
            fail(server, session, &error);
            return;
        }
        session_attach_segment(session, segment);
    }
    session->state = SESSION_RECEIVING;
    server->sessions.receiving++;
    if (session->bulk) {
        server_set_timer(server, session);
        server_operands_step(server, session); /* while the client sends the others */
        server_tell_changed(server, session);
    } else {
        server_make_ready(server, session, NULL);
    }
}

void server_admitted(void *arg, struct admission_entry *entry)
{
    struct server *server = arg;
    server->sessions.waiting--;
    admitted(server, (struct session *)((char *)entry - offsetof(struct session, memory)));
}

static void log_accepted(const struct server *server, const struct session *session)
{
    char text[SESSION_TEXT], size[BYTES_TEXT];
    if (!log_wants(LOG_DEBUG_LEVEL))
        return;
    log_write(LOG_DEBUG_LEVEL, session_id_text(&session->id, text),
              "accepted: %s, %.3g flop, %s, forecast %.3g s", session->problem->name, session->work_flop,
              bytes_text(session->memory.bytes, size), session->forecast_s);
    (void)server;
}

static int64_t deadline(int64_t now_ns, uint64_t time_left_ms)
{
    if (time_left_ms == 0 || time_left_ms > (uint64_t)(INT64_MAX / 2 / NS_PER_MS))
        return CLOCK_NEVER;
    return now_ns + (int64_t)time_left_ms * NS_PER_MS;
}

/* Memory that the routine is forecast to allocate is reserved with the memory of the call, so that sessions
 * do not swap. A forecast refuses no call, and waits for no client to fetch results: it reserves at most
 * three quarters of the memory. */
static uint64_t with_routine(const struct server *server, uint64_t bytes, uint64_t forecast_bytes)
{
    const uint64_t most = server->admission.total / 4 * 3;
    if (forecast_bytes > most)
        forecast_bytes = most;
    return forecast_bytes > bytes ? forecast_bytes : bytes;
}

/* Memory of the call, including the pieces on the ranks, or the forecast for a worker's routine. */
static uint64_t beside_call(const struct call_plan *plan, const struct parallel_choice *choice,
                            uint64_t forecast_bytes)
{
    uint64_t parts, all;
    if (!implementation_is_parallel(choice->implementation))
        return forecast_bytes;
    parts = spread_bytes(plan->problem, choice->implementation, plan->scope, choice->grid);
    return __builtin_add_overflow(plan->reserve_bytes, parts, &all) ? UINT64_MAX : all;
}

/* Forecasts the call and chooses its implementation. ESP_NO_MEMORY: others on the machine hold the memory
 * that the routine is forecast to allocate. If the limit of the server itself is too small, the call is
 * tried. */
static enum esp_status foresee(struct server *server, const struct problem *problem,
                               const struct call_plan *plan, struct request_cost *cost,
                               struct parallel_choice *choice, struct esp_error *error)
{
    server_cost(server, problem, plan->scope, plan->work_flop, plan->reserve_bytes, cost);
    server_choose(server, problem, plan->scope, plan->work_flop, plan->reserve_bytes, NULL, cost->compute_s,
                  choice);
    const bool held = cost->memory_bytes > server->admission.total &&
                      cost->memory_bytes <= server->options.memory_bytes &&
                      !implementation_is_parallel(choice->implementation);
    return held ? held_by_others(server, plan, cost->memory_bytes, error) : ESP_OK;
}

static enum esp_status open_session(struct server *server, struct client *client, struct call *from,
                                    const struct call_request *call, const struct problem *problem,
                                    struct session **result, struct esp_error *error)
{
    struct call_plan plan;
    struct request_cost cost;
    struct parallel_choice choice;
    enum esp_status status = call_plan_make(problem, call, &plan, error);
    bool job = call_is_job(call);
    if (status == ESP_OK)
        status = server_suits(problem, plan.scope, error);
    if (status == ESP_OK)
        status = server_can_now(server, problem, error);
    if (status == ESP_OK)
        status = check_memory(server, &plan, error);
    if (status == ESP_OK)
        status = foresee(server, problem, &plan, &cost, &choice, error);
    if (status == ESP_OK && job)
        status = server_check_job(server, problem->name, plan.reserve_bytes, error);
    if (status == ESP_OK)
        status = session_create(&server->sessions, client, &call->session, &plan, result, error);
    if (status != ESP_OK)
        return status;
    struct session *session = *result;
    status = states_check(server->states, session, error);
    if (status == ESP_OK && plan.data)
        status = server_operands_create(server, session, &plan, from, error);
    if (status != ESP_OK) {
        session_detach(&server->sessions, session);
        session_free(&server->sessions, session);
        *result = NULL;
        return status;
    }
    session->shelf = server->shelf;
    server->shelf->users++;
    session->arrived_ns = session->heard_ns = server_now(server);
    session->deadline_ns = deadline(session->arrived_ns, call->time_left_ms);
    session->alone_s = cost.compute_s;
    session->ground = cost.ground;
    session->forecast_s = choice.proposal.seconds;
    session->detached = extension_find(&call->extensions, EXTENSION_DETACHED) != NULL;
    session->bulk |= extension_find(&call->extensions, EXTENSION_LENDS) != NULL;
    server_checkpoint_begin(server, session, call);
    trace_note_again(&server->duty.trace, &session->id, &call->extensions, session->arrived_ns);
    session->attended = call->patience_ms > 0;
    session->state = SESSION_WAITING;
    DL_APPEND2(server->sessions.active, session, prev_active, next_active);
    server_work_comes(server);
    server->sessions.stashed_bytes += session->stash_bytes;
    session->call_bytes = plan.reserve_bytes;
    session->memory.bytes =
        with_routine(server, plan.reserve_bytes, beside_call(&plan, &choice, cost.memory_bytes));
    if (job) {
        server_job_begins(server, session);
        uint64_t owner[2];
        if (call_owner(call, owner))
            session_share(&server->sessions, session, owner);
    }
    log_accepted(server, session);
    server_load_changed(server, session->forecast_s);
    if (admission_request(&server->admission, &session_share_of(session)->memory, &session->memory,
                          session->memory.bytes) == ADMISSION_GRANTED) {
        admitted(server, session);
    } else {
        server->sessions.waiting++;
        server_set_timer(server, session);
    }
    return ESP_OK;
}

static enum esp_status begin(struct server *server, struct call *from, const struct call_request *call,
                             struct client *client, struct session **session, struct esp_error *error)
{
    const struct problem *problem = server_find_problem(server, call->problem, call->digest, error);
    if (!problem)
        return error->status;
    enum esp_status status = server_takes_sessions(server, error);
    if (status == ESP_OK)
        status = check_limits(server, call, client, error);
    if (status == ESP_OK)
        status = open_session(server, client, from, call, problem, session, error);
    return status;
}

void server_on_call(struct server *server, struct call *call, const struct message *request)
{
    const struct call_request *asked = &request->call;
    struct esp_error error;
    struct session *session = NULL;
    struct client *client = client_get(&server->sessions, asked->session.client_high,
                                       asked->session.client_low, server_now(server));
    if (!client) {
        call_reply(call, NULL);
        return;
    }
    promises_keep(server->promises, &asked->session);
    promises_mark(server->promises, asked->master, asked->placement);
    server_data_client_seen(server->data, client->key);
    enum esp_status status = check_identity(server, asked, client, &error);
    if (status == ESP_OK) {
        server_acknowledge(server, client, asked->oldest_unacknowledged);
        server_acknowledge_open(server, client, &asked->extensions);
        /* The call is repeated: the session goes on as it was. */
        if (session_find(&server->sessions, &asked->session)) {
            session = server_find_session(server, &asked->session, &error);
            status = session ? ESP_OK : error.status;
        } else {
            status = begin(server, call, asked, client, &session, &error);
        }
    }
    if (session)
        session->attended = false;
    if (status == ESP_OK)
        server_wait_for(server, session, call, asked->patience_ms);
    else
        refuse(server, call, &asked->session, MESSAGE_CALL_REPLY, &error);
}

/* ---- run ---- */

enum esp_status server_make_ready(struct server *server, struct session *session, struct esp_error *error)
{
    enum esp_status status = session_is_complete(session, error);
    if (status != ESP_OK)
        return status;
    const bool first = session->gathered_ns == 0;
    if (session->operands && first)
        session->gathered_ns = server_now(server);
    if (!server_operands_step(server, session) || session->moving > 0) {
        /* A datum is on its way, or a repeated chunk: arguments must not change while the routine runs. */
        session->run_asked = true;
        if (!session_has_ended(session))
            server_set_timer(server, session);
        return ESP_OK;
    }
    if (session->state != SESSION_RECEIVING)
        return ESP_OK; /* it has gone on meanwhile */
    if (session->operands && session->fetched_ns == 0)
        session->fetched_ns = first ? session->gathered_ns : server_now(server);
    struct esp_error wrong;
    enum esp_status contents = server_check_contents(server, session, &wrong);
    if (contents == ESP_PENDING) {
        session->run_asked = true;
        return ESP_OK;
    }
    if (contents != ESP_OK) {
        server_end_session(server, session, SESSION_FAILED, &wrong);
        return ESP_OK; /* the error is the session's outcome */
    }
    session_trim_texts(session);
    server->sessions.receiving--;
    session->state = SESSION_QUEUED;
    session->ready_ns = server_now(server);
    if (server_checkpoint_fetch(server, session)) {
        server_set_timer(server, session);
        return ESP_OK;
    }
    queue_push(&server->queue, &session_share_of(session)->run, &session->queued);
    queue_start(&server->queue);
    if (session->state == SESSION_QUEUED)
        server_set_timer(server, session);
    return ESP_OK;
}

void server_on_run(struct server *server, struct call *call, const struct message *request)
{
    const struct run *run = &request->run;
    struct esp_error error;
    struct session *session = server_find_session(server, &run->session, &error);
    enum esp_status status = session ? ESP_OK : error.status;
    if (status == ESP_OK && session->state == SESSION_WAITING)
        status = error_set(&error, ESP_INVALID, "%s: run came before the server had memory for the arguments",
                           session->problem->name);
    if (status == ESP_OK && session->state == SESSION_RECEIVING) {
        session->attended = run->patience_ms > 0;
        status = server_make_ready(server, session, &error);
        session->attended = false;
    }
    if (status == ESP_OK)
        server_wait_for(server, session, call, run->patience_ms);
    else
        refuse(server, call, &run->session, MESSAGE_CALL_REPLY, &error);
}

void server_on_cancel(struct server *server, struct call *call, const struct message *request)
{
    struct esp_error error;
    struct session *session = server_find_session(server, &request->cancel.session, &error);
    if (!session) {
        refuse(server, call, &request->cancel.session, MESSAGE_DONE_REPLY, &error);
        return;
    }
    if (!session_has_ended(session))
        server_stop_session(server, session, ESP_CANCELLED);
    else if (!session->detached) /* for a job it means that the result is not needed any more */
        states_give_up(server->states, session);
    call_reply(call, message_create(MESSAGE_DONE_REPLY));
}

/* ---- what the session has been waiting for is there ---- */

static void on_proceeds(struct server *server, struct session *session)
{
    if (!session_has_ended(session) && session->state == SESSION_RECEIVING && session->run_asked)
        server_make_ready(server, session, NULL);
    else if (session->state == SESSION_RECEIVING)
        server_operands_step(server, session);
}

const struct session_observer call_observer = {.proceeds = on_proceeds};
