/* SPDX-License-Identifier: Apache-2.0
 *
 * The load of the server, as agents hear of it: placements, when slots will be free, the record, answers.
 */
#include "core/choice/aggregate.h"
#include "sed/server/server_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* A session that takes longer than forecast is expected to take as long again, and so are waiting sessions of
 * the same problem: without declared work there is no other forecast. Agents hear of it each time that this
 * proves wrong, first after so long. */
#define OVERDUE_NS (20 * NS_PER_MS)
#define TOLD_AGAIN 4 /* agents hear of it again after the time that it has taken, divided by this */

/* ---- promises ---- */

static void promises_changed(void *arg, uint32_t n)
{
    server_work_promised(arg, n);
}

static void promise_expired(void *arg, double seconds)
{
    server_load_changed(arg, seconds);
}

bool server_promises_create(struct server *server)
{
    const struct promises_options options = {.clock = server->options.clock,
                                             .timers = &server->timers,
                                             .changed = promises_changed,
                                             .expired = promise_expired,
                                             .arg = server};
    return promises_create(&options, &server->promises);
}

void server_promises_destroy(struct server *server)
{
    promises_destroy(server->promises);
}

/* Whether the session has called before its placement was announced. */
static bool has_called(struct server *server, const struct session_id *id)
{
    const struct client *client = client_find(&server->sessions, id->client_high, id->client_low);
    return session_find(&server->sessions, id) || (client && id->sequence < client->floor);
}

void server_on_place(struct server *server, struct membership *tie, const struct place *place)
{
    double seconds = 0;
    for (uint32_t i = 0; i < place->n; i++) {
        const struct placement *placement = &place->items[i];
        if (strcmp(placement->server, server->name) != 0)
            continue;
        if (!has_called(server, &placement->session))
            promises_add(server->promises, placement);
        const int64_t now_ns = server_now(server);
        trace_note(&server->duty.trace, &placement->session, TRACE_PROMISED, now_ns, now_ns, "");
        promises_mark(server->promises, placement->master, placement->number);
        seconds += placement->seconds;
    }
    tie_load_changed(tie, seconds);
}

/* ---- when slots will be free ---- */

static double counted_s(const struct session *session)
{
    return estimate_count_s(session->forecast_s, session->ground);
}

/* The forecast of a waiting session, corrected by calls of its problem that have ended since. */
static double counted_now_s(const struct server *server, const struct session *session)
{
    const bool by_calls = session->ground == COST_NOT_MEASURED || session->ground == COST_CALLED;
    const struct problem_speed *called =
        by_calls ? problem_speed_find(&server->speed.called, session->problem->digest) : NULL;
    return called ? (ESTIMATE_CALL_S + problem_speed_s(called, session->work_flop)) *
                        problem_slowdown(called->waits, server_weather(server)->forecast)
                  : counted_s(session);
}

static double remaining_s(const struct session *session, int64_t now_ns)
{
    double taken_s = server_seconds(session->started_ns, now_ns);
    if (taken_s > session->forecast_s)
        return fmax(taken_s, counted_s(session) - taken_s);
    return counted_s(session) - taken_s;
}

/* The forecast of a session that has not started, given how long running sessions of its problem have taken.
 */
static double expected_s(const struct server *server, const struct session *session, int64_t now_ns)
{
    double expected = counted_now_s(server, session);
    for (uint32_t i = 0; i < server->options.slots; i++) {
        const struct session *other = server->slots.all[i].session;
        if (!other || other->problem != session->problem || other->forecast_s < session->forecast_s)
            continue;
        double taken_s = server_seconds(other->started_ns, now_ns);
        if (taken_s > other->forecast_s && taken_s > expected)
            expected = taken_s;
    }
    return expected;
}

static void overdue(struct timer *timer, int64_t now_ns, void *context)
{
    struct server *server = context;
    int64_t next_ns = CLOCK_NEVER;
    bool news = false;
    (void)timer;
    for (uint32_t i = 0; i < server->options.slots; i++) {
        const struct session *session = server->slots.all[i].session;
        if (!session)
            continue;
        int64_t taken_ns = now_ns - session->started_ns, due_ns = OVERDUE_NS;
        int64_t forecast_ns =
            session->forecast_s < 1e9 ? (int64_t)(session->forecast_s * 1e9) : (int64_t)1e18;
        news |= taken_ns >= OVERDUE_NS && taken_ns > forecast_ns;
        if (forecast_ns > due_ns)
            due_ns = forecast_ns + NS_PER_MS;
        /* Agents take the server for idle when the forecast that they have is nearly over. */
        if (taken_ns >= due_ns)
            due_ns = taken_ns + taken_ns / TOLD_AGAIN;
        if (session->started_ns + due_ns < next_ns)
            next_ns = session->started_ns + due_ns;
    }
    if (news)
        server_load_changed(server, SERVER_SOON_S);
    if (next_ns != CLOCK_NEVER)
        timers_set(&server->timers, &server->overdue, next_ns, NULL);
}

void server_load_started(struct server *server)
{
    int64_t due_ns = server_now(server) + OVERDUE_NS;
    if (timer_is_set(&server->overdue) && server->overdue.due_ns <= due_ns)
        return;
    server->overdue.fire = overdue;
    server->overdue.context = server;
    timers_set(&server->timers, &server->overdue, due_ns, NULL);
}

struct placing {
    struct load *load;
    int64_t now_ns;
};

static void place_promised(void *arg, double seconds)
{
    const struct placing *placing = arg;
    load_place(placing->load, seconds, placing->now_ns);
}

/* The load by running, waiting and promised sessions. */
static enum esp_status compute_load(const struct server *server, struct load *load, int64_t now_ns)
{
    double *free_in_s = calloc(server->options.slots, sizeof *free_in_s);
    if (!free_in_s)
        return ESP_NO_MEMORY;
    for (uint32_t i = 0; i < server->options.slots; i++)
        if (server->slots.all[i].session)
            free_in_s[i] = remaining_s(server->slots.all[i].session, now_ns);
    enum esp_status status = load_set(load, free_in_s, server->options.slots, now_ns);
    free(free_in_s);
    if (status != ESP_OK)
        return status;
    const struct session *session;
    DL_FOREACH2(server->sessions.active, session, next_active)
    {
        if (session->state != SESSION_RUNNING)
            load_place(load, expected_s(server, session, now_ns), now_ns);
    }
    promises_each(server->promises, place_promised, &(struct placing){load, now_ns});
    return ESP_OK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool fill_free_in(const struct server *server, struct arena *arena, struct node_record *record)
{
    struct load load = {0};
    int64_t now_ns = server_now(server);
    record->free_in_s = arena_alloc(arena, server->options.slots * sizeof *record->free_in_s);
    if (!record->free_in_s || compute_load(server, &load, now_ns) != ESP_OK) {
        load_release(&load);
        return false;
    }
    for (uint32_t i = 0; i < load.slots; i++)
        record->free_in_s[i] = load.free_at_ns[i] > now_ns ? (double)(load.free_at_ns[i] - now_ns) / 1e9 : 0;
    record->n_free_in = load.slots;
    qsort(record->free_in_s, record->n_free_in, sizeof *record->free_in_s, by_value);
    load_release(&load);
    return true;
}

/* ---- the record ---- */

static uint32_t computing(const struct server *server)
{
    return server->slots.running - (server_measures(server) ? 1 : 0);
}

static uint32_t in_line(const struct server *server)
{
    return server->queue.length + server->sessions.waiting + server->sessions.receiving;
}

static struct node_record *make_record(const struct server *server, struct arena *arena)
{
    struct node_record *record = arena_alloc(arena, sizeof *record);
    if (!record)
        return NULL;
    uint32_t n_marks;
    const struct placement_mark *marks = promises_marks(server->promises, &n_marks);
    const char *parent = membership_parent_name(server->membership);
    *record = (struct node_record){
        .name = server->name,
        .parent = parent ? parent : "",
        .address = endpoint_address(server->endpoint),
        .role = ROLE_SERVER,
        .incarnation = server->options.incarnation,
        .draining = server->stage.draining,
        .link = *server_link(server),
        .catalog = server->shelf->digest,
        .speed_flops = server->speed.measured,
        .slots = server->options.slots,
        .threads = server->options.threads,
        .queued = in_line(server),
        .running = computing(server),
        .memory_total = server->admission.total,
        .memory_free = server_memory_free(server),
        .completed = server->totals.done,
        .failed = server->totals.failed,
        .marks = arena_memdup(arena, marks, n_marks * sizeof *marks),
        .n_marks = n_marks,
    };
    if (!record->marks)
        record->n_marks = 0;
    return fill_free_in(server, arena, record) && server_tell_terms(server, arena, record) ? record : NULL;
}

void server_fill_report(void *self, bool complete, struct message *message)
{
    struct server *server = self; /* there is one record, which every report has */
    struct node_record *record = make_record(server, &message->arena);
    if (!record || !server_tell_models(server, complete, &message->arena, record) ||
        !server_tell_speeds(server, complete, &message->arena, record) ||
        !server_tell_links(server, complete, &message->arena, record) ||
        !server_tell_disabled(server, complete, &message->arena, record))
        return;
    message->report.records = record;
    message->report.n_records = 1;
    server_data_report(server->data, complete, message);
}

bool server_more_to_report(void *self)
{
    const struct server *server = self;
    return server_data_has_news(server->data);
}

void server_on_tree(struct server *server, struct call *call, const struct tree *tree)
{
    if (tree->node[0] && strcmp(tree->node, server->name) != 0) {
        call_reply(call, message_failure(MESSAGE_TREE_REPLY, ESP_NOT_FOUND,
                                         "there is no node \"%s\" at or below server %s", tree->node,
                                         server->name));
        return;
    }
    struct message *reply = message_create(MESSAGE_TREE_REPLY);
    if (reply) {
        struct node_record *record = make_record(server, &reply->arena);
        const bool whole = record && server_count_disabled(server, &reply->arena, record);
        reply->tree_reply.records = record;
        reply->tree_reply.n_records = whole ? 1 : 0;
    }
    call_reply(call, reply);
}

/* ---- asked for an estimate ---- */

static bool is_excluded(const struct server *server, const struct request *request)
{
    if (request->server[0] && strcmp(request->server, server->name) != 0)
        return true;
    for (uint32_t i = 0; i < request->n_excluded; i++)
        if (strcmp(request->excluded[i], server->name) == 0)
            return true;
    return false;
}

static bool estimate(const struct server *server, const struct request *request, struct arena *arena,
                     struct server_estimate *estimate)
{
    struct standing standing = {
        .line = (double)(computing(server) + in_line(server) + promises_count(server->promises)) /
                server->options.slots,
        .memory_free = server_memory_free(server),
    };
    struct load load = {0};
    int64_t now_ns = server_now(server);
    struct esp_error why;
    const struct problem *problem = server_find_problem(server, request->problem, request->digest, NULL);
    if (server->stage.draining || is_excluded(server, request) ||
        request->memory_bytes > server->admission.total || !problem ||
        server_can_now(server, problem, &why) != ESP_OK || compute_load(server, &load, now_ns) != ESP_OK) {
        load_release(&load);
        return false;
    }
    *estimate = (struct server_estimate){.server = server->name,
                                         .address = endpoint_address(server->endpoint),
                                         .incarnation = server->options.incarnation};
    struct request_cost cost;
    const struct computer computer = server_computer(server);
    estimate_cost(request, &computer, &cost);
    bool whole = cost.memory_bytes <= server->admission.total && server_accepts(server, request, &cost) &&
                 estimate_fill(estimate, request, &computer, &load, &standing, now_ns, arena);
    load_release(&load);
    return whole;
}

void server_on_ask(struct server *server, const struct membership *tie, const struct envelope *envelope,
                   const struct ask *ask)
{
    const char *parent = membership_parent_name(tie);
    if (!parent || strcmp(parent, envelope->from) != 0)
        return; /* the sender is not the parent, so there is no address for the answer */
    struct server_estimate own;
    struct message message = {.kind = MESSAGE_ANSWER};
    message.answer.id = ask->id;
    message.answer.outcome.text = "";
    message.answer.response.name = server->name;
    const int64_t now_ns = server_now(server);
    trace_note(&server->duty.trace, &ask->request.session, TRACE_ASKED, now_ns, now_ns, "itself");
    if (estimate(server, &ask->request, &message.arena, &own)) {
        message.answer.response.servers = &own;
        message.answer.response.n_servers = message.answer.response.capable = 1;
    }
    server_data_answer(server->data, &ask->request, envelope->identity && *envelope->identity, &message);
    endpoint_post(server->endpoint, membership_parent_address(tie), membership_parent_incarnation(tie),
                  &message, NULL);
    arena_clear(&message.arena);
}
