/* SPDX-License-Identifier: Apache-2.0
 *
 * The server: its parts, and the messages and ticks that it hands to them.
 */
#include "sed/sessions/printed.h"
#include "sed/server/server_operands.h"
#include "sed/server/server_state.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define JOB_LEASE_NS     (86400 * NS_PER_S)
#define ORPHAN_LEASE_NS  (15 * NS_PER_S)
#define RECEIVE_LEASE_NS (60 * NS_PER_S)
#define STATE_LEASE_NS   (600 * NS_PER_S)
#define PLAIN_LOOP_S     0.010
#define MOST_LOGGED      65536 /* bytes of one session's output */

/* ---- messages ---- */

/* `tie`: the tie to the sender. */
static void from_parent(struct server *server, struct membership *tie, const struct envelope *envelope,
                        const struct message *message)
{
    switch (message->kind) {
    case MESSAGE_ORDER:
        server_on_order(server, tie, envelope, &message->order);
        break;
    case MESSAGE_ASK:
        server_on_ask(server, tie, envelope, &message->ask);
        break;
    case MESSAGE_PLACE:
        server_on_place(server, tie, &message->place);
        break;
    case MESSAGE_WANT:
        server_on_want(server, tie, &message->want);
        break;
    default:
        log_warning("ignored: a %s from %s (%s)", message_name(message->kind), envelope->from,
                    envelope->peer ? envelope->peer : "");
    }
}

/* A node has the address of this server for its parent. */
static void refuse_child(struct server *server, const struct envelope *envelope, const struct hello *hello)
{
    char why[CAP_NAME + 100];
    const struct extension *ticket = extension_find(&hello->extensions, EXTENSION_TICKET);
    if (!*hello->address)
        return;
    snprintf(why, sizeof why, "%s is a server and has nobody below it: expected the address of an agent",
             server->name);
    struct message welcome = {.kind = MESSAGE_WELCOME,
                              .welcome = {.outcome = {ESP_REFUSED, why},
                                          .minor = message_minor(hello->minor),
                                          .role = ROLE_SERVER,
                                          .extensions = {(struct extension *)ticket, ticket ? 1 : 0}}};
    server_post(server, hello->address, envelope->from_incarnation, &welcome);
}

static void on_post(void *self, const struct envelope *envelope, const struct message *message)
{
    struct server *server = self;
    if (message->kind == MESSAGE_HELLO) {
        refuse_child(server, envelope, &message->hello);
        return;
    }
    duty_post(&server->duty, envelope, message);
    if (membership_post(server->membership, envelope, message))
        return;
    /* While this server moves to another parent, the old parent still gets answers. */
    struct membership *old = handover_speaker(&server->duty.handover, envelope);
    from_parent(server, old ? old : server->membership, envelope, message);
}

static void on_undelivered(void *self, const char *address, const struct esp_error *why)
{
    struct server *server = self;
    if (why->status == ESP_TIMEOUT)
        return; /* the peer is connected and slow; the membership has a patience for silence */
    duty_undelivered(&server->duty, address, why);
    membership_undelivered(server->membership, address, why);
}

static void on_hung_up(void *self, const struct envelope *from)
{
    struct server *server = self;
    membership_hung_up(server->membership, from);
}

static void on_greet(struct server *server, struct call *call, const struct greet *greet)
{
    struct message *reply = message_create(MESSAGE_GREET_REPLY);
    if (reply) {
        uint32_t minor = greet->minor;
        reply->greet_reply.minor = minor > CONTRACT_MINOR ? CONTRACT_MINOR : minor;
        reply->greet_reply.name = server->name;
        reply->greet_reply.role = ROLE_SERVER;
        reply->greet_reply.incarnation = server->options.incarnation;
    }
    call_reply(call, reply);
}

static void set_endpoint(struct server *server, struct endpoint *endpoint)
{
    server->endpoint = endpoint;
    server_data_start(server->data, endpoint);
}

static void on_call(void *self, struct call *call, const struct message *request)
{
    struct server *server = self;
    if (!server->endpoint) /* a call may come before server_start() */
        set_endpoint(server, call->endpoint);
    if (server_data_on_call(server->data, call, request))
        return;
    switch (request->kind) {
    case MESSAGE_CALL:
        server_on_call(server, call, request);
        break;
    case MESSAGE_RUN:
        server_on_run(server, call, request);
        break;
    case MESSAGE_AWAIT:
        server_on_await(server, call, request);
        break;
    case MESSAGE_FOLLOW:
        server_on_follow(server, call, request);
        break;
    case MESSAGE_CANCEL:
        server_on_cancel(server, call, request);
        break;
    case MESSAGE_GREET:
        on_greet(server, call, &request->greet);
        break;
    case MESSAGE_DESCRIBE:
        server_on_describe(server, call, &request->describe);
        break;
    case MESSAGE_LIST:
        server_on_list(server, call, &request->list);
        break;
    case MESSAGE_TREE:
        server_on_tree(server, call, &request->tree);
        break;
    case MESSAGE_ADMINISTER:
        server_on_administer(server, call, request);
        break;
    default:
        call_reply(call, message_failure(message_reply_kind(request->kind), ESP_PROTOCOL,
                                         "%s is a server: it takes no %s", server->name,
                                         message_name(request->kind)));
    }
}

static void on_abandoned(void *self, struct call *call)
{
    struct server *server = self;
    if (!duty_abandon(&server->duty, call) && !server_data_abandoned(server->data, call))
        server_abandoned(server, call);
}

/* ---- time ---- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t on_due(void *self)
{
    struct server *server = self;
    int64_t due = earlier(timers_next_ns(&server->timers), membership_due(server->membership));
    due = earlier(due, duty_due(&server->duty));
    due = earlier(due, earlier(server->sessions.clients_due_ns, server->sessions.orphans_due_ns));
    due = earlier(due, server_data_due(server->data));
    if (server->slots.retry_ns)
        due = earlier(due, server->slots.retry_ns);
    due = earlier(due, server_measure_due(server));
    return due;
}

static void on_tick(void *self)
{
    struct server *server = self;
    int64_t now_ns = server_now(server);
    timers_run(&server->timers, now_ns);
    if (now_ns >= server->sessions.clients_due_ns) {
        int64_t due = clients_expire(&server->sessions, now_ns, server->options.result_lease_ns);
        /* One look per lease suffices, also for new clients. */
        int64_t lease = now_ns + server->options.result_lease_ns;
        server->sessions.clients_due_ns = due > now_ns && due < lease ? due : lease;
    }
    server_give_up_orphans(server);
    if (server->slots.retry_ns && now_ns >= server->slots.retry_ns)
        server->slots.retry_ns = 0;
    server_data_tick(server->data, now_ns);
    server_dispatch(server);
    server_measure_step(server);
    duty_tick(&server->duty); /* may replace the tie */
    membership_tick(server->membership);
}

const struct endpoint_ops server_ops = {
    .post = on_post,
    .undelivered = on_undelivered,
    .hung_up = on_hung_up,
    .call = on_call,
    .abandoned = on_abandoned,
    .parted = server_on_parted,
    .chunk = server_on_chunk,
    .chunk_done = server_on_chunk_done,
    .lend = server_on_lend,
    .due = on_due,
    .tick = on_tick,
};

/* ---- life ---- */

static const struct session_observer *const observers[] = {&figures_observer,
                                                           &idle_observer,
                                                           &checkpoint_observer,
                                                           &operands_observer,
                                                           &lend_observer,
                                                           &trace_observer,
                                                           &await_observer,
                                                           &results_observer,
                                                           &run_observer,
                                                           &call_observer,
                                                           NULL};

static enum esp_status set_options(struct server *server, const struct server_options *options,
                                   struct esp_error *error)
{
    server->options = *options;
    if (options->slots < 1 || options->slots > CAP_SLOTS)
        return error_set(error, ESP_INVALID, "slots: expected 1 to %d, found %u", CAP_SLOTS, options->slots);
    if (server->options.kept_bytes_per_client == 0)
        server->options.kept_bytes_per_client = options->memory_bytes / 2;
    if (server->options.receive_lease_ns == 0)
        server->options.receive_lease_ns = RECEIVE_LEASE_NS;
    if (server->options.state_lease_ns == 0)
        server->options.state_lease_ns = STATE_LEASE_NS;
    if (server->options.job_lease_ns == 0)
        server->options.job_lease_ns = JOB_LEASE_NS;
    if (server->options.orphan_lease_ns == 0)
        server->options.orphan_lease_ns = ORPHAN_LEASE_NS;
    server->sessions.orphans_due_ns = CLOCK_NEVER;
    server->totals.ratio.kind = HISTOGRAM_RATIO;
    server->workers = options->workers;
    server->workers->ended = server_job_ended;
    server->workers->lost = server_state_lost;
    server->workers->asked = server_job_asked;
    server->workers->arg = server;
    server->sessions.clients_due_ns = server_now(server) + options->result_lease_ns;
    admission_init(&server->admission, options->memory_bytes);
    server->admission.admitted = server_admitted;
    server->admission.arg = server;
    server->queue.start = server_dispatch;
    server->queue.arg = server;
    server->observers = observers;
    server->name = strdup(options->name);
    return server->name && slots_init(&server->slots, options->slots) ? ESP_OK
                                                                      : error_no_memory(error, "a server");
}

bool server_has_parents(const struct server *server)
{
    size_t n;
    membership_parents(server->membership, &n);
    return n > 0;
}

/* ---- what the data ask of the server ---- */

#define NEWS_MS 50 /* changes are gathered for so long */

static void data_news(void *self)
{
    struct server *server = self;
    membership_touch(server->membership, NEWS_MS);
}

static const char *data_parent(const void *self)
{
    const struct server *server = self;
    return membership_parent_address(server->membership);
}

static bool data_has_parents(const void *self)
{
    return server_has_parents(self);
}

static enum esp_status data_takes(const void *self, struct esp_error *error)
{
    return server_takes_sessions(self, error);
}

static bool data_is_back_soon(const void *self)
{
    const struct server *server = self;
    return duty_is_back_soon(&server->duty);
}

static bool data_permits(const void *self, const struct envelope *envelope)
{
    const struct server *server = self;
    return duty_permits(&server->duty, envelope, "damaged", NULL) == ESP_OK;
}

static bool data_is_idle(const void *self)
{
    const struct server *server = self;
    return server->slots.running == 0;
}

static void data_room(void *self)
{
    server_operands_retry(self);
}

static void data_traffic(void *self, bool begins)
{
    if (begins)
        server_traffic_begins(self);
    else
        server_traffic_ends(self);
}

static double data_fetch_begins(void *self, const char *peer)
{
    return server_fetch_begins(self, peer);
}

static double data_fetch_ends(void *self, const char *peer, double begun_ns)
{
    return server_fetch_ends(self, peer, begun_ns);
}

static const struct server_data_ops data_ops = {.news = data_news,
                                                .parent = data_parent,
                                                .has_parents = data_has_parents,
                                                .takes = data_takes,
                                                .is_back_soon = data_is_back_soon,
                                                .permits = data_permits,
                                                .is_idle = data_is_idle,
                                                .room = data_room,
                                                .traffic = data_traffic,
                                                .fetch_begins = data_fetch_begins,
                                                .fetch_ends = data_fetch_ends};

static enum esp_status make_data(struct server *server, struct esp_error *error)
{
    const struct server_options *from = &server->options;
    const struct server_data_options options = {.name = server->name,
                                                .clock = server->options.clock,
                                                .segments = server->segments,
                                                .timers = &server->timers,
                                                .seed = from->seed,
                                                .store_memory = from->store_memory,
                                                .store_disk = from->store_disk,
                                                .files = from->files,
                                                .data_lease_ns = from->data_lease_ns,
                                                .replica_rest_ns = from->replica_rest_ns,
                                                .replicas = from->replicas,
                                                .replica_asks = from->replica_asks,
                                                .replica_bytes = from->replica_bytes,
                                                .errands = from->errands,
                                                .data_servers = from->data_servers,
                                                .fetched = from->fetched,
                                                .fetched_arg = from->fetched_arg,
                                                .porters = from->porters,
                                                .lenders = from->lenders,
                                                .porters_arg = from->porters_arg,
                                                .porters_seal = from->porters_seal};
    return server_data_create(&options, &data_ops, server, &server->data, error);
}

static bool make_states(struct server *server)
{
    const struct states_options options = {.name = server->name,
                                           .clock = server->options.clock,
                                           .lease_ns = server->options.state_lease_ns,
                                           .workers = server->workers,
                                           .timers = &server->timers,
                                           .admission = &server->admission,
                                           .queue = &server->queue};
    return states_create(&options, &server->states);
}

static void destroy_states(struct server *server)
{
    states_destroy(server->states);
}

/* Parts whose structs only their own files know. */
static const struct part {
    bool (*create)(struct server *server); /* false without memory */
    void (*destroy)(struct server *server);
} parts[] = {{server_promises_create, server_promises_destroy},
             {make_states, destroy_states},
             {server_measure_create, server_measure_destroy},
             {server_models_create, server_models_destroy},
             {server_ranks_create, server_ranks_destroy},
             {server_sensed_create, server_sensed_destroy},
             {server_links_create, server_links_destroy},
             {server_checkpoints_create, server_checkpoints_destroy},
             {server_idle_create, server_idle_destroy},
             {server_problems_create, server_problems_destroy},
             {server_waiters_create, server_waiters_destroy}};

static enum esp_status make_small_parts(struct server *server, struct esp_error *error)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!parts[i].create(server))
            return error_no_memory(error, "a server");
    return ESP_OK;
}

static enum esp_status make_parts(struct server *server, struct esp_error *error)
{
    const struct server_options *options = &server->options;
    struct segments_options segments = {.idle_bytes = options->memory_bytes / 4,
                                        .background = options->background};
    struct membership_options membership;
    const struct membership_ops *ops;
    server_membership(server, &membership, &ops);
    enum esp_status status = make_small_parts(server, error);
    if (status == ESP_OK)
        status = segments_create(&segments, &server->segments, error);
    if (status == ESP_OK)
        status = membership_create(&membership, ops, server, &server->membership, error);
    if (status == ESP_OK)
        status = server_duty_create(server, error);
    if (status == ESP_OK)
        status = make_data(server, error);
    else if (options->files)
        options->files->ops->destroy(options->files);
    return status;
}

enum esp_status server_create(const struct server_options *options, struct server **result,
                              struct esp_error *error)
{
    struct server *server = calloc(1, sizeof *server);
    struct shelf *shelf = server ? shelf_create(options->problems, error) : NULL;
    if (!shelf) {
        problem_set_destroy(options->problems);
        free(server);
        return error_no_memory(error, "a server");
    }
    server->shelf = shelf;
    server->sessions.failed_lines = (struct log_quota){.most = SESSION_LINES, .what = "sessions that failed"};
    enum esp_status status = set_options(server, options, error);
    if (status == ESP_OK)
        status = make_parts(server, error);
    if (status != ESP_OK) {
        server_destroy(server);
        return status;
    }
    server_restore_results(server);
    *result = server;
    return ESP_OK;
}

void server_start(struct server *server, struct endpoint *endpoint)
{
    double flops = server->options.speed_flops;
    if (flops <= 0)
        flops = speed_of_plain_loop(PLAIN_LOOP_S) * server_cpu_quota(server); /* until dgemm is measured */
    set_endpoint(server, endpoint);
    endpoint_enter(endpoint);
    server_checkpoints_open(server);
    server_idle_begin(server);
    server_speed_measured(server, flops);
    membership_start(server->membership, endpoint_address(endpoint));
    atomic_store(&server->workers->changed, server_ranks_changed);
    if (server->options.speed_flops <= 0)
        server_measure_begin(server);
    endpoint_leave(endpoint);
    server_ranks_changed(server, true); /* the ranks may have come before */
}

size_t server_learn_parents(struct server *server, const char *const *addresses, size_t n)
{
    endpoint_enter(server->endpoint);
    const size_t learned = membership_learn_parents(server->membership, addresses, n);
    endpoint_leave(server->endpoint);
    return learned;
}

void server_log_output(struct server *server, uint64_t job_id, const char *line)
{
    char text[SESSION_TEXT];
    endpoint_enter(server->endpoint);
    const struct slot *slot = slots_find(&server->slots, job_id);
    struct session *session = slot ? slot->session : NULL;
    if (session)
        server_printed(server, session, line);
    uint64_t before = session && session->printed ? session->printed->total : 0;
    if (line[0] != '\n' && (before < MOST_LOGGED || !session))
        log_write(LOG_NOTICE_LEVEL, session ? session_id_text(&session->id, text) : NULL,
                  "a worker printed: %.*s", (int)strcspn(line, "\n"), line);
    endpoint_leave(server->endpoint);
}

static void count_session(const struct session *session, struct server_counts *counts)
{
    if (!session_has_ended(session))
        return;
    counts->ended++;
    counts->kept += session->state == SESSION_DONE && session->segment;
}

void server_count(struct server *server, struct server_counts *counts)
{
    endpoint_enter(server->endpoint);
    *counts = (struct server_counts){
        .waiting = server->sessions.waiting,
        .receiving = server->sessions.receiving,
        .queued = server->queue.length,
        .running = server->slots.running,
        .clients = server->sessions.n_clients,
        .placements = promises_count(server->promises),
        .memory_used = server->admission.used,
        .memory_total = server->admission.total,
        .completed = server->totals.done,
        .failed = server->totals.failed,
        .speed_flops = server->speed.measured,
    };
    const struct session *session;
    for (session = server->sessions.by_id; session; session = session->hh.next)
        count_session(session, counts);
    segments_count(server->segments, &counts->segments);
    if (server_data_store(server->data))
        store_count(server_data_store(server->data), &counts->store);
    endpoint_leave(server->endpoint);
}

static void free_session(struct server *server, struct session *session)
{
    struct shelf *shelf = session->shelf;
    server_checkpoint_forget(session);
    segments_give(server->segments, session->segment);
    server_operands_release(server, session, true);
    server_operands_free(session);
    session_free(&server->sessions, session); /* reads the problem, which belongs to the shelf */
    shelf_release(shelf);
}

/* Forgotten sessions that ran when the endpoint was closed are in this list only. */
static void free_forgotten(struct server *server)
{
    struct session *session, *next;
    DL_FOREACH_SAFE2(server->sessions.active, session, next, next_active)
    {
        if (session->client)
            continue;
        free_session(server, session);
    }
}

static void free_sessions(struct server *server)
{
    struct session *session, *next;
    HASH_ITER(hh, server->sessions.by_id, session, next)
    {
        session_detach(&server->sessions, session);
        free_session(server, session);
    }
    sessions_clear(&server->sessions);
}

void server_destroy(struct server *server)
{
    if (!server)
        return;
    timers_clear(&server->timers); /* timers lie in structs that are freed now */
    free_forgotten(server);
    free_sessions(server);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        parts[i].destroy(server);
    server_data_destroy(server->data);
    duty_release(&server->duty);
    membership_destroy(server->membership);
    segments_destroy(server->segments);
    shelf_release(server->shelf);
    slots_clear(&server->slots);
    free(server->name);
    free(server);
}
