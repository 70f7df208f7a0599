/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/fake.h"
#include "core/problem.h"
#include "util/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char fake_problems[] = "problem add \"Add two numbers\"\n"
                             "    in double a\n"
                             "    in double b\n"
                             "    out double c\n"
                             "problem scale \"Scale a vector\"\n"
                             "    in int n\n"
                             "    in double alpha = 2\n"
                             "    inout double x[n]\n"
                             "    work double w[n]\n"
                             "    require n >= 0\n"
                             "    work 2*n\n"
                             "problem copy \"Copy a vector\"\n"
                             "    in int n\n"
                             "    in double x[n]\n"
                             "    out double y[n]\n"
                             "    out double sum\n"
                             "problem sleep \"Wait\"\n"
                             "    in int ms\n"
                             "    out int waited\n"
                             "problem once \"Wait, but never twice\"\n"
                             "    in int ms\n"
                             "    out int waited\n"
                             "    idempotent no\n"
                             "problem fail \"Fail\"\n"
                             "    in int code\n"
                             "    out int x\n"
                             "problem kinds \"One argument of each type\"\n"
                             "    in char c\n"
                             "    in short s\n"
                             "    in int i\n"
                             "    in long l\n"
                             "    in int64 k\n"
                             "    in float f\n"
                             "    in double d\n"
                             "    in complex z\n"
                             "    in double complex w\n"
                             "    in string t\n"
                             "    out double sum\n"
                             "    out string echo\n"
                             "    inout short n\n"
                             "problem filter \"Copy a file\"\n"
                             "    in file from\n"
                             "    out file to\n";

enum { SERVERS = 3, ADDRESSES = 6 };
static const char *const addresses[ADDRESSES] = {"s1:1", "s2:1", "s3:1", "red:1", "ma1:1", "ma2:1"};
static const char *const names[ADDRESSES] = {"s1", "s2", "s3", "red", "ma1", "ma2"};

struct held {
    struct held *next;
    int server;
    struct session_id id;
    const struct problem *problem;
    uint8_t *data[PROBLEM_MAX_ARGUMENTS];
    uint64_t bytes[PROBLEM_MAX_ARGUMENTS];
    uint32_t kind[PROBLEM_MAX_ARGUMENTS];
    enum session_state state;
    int64_t due_ns;
    struct esp_error error;
};

struct fake {
    struct transport transport;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct problem_set *set;
    struct held *held;
    struct fake_faults faults[ADDRESSES];
    uint64_t await_number[SERVERS];
    unsigned polls[SERVERS];
    struct fake_counters counters;
    unsigned inside;
    uint64_t inline_bytes;
};

static int find_address(const char *address)
{
    for (int i = 0; i < ADDRESSES; i++)
        if (strcmp(addresses[i], address) == 0)
            return i;
    return -1;
}

static int64_t now(void)
{
    return clock_now_ns(&clock_system);
}

static void wait_ms(struct fake *fake, int64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&fake->changed, &fake->lock, &until);
}

/* ---- sessions ---- */

static struct held *find_held(struct fake *fake, int server, uint64_t sequence)
{
    for (struct held *held = fake->held; held; held = held->next)
        if (held->server == server && held->id.sequence == sequence)
            return held;
    return NULL;
}

static void free_held(struct fake *fake, struct held *held)
{
    for (struct held **place = &fake->held; *place; place = &(*place)->next)
        if (*place == held) {
            *place = held->next;
            break;
        }
    for (int i = 0; i < PROBLEM_MAX_ARGUMENTS; i++)
        free(held->data[i]);
    free(held);
    fake->counters.sessions--;
}

static void acknowledge(struct fake *fake, int server, uint64_t oldest)
{
    for (struct held *held = fake->held, *next; held; held = next) {
        next = held->next;
        if (held->server == server && held->id.sequence < oldest)
            free_held(fake, held);
    }
}

static void allocate(struct held *held, uint32_t i, uint64_t bytes)
{
    held->bytes[i] = bytes;
    held->data[i] = calloc(1, bytes + 1);
}

static double sum_of(const struct held *held)
{
    double _Complex w;
    float _Complex z;
    float f;
    double d;
    memcpy(&f, held->data[5], sizeof f);
    memcpy(&d, held->data[6], sizeof d);
    memcpy(&z, held->data[7], sizeof z);
    memcpy(&w, held->data[8], sizeof w);
    return *(char *)held->data[0] + *(int16_t *)held->data[1] + *(int32_t *)held->data[2] +
           (double)*(int64_t *)held->data[3] + (double)*(int64_t *)held->data[4] + (double)f + d +
           (double)__real__ z + (double)__imag__ z + __real__ w + __imag__ w;
}

/* The computation itself; its effects must not come twice. */
static void execute(struct fake *fake, struct held *held)
{
    const char *name = held->problem->name;
    fake->counters.executions++;
    held->state = SESSION_DONE;
    if (strcmp(name, "add") == 0) {
        double a, b, c;
        memcpy(&a, held->data[0], sizeof a);
        memcpy(&b, held->data[1], sizeof b);
        c = a + b;
        allocate(held, 2, sizeof c);
        memcpy(held->data[2], &c, sizeof c);
    } else if (strcmp(name, "scale") == 0) {
        double alpha = 2, *x = (double *)held->data[2];
        if (held->data[1])
            memcpy(&alpha, held->data[1], sizeof alpha);
        for (uint64_t i = 0; i < held->bytes[2] / sizeof *x; i++)
            x[i] *= alpha;
    } else if (strcmp(name, "copy") == 0) {
        double sum = 0;
        allocate(held, 2, held->bytes[1]);
        if (held->bytes[1] > 0)
            memcpy(held->data[2], held->data[1], held->bytes[1]);
        for (uint64_t i = 0; i < held->bytes[1] / sizeof sum; i++)
            sum += ((double *)held->data[1])[i];
        allocate(held, 3, sizeof sum);
        memcpy(held->data[3], &sum, sizeof sum);
    } else if (strcmp(name, "fail") == 0) {
        held->state = SESSION_FAILED;
        snprintf(held->error.text, sizeof held->error.text, "U(%d,%d) is exactly zero", *(int *)held->data[0],
                 *(int *)held->data[0]);
        held->error.status = ESP_FAILED;
    } else if (strcmp(name, "kinds") == 0) {
        double sum = sum_of(held);
        allocate(held, 10, sizeof sum);
        memcpy(held->data[10], &sum, sizeof sum);
        allocate(held, 11, held->bytes[9]);
        memcpy(held->data[11], held->data[9], held->bytes[9]);
        *(int16_t *)held->data[12] *= 2;
    } else if (strcmp(name, "filter") == 0) {
        allocate(held, 1, held->bytes[0]);
        memcpy(held->data[1], held->data[0], held->bytes[0]);
    } else {
        held->state = SESSION_RUNNING;
        held->due_ns = now() + *(int *)held->data[0] * NS_PER_MS;
        allocate(held, 1, sizeof(int));
        memcpy(held->data[1], held->data[0], sizeof(int));
    }
}

/* Time passes: what is due has ended. */
static void tick(struct fake *fake, struct held *held)
{
    if (held->state == SESSION_RUNNING && now() >= held->due_ns && !fake->faults[held->server].silent)
        held->state = SESSION_DONE;
}

static bool is_wanted(const struct held *held, uint32_t i)
{
    return argument_is_output(&held->problem->arguments[i]) && held->kind[i] != KIND_ABSENT;
}

static void fill_report(struct fake *fake, struct held *held, struct arena *arena,
                        struct session_report *report)
{
    *report = (struct session_report){.sequence = held->id.sequence, .state = held->state};
    report->outcome.status = held->error.status;
    report->outcome.text = arena_strdup(arena, held->error.text);
    report->timings.compute_s = 0.25;
    if (held->state != SESSION_DONE)
        return;
    report->results = arena_alloc(arena, PROBLEM_MAX_ARGUMENTS * sizeof *report->results);
    for (uint32_t i = 0; i < held->problem->n_arguments; i++) {
        if (!is_wanted(held, i))
            continue;
        struct call_result *result = &report->results[report->n_results++];
        *result = (struct call_result){.index = i, .kind = KIND_BULK, .bytes = held->bytes[i]};
        if (held->bytes[i] > fake->inline_bytes)
            continue;
        result->kind = KIND_INLINE;
        result->length = (uint32_t)held->bytes[i];
        result->data = arena_memdup(arena, held->data[i], held->bytes[i]);
    }
}

static bool has_news(const struct held *held)
{
    return held->state >= SESSION_DONE || held->state == SESSION_RECEIVING;
}

static void answer_call(struct fake *fake, int server, uint64_t sequence, uint64_t patience_ms,
                        struct message *reply)
{
    int64_t until = now() + (int64_t)patience_ms * NS_PER_MS;
    struct held *held;
    while ((held = find_held(fake, server, sequence))) {
        tick(fake, held);
        if (has_news(held) || now() >= until)
            break;
        wait_ms(fake, 2);
    }
    if (held)
        fill_report(fake, held, &reply->arena, &reply->call_reply.session);
    else
        reply->outcome = (struct outcome){ESP_NOT_FOUND, "forgotten"};
}

static struct held *open_session(struct fake *fake, int server, const struct call_request *call)
{
    struct held *held = calloc(1, sizeof *held);
    bool bulk = false;
    *held = (struct held){.next = fake->held,
                          .server = server,
                          .id = call->session,
                          .problem = problem_find(fake->set, call->problem),
                          .state = SESSION_RECEIVING};
    for (uint32_t i = 0; i < call->n_arguments; i++) {
        const struct call_argument *argument = &call->arguments[i];
        held->kind[argument->index] = argument->kind;
        bulk |= argument->kind == KIND_BULK;
        if (argument->kind != KIND_INLINE && argument->kind != KIND_BULK)
            continue;
        allocate(held, argument->index, argument->bytes);
        if (argument->kind == KIND_INLINE && argument->length > 0)
            memcpy(held->data[argument->index], argument->data, argument->length);
    }
    fake->held = held;
    fake->counters.sessions++;
    if (bulk && fake->faults[server].wait_first > 0) {
        fake->faults[server].wait_first--;
        held->state = SESSION_WAITING;
    }
    if (!bulk)
        execute(fake, held);
    return held;
}

static enum esp_status fail(struct esp_error *error, enum esp_status status, const char *text)
{
    return error_set(error, status, "%s", text);
}

static enum esp_status on_call(struct fake *fake, int server, const struct message *request,
                               struct message *reply, struct esp_error *error)
{
    const struct call_request *call = &request->call;
    struct fake_faults *faults = &fake->faults[server];
    fake->counters.calls++;
    if (faults->refuse)
        return fail(error, ESP_REFUSED, "not here");
    if (faults->restarted && call->server_incarnation != 0)
        return fail(error, ESP_STALE, "restarted");
    if (faults->lose_requests > 0) {
        faults->lose_requests--;
        return fail(error, ESP_MAYBE, "connection broke");
    }
    acknowledge(fake, server, call->oldest_unacknowledged);
    struct held *held = find_held(fake, server, call->session.sequence);
    if (!held)
        held = open_session(fake, server, call);
    else if (held->id.secret != call->session.secret)
        return fail(error, ESP_REFUSED, "wrong secret");
    if (faults->lose_replies > 0 || faults->dies_in_call) {
        faults->lose_replies -= faults->lose_replies > 0;
        faults->dead = faults->dies_in_call;
        return fail(error, ESP_MAYBE, "connection broke");
    }
    answer_call(fake, server, call->session.sequence, call->patience_ms, reply);
    return ESP_OK;
}

static enum esp_status on_run(struct fake *fake, int server, const struct message *request,
                              struct message *reply, struct esp_error *error)
{
    struct held *held = find_held(fake, server, request->run.session.sequence);
    if (!held)
        return fail(error, ESP_NOT_FOUND, "no such session");
    if (held->state == SESSION_RECEIVING)
        execute(fake, held);
    answer_call(fake, server, request->run.session.sequence, request->run.patience_ms, reply);
    return ESP_OK;
}

static bool collect(struct fake *fake, int server, const struct await *await, struct message *reply)
{
    struct await_reply *to = &reply->await_reply;
    for (uint32_t i = 0; i < await->n_sessions; i++) {
        struct held *held = find_held(fake, server, await->sessions[i].sequence);
        if (!held) {
            to->sessions[to->n_sessions++] = (struct session_report){.sequence = await->sessions[i].sequence,
                                                                     .state = SESSION_UNKNOWN,
                                                                     .outcome = {ESP_NOT_FOUND, "forgotten"}};
            continue;
        }
        tick(fake, held);
        if (held->state == SESSION_WAITING && now() >= held->due_ns)
            held->state = SESSION_RECEIVING;
        if (has_news(held))
            fill_report(fake, held, &reply->arena, &to->sessions[to->n_sessions++]);
    }
    return to->n_sessions > 0;
}

static enum esp_status on_await(struct fake *fake, int server, const struct message *request,
                                struct message *reply, struct esp_error *error)
{
    const struct await *await = &request->await;
    acknowledge(fake, server, await->oldest_unacknowledged);
    if (await->n_sessions == 0) {
        fake->counters.acknowledgements++;
        return ESP_OK;
    }
    fake->counters.awaits++;
    uint64_t number = ++fake->await_number[server];
    if (++fake->polls[server] > fake->counters.polls_at_once)
        fake->counters.polls_at_once = fake->polls[server];
    int64_t until = now() + (int64_t)await->patience_ms * NS_PER_MS;
    reply->await_reply.sessions =
        arena_alloc(&reply->arena, await->n_sessions * sizeof(struct session_report));
    pthread_cond_broadcast(&fake->changed);
    while (!collect(fake, server, await, reply) && now() < until && !fake->faults[server].dead) {
        if (fake->await_number[server] != number && !fake->faults[server].never_supersede)
            break;
        wait_ms(fake, 2);
    }
    fake->polls[server]--;
    return fake->faults[server].dead ? fail(error, ESP_MAYBE, "connection broke") : ESP_OK;
}

static enum esp_status on_cancel(struct fake *fake, int server, const struct message *request)
{
    struct held *held = find_held(fake, server, request->cancel.session.sequence);
    fake->counters.cancels++;
    if (held && held->state < SESSION_DONE) {
        held->state = SESSION_CANCELLED;
        held->error.status = ESP_CANCELLED;
        pthread_cond_broadcast(&fake->changed);
    }
    return ESP_OK;
}

/* ---- agents ---- */

static enum esp_status on_submit(struct fake *fake, const struct message *request, struct message *reply,
                                 struct esp_error *error)
{
    const struct request *asked = &request->submit.request;
    struct submit_reply *to = &reply->submit_reply;
    fake->counters.submits++;
    to->candidates = arena_alloc(&reply->arena, SERVERS * sizeof *to->candidates);
    for (int i = 0; i < SERVERS; i++) {
        bool excluded = false;
        for (uint32_t k = 0; k < asked->n_excluded; k++)
            excluded |= strcmp(asked->excluded[k], names[i]) == 0;
        if (!excluded)
            to->candidates[to->n_candidates++] = (struct candidate){.server = names[i],
                                                                    .address = addresses[i],
                                                                    .incarnation = (uint64_t)i + 1,
                                                                    .compute_s = 0.5,
                                                                    .transfer_s = 0.25,
                                                                    .error_s = 0.1};
    }
    to->capable = SERVERS;
    to->asked = true;
    return to->n_candidates ? ESP_OK : fail(error, ESP_NO_SERVER, "all are excluded");
}

static enum esp_status on_describe(struct fake *fake, const struct message *request, struct message *reply,
                                   struct esp_error *error)
{
    const struct problem *problem = problem_find(fake->set, request->describe.problem);
    fake->counters.describes++;
    if (!problem)
        return fail(error, ESP_UNKNOWN_PROBLEM, "nobody can solve that");
    reply->describe_reply.text = arena_strdup(&reply->arena, problem->source);
    reply->describe_reply.digest = problem->digest;
    reply->describe_reply.servers = SERVERS;
    return ESP_OK;
}

static void on_list(struct fake *fake, const struct message *request, struct message *reply)
{
    struct list_reply *to = &reply->list_reply;
    to->items = arena_alloc(&reply->arena, fake->set->n_problems * sizeof *to->items);
    for (size_t i = 0; i < fake->set->n_problems; i++) {
        const struct problem *problem = fake->set->problems[i];
        if (strcmp(problem->name, request->list.after) <= 0)
            continue;
        if (to->n == 3) { /* small pages, so that there are several */
            to->more = true;
            break;
        }
        to->items[to->n++] = (struct listed){.problem = problem->name,
                                             .title = problem->title,
                                             .gams = "",
                                             .digest = problem->digest,
                                             .servers = SERVERS};
    }
}

static struct node_record record(int i, const char *parent, enum node_role role)
{
    return (struct node_record){.name = names[i],
                                .parent = parent,
                                .address = addresses[i],
                                .role = role,
                                .incarnation = (uint64_t)i + 1,
                                .slots = role == ROLE_SERVER};
}

static void on_tree(int at, const struct message *request, struct message *reply)
{
    struct tree_reply *to = &reply->tree_reply;
    to->records = arena_alloc(&reply->arena, ADDRESSES * sizeof *to->records);
    if (at == 3) {
        to->records[to->n_records++] = record(3, "", ROLE_REDIRECTOR);
        to->records[to->n_records++] = record(4, "red", ROLE_MASTER);
        to->records[to->n_records++] = record(5, "red", ROLE_MASTER);
        return;
    }
    to->records[to->n_records++] = record(at, "", at < SERVERS ? ROLE_SERVER : ROLE_MASTER);
    for (int i = 0; at == 4 && i < SERVERS; i++)
        to->records[to->n_records++] = record(i, "ma1", ROLE_SERVER);
    if (!*request->tree.node)
        return;
    uint32_t n = to->n_records;
    to->n_records = 0;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(to->records[i].name, request->tree.node) == 0)
            to->records[to->n_records++] = to->records[i];
}

static void on_locate(struct fake *fake, struct message *reply)
{
    struct locate_reply *to = &reply->locate_reply;
    fake->counters.locates++;
    to->masters = arena_alloc(&reply->arena, 2 * sizeof *to->masters);
    to->masters[0] = (struct master_entry){.name = "ma1", .address = "ma1:1", .servers = SERVERS};
    to->masters[1] = (struct master_entry){.name = "ma2", .address = "ma2:1", .servers = SERVERS};
    to->n_masters = 2;
}

/* ---- the transport ---- */

static enum esp_status dispatch(struct fake *fake, int at, const struct message *request,
                                struct message *reply, struct esp_error *error)
{
    bool server = at < SERVERS;
    switch (request->kind) {
    case MESSAGE_LOCATE:
        on_locate(fake, reply);
        if (fake->faults[at].lost > 0)
            fake->faults[at].lost--, reply->locate_reply.n_masters = 0;
        return ESP_OK;
    case MESSAGE_SUBMIT:
        if (fake->faults[at].lost > 0) {
            fake->faults[at].lost--;
            return fail(error, ESP_UNKNOWN_PROBLEM, "no server below solves that");
        }
        return fake->faults[at].refuse ? fail(error, ESP_REFUSED, "draining")
                                       : on_submit(fake, request, reply, error);
    case MESSAGE_DESCRIBE:
        return on_describe(fake, request, reply, error);
    case MESSAGE_LIST:
        on_list(fake, request, reply);
        return ESP_OK;
    case MESSAGE_TREE:
        on_tree(at, request, reply);
        return ESP_OK;
    case MESSAGE_GREET:
        reply->greet_reply.name = names[at];
        reply->greet_reply.role = server ? ROLE_SERVER : at == 3 ? ROLE_REDIRECTOR : ROLE_MASTER;
        return ESP_OK;
    case MESSAGE_CALL:
        return server ? on_call(fake, at, request, reply, error) : ESP_PROTOCOL;
    case MESSAGE_RUN:
        return on_run(fake, at, request, reply, error);
    case MESSAGE_AWAIT:
        return on_await(fake, at, request, reply, error);
    case MESSAGE_CANCEL:
        return on_cancel(fake, at, request);
    default:
        return fail(error, ESP_PROTOCOL, "no such request");
    }
}

static struct fake *enter(struct transport *transport)
{
    struct fake *fake = (struct fake *)transport;
    pthread_mutex_lock(&fake->lock);
    if (++fake->inside > fake->counters.threads)
        fake->counters.threads = fake->inside;
    return fake;
}

static void leave(struct fake *fake)
{
    fake->inside--;
    pthread_mutex_unlock(&fake->lock);
}

static enum esp_status fake_call(struct transport *transport, const char *address,
                                 const struct message *request, int64_t timeout_ms, struct message *reply,
                                 struct esp_error *error)
{
    struct fake *fake = enter(transport);
    int at = find_address(address);
    (void)timeout_ms;
    memset(reply, 0, sizeof *reply);
    reply->kind = message_reply_kind(request->kind);
    bool stopped = at >= 0 && fake->faults[at].stopped;
    fake->counters.unanswered += stopped && request->kind == MESSAGE_CALL;
    enum esp_status status = at < 0 || fake->faults[at].dead
                                 ? fail(error, ESP_UNREACHABLE, "connection refused")
                             : stopped ? fail(error, ESP_TIMEOUT, "no answer in time")
                                       : dispatch(fake, at, request, reply, error);
    leave(fake);
    return status;
}

static enum esp_status move(struct transport *transport, const char *address, const struct message *header,
                            void *data, bool put, uint64_t *moved, struct esp_error *error)
{
    struct fake *fake = enter(transport);
    int at = find_address(address);
    struct fake_faults *faults = &fake->faults[at];
    struct held *held = find_held(fake, at, header->chunk.session.sequence);
    const struct chunk *chunk = &header->chunk;
    enum esp_status status = ESP_OK;
    if (faults->dead)
        status = fail(error, ESP_UNREACHABLE, "connection refused");
    else if (faults->lose_chunks > 0)
        faults->lose_chunks--, status = fail(error, ESP_MAYBE, "connection broke");
    else if (!held)
        status = fail(error, ESP_NOT_FOUND, "no such session");
    else if (chunk->offset + chunk->length > held->bytes[chunk->argument])
        status = fail(error, ESP_INVALID, "beyond the end");
    else if (put)
        memcpy(held->data[chunk->argument] + chunk->offset, data, chunk->length), fake->counters.puts++;
    else
        memcpy(data, held->data[chunk->argument] + chunk->offset, chunk->length), fake->counters.gets++;
    if (moved)
        *moved = chunk->length;
    leave(fake);
    return status;
}

static enum esp_status fake_put(struct transport *transport, const char *address,
                                const struct message *header, const void *data, int64_t timeout_ms,
                                struct esp_error *error)
{
    (void)timeout_ms;
    return move(transport, address, header, (void *)data, true, NULL, error);
}

static enum esp_status fake_get(struct transport *transport, const char *address,
                                const struct message *header, void *data, uint64_t *moved, int64_t timeout_ms,
                                struct esp_error *error)
{
    (void)timeout_ms;
    return move(transport, address, header, data, false, moved, error);
}

/* The library destroys its transport with itself; tests want to look at it afterwards. */
static void fake_let_go(struct transport *transport)
{
    (void)transport;
}

static const struct transport_ops ops = {
    .call = fake_call, .put = fake_put, .get = fake_get, .destroy = fake_let_go};

struct transport *fake_create(void)
{
    struct fake *fake = calloc(1, sizeof *fake);
    struct esp_error error;
    fake->transport = (struct transport){&ops, &clock_system};
    fake->inline_bytes = 64 << 10;
    pthread_mutex_init(&fake->lock, NULL);
    pthread_cond_init(&fake->changed, NULL);
    if (problem_parse(fake_problems, sizeof fake_problems - 1, "fake", &fake->set, &error) != ESP_OK) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    return &fake->transport;
}

void fake_destroy(struct transport *transport)
{
    struct fake *fake = (struct fake *)transport;
    while (fake->held)
        free_held(fake, fake->held);
    problem_set_destroy(fake->set);
    free(fake);
}

void fake_set(struct transport *transport, const char *address, const struct fake_faults *faults)
{
    struct fake *fake = (struct fake *)transport;
    pthread_mutex_lock(&fake->lock);
    fake->faults[find_address(address)] = *faults;
    pthread_cond_broadcast(&fake->changed);
    pthread_mutex_unlock(&fake->lock);
}

struct fake_counters fake_counters(struct transport *transport)
{
    struct fake *fake = (struct fake *)transport;
    pthread_mutex_lock(&fake->lock);
    struct fake_counters counters = fake->counters;
    pthread_mutex_unlock(&fake->lock);
    return counters;
}

void fake_forget(struct transport *transport, const char *address)
{
    struct fake *fake = (struct fake *)transport;
    pthread_mutex_lock(&fake->lock);
    acknowledge(fake, find_address(address), UINT64_MAX);
    pthread_cond_broadcast(&fake->changed);
    pthread_mutex_unlock(&fake->lock);
}

void fake_set_inline(struct transport *transport, uint64_t bytes)
{
    ((struct fake *)transport)->inline_bytes = bytes;
}
