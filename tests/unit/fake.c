/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/fake_internal.h"

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
                             "problem open \"Leave a state\"\n"
                             "    in int n\n"
                             "    out state s\n"
                             "problem filter \"Copy a file\"\n"
                             "    in file from\n"
                             "    out file to\n";

const char *const fake_addresses[ADDRESSES] = {"s1:1", "s2:1", "s3:1", "red:1", "ma1:1", "ma2:1", "red2:1"};
const char *const fake_names[ADDRESSES] = {"s1", "s2", "s3", "red", "ma1", "ma2", "red2"};

static int find_address(const char *address)
{
    for (int i = 0; i < ADDRESSES; i++)
        if (strcmp(fake_addresses[i], address) == 0)
            return i;
    return -1;
}

int64_t fake_now(void)
{
    return clock_now_ns(&clock_system);
}

void fake_wait_ms(struct fake *fake, int64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&fake->changed, &fake->lock, &until);
}

/* ---- the transport ---- */

static enum esp_status dispatch(struct fake *fake, int at, const struct message *request,
                                struct message *reply, struct esp_error *error)
{
    bool server = at < SERVERS;
    switch (request->kind) {
    case MESSAGE_LOCATE:
        fake_on_locate(fake, at, reply);
        if (fake->faults[at].lost > 0)
            fake->faults[at].lost--, reply->locate_reply.n_masters = 0;
        return ESP_OK;
    case MESSAGE_SUBMIT:
        snprintf(fake->counters.submitted, sizeof fake->counters.submitted, "%s", fake_addresses[at]);
        if (fake->faults[at].lost > 0) {
            fake->faults[at].lost--;
            return fake_fail(error, ESP_UNKNOWN_PROBLEM, "no server below solves that");
        }
        if (fake->faults[at].unfit > 0) {
            fake->faults[at].unfit--;
            return fake_fail(error, ESP_NO_SERVER, "the servers are too small");
        }
        return fake->faults[at].refuse ? fake_fail(error, ESP_REFUSED, "draining")
                                       : fake_on_submit(fake, request, reply, error);
    case MESSAGE_DESCRIBE:
        if (fake->faults[at].strange > 0) {
            fake->faults[at].strange--;
            return fake_fail(error, ESP_UNKNOWN_PROBLEM, "no server below solves that");
        }
        return fake_on_describe(fake, request, reply, error);
    case MESSAGE_LIST:
        fake_on_list(fake, request, reply);
        return ESP_OK;
    case MESSAGE_TREE:
        if (fake->faults[at].strayed > 0 && *request->tree.node) {
            fake->faults[at].strayed--;
            return fake_fail(error, ESP_NO_SERVER, "no such node; it was there, and cannot be reached");
        }
        fake_on_tree(at, request, reply);
        return reply->tree_reply.n_records > 0 ? ESP_OK : fake_fail(error, ESP_NOT_FOUND, "no such node");
    case MESSAGE_GREET:
        if (fake->faults[at].far_ms > 0)
            fake_wait_ms(fake, fake->faults[at].far_ms);
        reply->greet_reply.name = fake_names[at];
        reply->greet_reply.role = server ? ROLE_SERVER : at == 3 ? ROLE_REDIRECTOR : ROLE_MASTER;
        return ESP_OK;
    case MESSAGE_CALL:
        return server ? fake_on_call(fake, at, request, reply, error) : ESP_PROTOCOL;
    case MESSAGE_RUN:
        return fake_on_run(fake, at, request, reply, error);
    case MESSAGE_AWAIT:
        return fake_on_await(fake, at, request, reply, error);
    case MESSAGE_FOLLOW:
        return fake_on_follow(fake, at, request, reply, error);
    case MESSAGE_CANCEL:
        return fake_on_cancel(fake, at, request);
    default:
        return fake_fail(error, ESP_PROTOCOL, "no such request");
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
    if (at >= 0 && fake->faults[at].distant_ms > 0)
        fake_wait_ms(fake, fake->faults[at].distant_ms);
    if (at >= 0)
        fake->asked[at]++;
    fake->counters.unanswered += stopped && request->kind == MESSAGE_CALL;
    fake->counters.refused +=
        at >= 0 && fake->faults[at].dead && request->kind == MESSAGE_AWAIT && request->await.n_sessions > 0;
    fake->counters.undescribed += stopped && request->kind == MESSAGE_DESCRIBE;
    enum esp_status status =
        at < 0 || fake->faults[at].dead ? fake_fail(error, ESP_UNREACHABLE, "connection refused")
        : fake->faults[at].hangs_up     ? fake_fail(error, ESP_MAYBE, "it may have been executed")
        : stopped                       ? fake_fail(error, ESP_TIMEOUT, "no answer in time")
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
    struct held *held = fake_find_held(fake, at, header->chunk.session.sequence);
    const struct chunk *chunk = &header->chunk;
    enum esp_status status = ESP_OK;
    if (faults->dead)
        status = fake_fail(error, ESP_UNREACHABLE, "connection refused");
    else if (faults->lose_chunks > 0)
        faults->lose_chunks--, status = fake_fail(error, ESP_MAYBE, "connection broke");
    else if (!held)
        status = fake_fail(error, ESP_NOT_FOUND, "no such session");
    else if (chunk->offset + chunk->length > held->bytes[chunk->argument])
        status = fake_fail(error, ESP_INVALID, "beyond the end");
    else if (put)
        memcpy(held->data[chunk->argument] + chunk->offset, data, chunk->length), fake->counters.puts++;
    else
        memcpy(data, held->data[chunk->argument] + chunk->offset, chunk->length), fake->counters.gets++;
    if (!put && status == ESP_OK && faults->dies_behind > 0)
        faults->dead = --faults->dies_behind == 0;
    if (moved)
        *moved = chunk->length;
    leave(fake);
    return status;
}

static enum esp_status fake_put(struct transport *transport, const char *address,
                                const struct message *header, const void *data, int64_t timeout_ms,
                                int64_t silence_ms, struct esp_error *error)
{
    (void)timeout_ms, (void)silence_ms;
    return move(transport, address, header, (void *)data, true, NULL, error);
}

static enum esp_status fake_get(struct transport *transport, const char *address, struct message *header,
                                void *data, uint64_t *moved, int64_t timeout_ms, int64_t silence_ms,
                                struct esp_error *error)
{
    (void)timeout_ms, (void)silence_ms;
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
        fake_free_held(fake, fake->held);
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

unsigned fake_asked(struct transport *transport, const char *address)
{
    struct fake *fake = (struct fake *)transport;
    pthread_mutex_lock(&fake->lock);
    const unsigned asked = fake->asked[find_address(address)];
    pthread_mutex_unlock(&fake->lock);
    return asked;
}

void fake_forget(struct transport *transport, const char *address)
{
    struct fake *fake = (struct fake *)transport;
    pthread_mutex_lock(&fake->lock);
    fake_acknowledge(fake, find_address(address), UINT64_MAX);
    pthread_cond_broadcast(&fake->changed);
    pthread_mutex_unlock(&fake->lock);
}

void fake_set_ahead(struct transport *transport, unsigned n)
{
    ((struct fake *)transport)->ahead = n;
}

void fake_set_inline(struct transport *transport, uint64_t bytes)
{
    ((struct fake *)transport)->inline_bytes = bytes;
}
