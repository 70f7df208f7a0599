/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiters: calls that are answered when there is news of a session, and the reports that they get.
 */
#include "core/choice/terms.h"
#include "sed/server/server_operands.h"
#include "sed/server/server_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct waiters {
    struct waiter *free;
    struct waiter *all; /* all that were made */
};

/* Inline results of one answer: well below the largest message. */
#define MOST_INLINE (4u << 20)
/* A poll is answered after so long at the latest, whatever its patience. */
#define MOST_PATIENCE_MS 600000
/* The transport checks once a second whether the asker is there; after twice that time its death was noticed.
 */
#define BRIEF_MS 2000

/* ---- how a session stands ---- */

static bool add_result(const struct server *server, const struct session *session, uint32_t index,
                       struct arena *arena, uint64_t *budget, struct call_result *result)
{
    const struct job_argument *argument = &session->job.arguments[index];
    *result = (struct call_result){.index = index, .kind = KIND_BULK, .bytes = argument->bytes};
    const struct datum_id *datum = operands_result(session, index);
    if (datum) {
        char text[DATUM_TEXT];
        result->kind = KIND_DATUM;
        result->length = (uint32_t)strlen(datum_id_text(datum, text));
        return (result->data = arena_memdup(arena, text, result->length)) != NULL;
    }
    if (session->arguments[index].was_lent && !argument->data)
        return true; /* the result is in the client's memory already */
    if (argument->bytes > server->options.inline_bytes || argument->bytes > *budget)
        return true;
    result->kind = KIND_INLINE;
    result->length = (uint32_t)argument->bytes;
    *budget -= argument->bytes;
    /* Copied: the answer may leave after the client has acknowledged the session. */
    return argument->bytes == 0 || (result->data = arena_memdup(arena, argument->data, argument->bytes));
}

static bool is_result(const struct session *session, uint32_t index)
{
    return argument_is_output(&session->problem->arguments[index]) &&
           session->arguments[index].kind != KIND_ABSENT;
}

static bool add_results(const struct server *server, const struct session *session, struct arena *arena,
                        uint64_t *budget, struct session_report *report)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < session->problem->n_arguments; i++)
        n += is_result(session, i);
    if (n == 0)
        return true;
    report->results = arena_alloc(arena, n * sizeof *report->results);
    for (uint32_t i = 0; report->results && i < session->problem->n_arguments; i++)
        if (is_result(session, i) &&
            !add_result(server, session, i, arena, budget, &report->results[report->n_results++]))
            return false;
    return report->results;
}

static uint32_t ahead(const struct server *server, const struct session *session)
{
    if (session->state == SESSION_QUEUED && session->aside)
        return 0; /* except sessions that work on its state */
    if (session->state == SESSION_QUEUED)
        return queue_ahead(&server->queue, &session->queued);
    return admission_ahead(&server->admission, &session->memory);
}

/* The server does not have the session any more for its client: it shuts down, or has given it back. */
static bool is_gone(const struct session *session)
{
    return session->cut_short && session_has_ended(session);
}

/* A session that only waits for its data is reported as queued, as the client has nothing to do. */
static enum session_state told_state(const struct session *session)
{
    if (is_gone(session))
        return SESSION_UNKNOWN;
    bool waits = session->state == SESSION_RECEIVING && (session->run_asked || !session->bulk);
    return waits ? SESSION_QUEUED : session->state;
}

static bool fill_report(struct server *server, struct session *session, struct arena *arena, uint64_t *budget,
                        struct session_report *report)
{
    *report = (struct session_report){.sequence = session->id.sequence, .state = told_state(session)};
    report->outcome.status = session_has_ended(session) ? session->error.status : ESP_PENDING;
    report->outcome.text = "";
    const int64_t sent_ns = session->gathered_ns ? session->gathered_ns : session->ready_ns;
    const double fetch_s =
        session->gathered_ns ? server_seconds(session->gathered_ns, session->fetched_ns) : 0;
    report->timings = (struct session_timings){
        .wait_s = server_seconds(session->arrived_ns, session->admitted_ns),
        .transfer_s = session->bulk ? server_seconds(session->admitted_ns, sent_ns) : 0,
        .queue_s = server_seconds(session->ready_ns, session->started_ns),
        .compute_s = session->compute_s,
        .forecast_s = session->forecast_s,
    };
    if (fetch_s > 0 && !terms_add_real(&report->extensions, EXTENSION_FETCH_TIME, fetch_s, arena))
        return false;
    if (session->ranks.rows > 0 && !session_ranks_put(&session->ranks, &report->extensions, arena))
        return false;
    if (is_gone(session) && !session->begun &&
        !extension_add(&report->extensions, EXTENSION_UNBEGUN, "", 0, arena))
        return false;
    if (is_gone(session) && duty_is_back_soon(&server->duty) &&
        !extension_add(&report->extensions, EXTENSION_AWAITED, "", 0, arena))
        return false;
    if (session->state == SESSION_WAITING || session->state == SESSION_QUEUED)
        report->ahead = ahead(server, session);
    if (session_has_ended(session))
        server_trace_told(server, session);
    if (session_has_ended(session) && session->error.text[0] &&
        !(report->outcome.text = arena_strdup(arena, session->error.text)))
        return false;
    return session->state != SESSION_DONE || (operands_add_edges(session, &report->extensions, arena) &&
                                              add_results(server, session, arena, budget, report));
}

bool server_fill_session(struct server *server, struct session *session, struct arena *arena,
                         struct session_report *report)
{
    uint64_t budget = MOST_INLINE;
    return fill_report(server, session, arena, &budget, report);
}

static struct message *call_answer(struct server *server, struct session *session)
{
    struct message *reply = message_create(MESSAGE_CALL_REPLY);
    uint64_t budget = MOST_INLINE;
    if (reply && fill_report(server, session, &reply->arena, &budget, &reply->call_reply.session))
        return reply;
    message_destroy(reply);
    return NULL;
}

static struct message *answer_waiter(const struct waiter *waiter)
{
    return call_answer(waiter->server, waiter->session);
}

/* ---- waiters ---- */

static struct waiter *waiter_take(struct server *server)
{
    struct waiter *waiter = server->waiters->free;
    if (waiter)
        DL_DELETE(server->waiters->free, waiter);
    else if ((waiter = calloc(1, sizeof *waiter))) {
        waiter->server = server;
        waiter->next_made = server->waiters->all;
        server->waiters->all = waiter;
    }
    return waiter;
}

static void waiter_give(struct server *server, struct waiter *waiter)
{
    timers_cancel(&server->timers, &waiter->patience);
    atomic_store(&waiter->job_id, 0);
    waiter->call = NULL;
    waiter->session = NULL;
    waiter->client = NULL;
    waiter->follows = waiter->collects = false;
    waiter->answering = 0;
    /* Put behind the others, so that a thread that reads it once more finds nothing to wait for. */
    DL_APPEND(server->waiters->free, waiter);
}

struct waiter *server_take_waiter(struct server *server, struct session *session, struct call *call,
                                  int64_t until_ns, struct message *(*answer)(const struct waiter *waiter))
{
    struct waiter *waiter = waiter_take(server);
    if (!waiter)
        return NULL;
    waiter->call = call;
    waiter->session = session;
    waiter->until_ns = until_ns;
    waiter->answer = answer;
    DL_APPEND(session->waiters, waiter);
    call_set_data(call, waiter);
    return waiter;
}

struct call *server_dissolve_waiter(struct waiter *waiter)
{
    struct call *call = waiter->call;
    if (waiter->session)
        DL_DELETE(waiter->session->waiters, waiter);
    else
        waiter->client->await = NULL;
    waiter_give(waiter->server, waiter);
    return call;
}

static void answer_await(struct waiter *waiter, struct session *news)
{
    struct server *server = waiter->server;
    struct message *reply = message_create(MESSAGE_AWAIT_REPLY);
    uint64_t budget = MOST_INLINE;
    if (reply && news) {
        reply->await_reply.sessions = arena_alloc(&reply->arena, sizeof *reply->await_reply.sessions);
        if (!reply->await_reply.sessions ||
            !fill_report(server, news, &reply->arena, &budget, reply->await_reply.sessions)) {
            message_destroy(reply);
            reply = NULL;
        } else {
            reply->await_reply.n_sessions = 1;
        }
    }
    call_reply(server_dissolve_waiter(waiter), reply);
}

static void patience_over(struct timer *timer, int64_t now_ns, void *context)
{
    struct waiter *waiter = (struct waiter *)((char *)timer - offsetof(struct waiter, patience));
    (void)now_ns;
    /* The client may be dead. A living client asks again at once. */
    if (waiter->brief)
        server_client_lost(context, waiter->client ? waiter->client : waiter->session->client);
    if (waiter->client) {
        answer_await(waiter, NULL);
    } else {
        struct message *reply = call_answer(context, waiter->session);
        call_reply(server_dissolve_waiter(waiter), reply);
    }
}

static bool set_patience(struct server *server, struct waiter *waiter, uint64_t patience_ms)
{
    if (patience_ms > MOST_PATIENCE_MS)
        patience_ms = MOST_PATIENCE_MS;
    waiter->brief = patience_ms <= BRIEF_MS;
    waiter->until_ns = server_now(server) + (int64_t)patience_ms * NS_PER_MS;
    waiter->patience.fire = patience_over;
    waiter->patience.context = server;
    return timers_set(&server->timers, &waiter->patience, waiter->until_ns, NULL) == ESP_OK;
}

/* Runs in the thread that brought the call, without the lock. Waiters are not freed while the endpoint is
 * open. If the waiter serves another call by now, this waits for the worker of that call, which does no harm.
 */
static bool help(void *arg, int64_t until_ns)
{
    struct waiter *waiter = arg;
    struct workers *workers = waiter->server->workers;
    uint64_t job_id = atomic_load(&waiter->job_id);
    if (job_id == 0)
        return false;
    bool patient = until_ns <= waiter->until_ns;
    bool going_on = workers->ops->help(workers, job_id, patient ? until_ns : waiter->until_ns);
    /* After the patience the tick answers; returning true would spin until then. */
    return going_on && patient;
}

bool server_has_news(const struct session *session)
{
    return session_has_ended(session) ||
           (session->state == SESSION_RECEIVING && session->bulk && !session->run_asked);
}

void server_wait_for(struct server *server, struct session *session, struct call *call, uint64_t patience_ms)
{
    struct waiter *waiter = NULL;
    if (!server_has_news(session) && patience_ms > 0)
        waiter = waiter_take(server);
    if (waiter && !set_patience(server, waiter, patience_ms)) {
        waiter_give(server, waiter);
        waiter = NULL;
    }
    if (!waiter) {
        call_reply(call, call_answer(server, session));
        return;
    }
    waiter->call = call;
    waiter->session = session;
    waiter->answer = answer_waiter;
    DL_APPEND(session->waiters, waiter);
    call_set_data(call, waiter);
    if (session->state == SESSION_RUNNING) {
        atomic_store(&waiter->job_id, session->job.id);
        call_set_help(call, help, waiter);
    }
}

static void on_changed(struct server *server, struct session *session)
{
    (void)server;
    while (session->waiters && server_has_news(session)) {
        struct message *reply = session->waiters->answer(session->waiters);
        call_reply(server_dissolve_waiter(session->waiters), reply);
    }
    if (session->client && session->client->await && session->awaited && server_has_news(session))
        answer_await(session->client->await, session);
}

static void on_forgotten(struct server *server, struct session *session)
{
    char text[SESSION_TEXT];
    (void)server;
    if (!session->waiters)
        return;
    session_id_text(&session->id, text);
    while (session->waiters) {
        enum message_kind kind = session->waiters->follows ? MESSAGE_FOLLOW_REPLY : MESSAGE_CALL_REPLY;
        call_reply(server_dissolve_waiter(session->waiters),
                   message_failure(kind, ESP_NOT_FOUND,
                                   "session %s was acknowledged or dropped while it was waited for", text));
    }
}

const struct session_observer await_observer = {.changed = on_changed, .forgotten = on_forgotten};

void server_abandoned(struct server *server, struct call *call)
{
    struct waiter *waiter = call_data(call);
    if (!waiter)
        return;
    server_client_lost(server, waiter->client ? waiter->client : waiter->session->client);
    server_dissolve_waiter(waiter);
}

/* ---- await ---- */

static void report_unknown(const struct server *server, const struct await *await, uint32_t index,
                           struct arena *arena, struct session_report *report)
{
    char text[256];
    snprintf(text, sizeof text, "server %s has no session %llu of this client (any more)", server->name,
             (unsigned long long)await->sessions[index].sequence);
    const char *copy = arena_strdup(arena, text);
    *report = (struct session_report){.sequence = await->sessions[index].sequence,
                                      .state = SESSION_UNKNOWN,
                                      .outcome = {.status = ESP_NOT_FOUND, .text = copy ? copy : ""}};
}

/* Adds the sessions with news. False without memory. */
static bool gather(struct server *server, const struct await *await, struct message *reply)
{
    struct await_reply *to = &reply->await_reply;
    uint64_t budget = MOST_INLINE;
    to->sessions = arena_alloc(&reply->arena, await->n_sessions * sizeof *to->sessions);
    if (!to->sessions)
        return false;
    for (uint32_t i = 0; i < await->n_sessions && budget > 0; i++) {
        struct session_id id = {.client_high = await->client_high,
                                .client_low = await->client_low,
                                .sequence = await->sessions[i].sequence,
                                .secret = await->sessions[i].secret};
        struct session *session = session_find(&server->sessions, &id);
        if (!session || session->id.secret != id.secret) {
            report_unknown(server, await, i, &reply->arena, &to->sessions[to->n_sessions++]);
            continue;
        }
        session->heard_ns = server_now(server);
        session->awaited = true;
        if (server_has_news(session) &&
            !fill_report(server, session, &reply->arena, &budget, &to->sessions[to->n_sessions++]))
            return false;
    }
    return true;
}

static void begin_await(struct server *server, struct client *client, struct call *call, uint64_t patience_ms,
                        struct message *reply)
{
    struct waiter *waiter = waiter_take(server);
    if (!waiter || !set_patience(server, waiter, patience_ms)) {
        if (waiter)
            waiter_give(server, waiter);
        call_reply(call, reply);
        return;
    }
    message_destroy(reply);
    waiter->call = call;
    waiter->client = client;
    client->await = waiter;
    call_set_data(call, waiter);
}

/* A new poll ends the one that waits. A call that only acknowledges does not. */
static void end_await(struct client *client)
{
    struct session *session;
    if (client->await)
        answer_await(client->await, NULL);
    DL_FOREACH(client->sessions, session)
    session->awaited = false;
}

void server_on_await(struct server *server, struct call *call, const struct message *request)
{
    const struct await *await = &request->await;
    struct client *client = client_find(&server->sessions, await->client_high, await->client_low);
    struct message *reply = message_create(MESSAGE_AWAIT_REPLY);
    if (client) {
        server_client_heard(server, client);
        server_data_client_seen(server->data, client->key);
        if (await->n_sessions > 0)
            end_await(client);
        server_acknowledge(server, client, await->oldest_unacknowledged);
    }
    if (reply && await->n_sessions > 0 && !gather(server, await, reply)) {
        message_destroy(reply);
        reply = NULL;
    }
    if (reply && client && reply->await_reply.n_sessions == 0 && await->n_sessions > 0 &&
        await->patience_ms > 0)
        begin_await(server, client, call, await->patience_ms, reply);
    else
        call_reply(call, reply);
}

bool server_waiters_create(struct server *server)
{
    return (server->waiters = calloc(1, sizeof *server->waiters));
}

/* Also frees waiters of calls without an answer: their transport is gone. */
void server_waiters_destroy(struct server *server)
{
    while (server->waiters && server->waiters->all) {
        struct waiter *waiter = server->waiters->all;
        server->waiters->all = waiter->next_made;
        free(waiter);
    }
    free(server->waiters);
}
