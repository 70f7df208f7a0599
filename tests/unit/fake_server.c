/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of the fake servers. */
#include "tests/unit/fake_internal.h"
#include "core/choice/terms.h"
#include "core/message/open_sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct held *fake_find_held(struct fake *fake, int server, uint64_t sequence)
{
    for (struct held *held = fake->held; held; held = held->next)
        if (held->server == server && held->id.sequence == sequence)
            return held;
    return NULL;
}

void fake_free_held(struct fake *fake, struct held *held)
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

void fake_acknowledge(struct fake *fake, int server, uint64_t oldest)
{
    for (struct held *held = fake->held, *next; held; held = next) {
        next = held->next;
        if (held->server == server && held->id.sequence < oldest)
            fake_free_held(fake, held);
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
    } else if (strcmp(name, "open") == 0) {
        char *text = NULL;
        int length = asprintf(&text, "state:0123456789abcdef0123456789abcdef@s%d", held->server + 1);
        allocate(held, 1, length > 0 ? (uint64_t)length : 0);
        memcpy(held->data[1], text, held->bytes[1]);
        free(text);
    } else if (strcmp(name, "filter") == 0) {
        allocate(held, 1, held->bytes[0]);
        memcpy(held->data[1], held->data[0], held->bytes[0]);
    } else {
        held->state = SESSION_RUNNING;
        held->due_ns = fake_now() + *(int *)held->data[0] * NS_PER_MS;
        allocate(held, 1, sizeof(int));
        memcpy(held->data[1], held->data[0], sizeof(int));
    }
}

/* Time passes: what is due has ended. */
static void tick(struct fake *fake, struct held *held)
{
    if (held->state == SESSION_RUNNING && fake_now() >= held->due_ns && !fake->faults[held->server].silent)
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
    if (held->state == SESSION_UNKNOWN)
        extension_add(&report->extensions, EXTENSION_UNBEGUN, "", 0, arena);
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
    int64_t until = fake_now() + (int64_t)patience_ms * NS_PER_MS;
    struct held *held;
    while ((held = fake_find_held(fake, server, sequence))) {
        tick(fake, held);
        if (has_news(held) || fake_now() >= until)
            break;
        fake_wait_ms(fake, 2);
    }
    if (held)
        fill_report(fake, held, &reply->arena, &reply->call_reply.session);
    else
        reply->outcome = (struct outcome){ESP_NOT_FOUND, "forgotten"};
}

static bool has_room(const struct fake *fake, int server)
{
    unsigned n = 0, most = fake->faults[server].most_sessions;
    for (const struct held *held = fake->held; held; held = held->next)
        n += held->server == server;
    return (most == 0 || n < most) && !fake->faults[server].full;
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
    if (!bulk && fake->faults[server].queues)
        held->state = SESSION_QUEUED;
    else if (!bulk)
        execute(fake, held);
    return held;
}

enum esp_status fake_fail(struct esp_error *error, enum esp_status status, const char *text)
{
    return error_set(error, status, "%s", text);
}

enum esp_status fake_on_call(struct fake *fake, int server, const struct message *request,
                             struct message *reply, struct esp_error *error)
{
    const struct call_request *call = &request->call;
    struct fake_faults *faults = &fake->faults[server];
    fake->counters.calls++;
    if (faults->refuse)
        return fake_fail(error, ESP_REFUSED, "not here");
    if (faults->restarted && call->server_incarnation != 0)
        return fake_fail(error, ESP_STALE, "restarted");
    if (faults->lose_requests > 0) {
        faults->lose_requests--;
        return fake_fail(error, ESP_MAYBE, "connection broke");
    }
    fake_acknowledge(fake, server, call->oldest_unacknowledged);
    struct held *held = fake_find_held(fake, server, call->session.sequence);
    if (!held && !has_room(fake, server))
        return fake_fail(error, ESP_LIMIT, "no room here");
    if (!held)
        held = open_session(fake, server, call);
    else if (held->id.secret != call->session.secret)
        return fake_fail(error, ESP_REFUSED, "wrong secret");
    if (faults->lose_workers > 0) {
        faults->lose_workers--;
        held->state = SESSION_FAILED;
        fake_fail(&held->error, ESP_MAYBE, "its worker was killed");
    }
    if (faults->lose_replies > 0 || faults->dies_in_call) {
        faults->lose_replies -= faults->lose_replies > 0;
        faults->dead = faults->dies_in_call;
        return fake_fail(error, ESP_MAYBE, "connection broke");
    }
    answer_call(fake, server, call->session.sequence, call->patience_ms, reply);
    return ESP_OK;
}

enum esp_status fake_on_run(struct fake *fake, int server, const struct message *request,
                            struct message *reply, struct esp_error *error)
{
    struct held *held = fake_find_held(fake, server, request->run.session.sequence);
    if (!held)
        return fake_fail(error, ESP_NOT_FOUND, "no such session");
    if (held->state == SESSION_RECEIVING)
        execute(fake, held);
    answer_call(fake, server, request->run.session.sequence, request->run.patience_ms, reply);
    return ESP_OK;
}

static bool collect(struct fake *fake, int server, const struct await *await, struct message *reply)
{
    struct await_reply *to = &reply->await_reply;
    for (uint32_t i = 0; i < await->n_sessions; i++) {
        struct held *held = fake_find_held(fake, server, await->sessions[i].sequence);
        if (!held) {
            to->sessions[to->n_sessions++] = (struct session_report){.sequence = await->sessions[i].sequence,
                                                                     .state = SESSION_UNKNOWN,
                                                                     .outcome = {ESP_NOT_FOUND, "forgotten"}};
            continue;
        }
        tick(fake, held);
        if (held->state == SESSION_WAITING && fake_now() >= held->due_ns)
            held->state = SESSION_RECEIVING;
        if (has_news(held))
            fill_report(fake, held, &reply->arena, &to->sessions[to->n_sessions++]);
    }
    return to->n_sessions > 0;
}

enum esp_status fake_on_await(struct fake *fake, int server, const struct message *request,
                              struct message *reply, struct esp_error *error)
{
    const struct await *await = &request->await;
    fake_acknowledge(fake, server, await->oldest_unacknowledged);
    if (await->n_sessions == 0) {
        fake->counters.acknowledgements++;
        return ESP_OK;
    }
    fake->counters.awaits++;
    fake->counters.polling++;
    fake->counters.polled = await->n_sessions;
    uint64_t number = ++fake->await_number[server];
    if (++fake->polls[server] > fake->counters.polls_at_once)
        fake->counters.polls_at_once = fake->polls[server];
    int64_t until = fake_now() + (int64_t)await->patience_ms * NS_PER_MS;
    reply->await_reply.sessions =
        arena_alloc(&reply->arena, await->n_sessions * sizeof(struct session_report));
    pthread_cond_broadcast(&fake->changed);
    while (!collect(fake, server, await, reply) && fake_now() < until && !fake->faults[server].dead) {
        if (fake->await_number[server] != number && !fake->faults[server].never_supersede)
            break;
        fake_wait_ms(fake, 2);
    }
    fake->polls[server]--;
    fake->counters.polling--;
    return fake->faults[server].dead ? fake_fail(error, ESP_MAYBE, "connection broke") : ESP_OK;
}

static void ask_back(struct fake *fake, struct held *held)
{
    if (fake->faults[held->server].begins) {
        execute(fake, held);
        return;
    }
    held->state = SESSION_UNKNOWN;
    fake_fail(&held->error, ESP_UNREACHABLE, "it had not begun it");
}

/* Prints nothing, and does not tell how far it is. */
enum esp_status fake_on_follow(struct fake *fake, int server, const struct message *request,
                               struct message *reply, struct esp_error *error)
{
    const struct follow *follow = &request->follow;
    int64_t until = fake_now() + (int64_t)follow->patience_ms * NS_PER_MS;
    struct held *held = fake_find_held(fake, server, follow->session.sequence);
    if (held && held->state == SESSION_QUEUED && extension_find(&follow->extensions, EXTENSION_GIVE_BACK))
        ask_back(fake, held);
    while ((held = fake_find_held(fake, server, follow->session.sequence))) {
        tick(fake, held);
        if (has_news(held) || fake_now() >= until)
            break;
        fake_wait_ms(fake, 2);
    }
    if (!held)
        return fake_fail(error, ESP_NOT_FOUND, "no such session");
    reply->follow_reply.progress = -1;
    fill_report(fake, held, &reply->arena, &reply->follow_reply.session);
    return ESP_OK;
}

enum esp_status fake_on_cancel(struct fake *fake, int server, const struct message *request)
{
    struct held *held = fake_find_held(fake, server, request->cancel.session.sequence);
    fake->counters.cancels++;
    if (held && held->state < SESSION_DONE) {
        held->state = SESSION_CANCELLED;
        held->error.status = ESP_CANCELLED;
        pthread_cond_broadcast(&fake->changed);
    }
    return ESP_OK;
}
