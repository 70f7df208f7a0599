/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests, replies and chunks of the in-process transport.
 */
#include "core/inproc/inproc_net.h"
#include "core/reply.h"
#include "util/crc32c.h"

#include <stdlib.h>
#include <string.h>

/* One request from its sending to its end. Two sides may refer to it: the waiting caller, and the node
 * that must answer; it is freed when neither does. */
struct inproc_call {
    struct call call; /* first */
    struct inproc *net;
    char *address;
    struct memory_wire bytes; /* the request, later the reply, encoded */
    struct message request;
    struct envelope envelope;
    struct timer travel; /* the request, or the reply, arrives */
    struct timer deadline;
    bool asker_waits;
    bool ghost;                     /* on its way, but no caller waits for its reply */
    struct inproc_endpoint *holder; /* the endpoint whose node has it, NULL: none */
    enum message_kind kind;
    enum esp_status failure; /* the error for the caller when no reply comes */
    inproc_done *done;
    void *arg;
    const void *put_data;
    void *get_data;
    uint64_t moved;
    struct inproc_call *prev, *next;               /* among all */
    struct inproc_call *held_previous, *held_next; /* list of its holder's calls */
};

const struct envelope *inproc_call_envelope(const struct call *call)
{
    return &((const struct inproc_call *)call)->envelope;
}

/* Frees the call when neither side refers to it. */
static void settle(struct inproc_call *call)
{
    if (call->asker_waits || call->holder || call->ghost)
        return;
    timers_cancel(&call->net->timers, &call->travel);
    timers_cancel(&call->net->timers, &call->deadline);
    DL_DELETE(call->net->calls, call);
    memory_wire_release(&call->bytes);
    message_clear(&call->request);
    free(call->address);
    free(call);
}

static void hold(struct inproc_call *call, struct inproc_endpoint *endpoint)
{
    call->holder = endpoint;
    call->call.endpoint = &endpoint->endpoint;
    DL_APPEND2(endpoint->calls, call, held_previous, held_next);
}

static void let_go(struct inproc_call *call)
{
    DL_DELETE2(call->holder->calls, call, held_previous, held_next);
    call->holder = NULL;
}

/* Ends the call for the caller: `reply` is NULL when the call failed on the way. */
static void finish(struct inproc_call *call, enum esp_status status, const struct message *reply)
{
    call->asker_waits = false;
    timers_cancel(&call->net->timers, &call->deadline);
    timers_cancel(&call->net->timers, &call->travel);
    call->done(call->arg, status, reply);
    settle(call);
}

static void deadline_passed(struct timer *timer, int64_t now_ns, void *context)
{
    (void)now_ns, (void)context;
    struct inproc_call *call = (struct inproc_call *)((char *)timer - offsetof(struct inproc_call, deadline));
    struct inproc_endpoint *endpoint = call->holder;
    if (endpoint && endpoint->alive) {
        inproc_begin(endpoint);
        if (endpoint->ops->abandoned)
            endpoint->ops->abandoned(endpoint->self, &call->call);
        let_go(call);
        inproc_end(endpoint);
    }
    finish(call, ESP_TIMEOUT, NULL);
}

static void failure_arrived(struct timer *timer, int64_t now_ns, void *context)
{
    (void)now_ns, (void)context;
    struct inproc_call *call = (struct inproc_call *)((char *)timer - offsetof(struct inproc_call, travel));
    finish(call, call->failure, NULL);
}

static void reply_arrived(struct timer *timer, int64_t now_ns, void *context)
{
    (void)now_ns;
    struct inproc *net = context;
    struct inproc_call *call = (struct inproc_call *)((char *)timer - offsetof(struct inproc_call, travel));
    if (inproc_is_cut(net, INPROC_CLIENT, call->address))
        return; /* the deadline will end it */
    struct message reply = {.kind = message_reply_kind(call->kind)};
    struct memory_wire memory;
    memory_wire_decoder(&memory, call->bytes.data, call->bytes.size, &reply.arena);
    if (wire_message(&memory.wire, &reply))
        finish(call, message_outcome(&reply, NULL), &reply);
    else
        finish(call, memory.wire.error.status, NULL);
    message_clear(&reply);
}

/* Sends the reply, or news of failure, to the caller: it travels as long as any message does. */
static void travel_back(struct inproc_call *call,
                        void (*fire)(struct timer *timer, int64_t now_ns, void *context))
{
    call->travel.fire = fire;
    timers_set(&call->net->timers, &call->travel, inproc_arrival_ns(call->net), NULL);
}

static void fail_later(struct inproc_call *call, enum esp_status status)
{
    call->failure = status;
    travel_back(call, failure_arrived);
}

static void answer(struct inproc_call *call, struct message *reply)
{
    if (call->asker_waits) {
        memory_wire_release(&call->bytes);
        reply_encode(&call->bytes, call->kind, reply, MESSAGE_BYTES);
        call->net->counters.bytes += call->bytes.size;
        if (inproc_draw(call->net, call->net->faults.maybe))
            fail_later(call, ESP_MAYBE);
        else if (!inproc_is_cut(call->net, INPROC_CLIENT, call->address))
            travel_back(call, reply_arrived);
    }
    message_destroy(reply);
}

void inproc_reply(struct call *base, struct message *reply)
{
    struct inproc_call *call = (struct inproc_call *)base;
    bool alive = call->holder->alive;
    let_go(call);
    if (alive)
        answer(call, reply);
    else
        message_destroy(reply);
    settle(call);
}

/* ---- chunks: data are copied here, between the caller's memory and the node's area ---- */

static struct message *chunk_moved(uint64_t length)
{
    struct message *reply = message_create(MESSAGE_CHUNK_REPLY);
    if (reply)
        reply->chunk_reply.length = length;
    return reply;
}

/* Copies the chunk, and may flip a bit; false when a checksum detects that. */
static bool copy_chunk(struct inproc_call *call, const struct chunk_area *area, bool write)
{
    const struct chunk *chunk = &call->request.chunk;
    uint8_t *to = write ? area->data : call->get_data;
    const void *from = write ? call->put_data : area->data;
    bool summed = (chunk->flags & CHUNK_HAS_CRC) || call->net->faults.damage > 0;
    if (area->length == 0)
        return true;
    memcpy(to, from, area->length);
    if (inproc_draw(call->net, call->net->faults.damage))
        to[area->length / 2] ^= 1;
    if (!summed)
        return true;
    uint32_t sent = write && (chunk->flags & CHUNK_HAS_CRC) ? chunk->crc32c : crc32c(0, from, area->length);
    return crc32c(0, to, area->length) == sent;
}

static bool work_on(struct chunk_area *area, struct esp_error *error)
{
    return !area->work || area->work(area, error) == ESP_OK;
}

static void move_chunk(struct inproc_call *call, struct inproc_endpoint *endpoint)
{
    bool write = call->kind == MESSAGE_PUT;
    uint64_t wanted = call->request.chunk.length;
    struct chunk_area area = {0};
    endpoint->ops->chunk(endpoint->self, &call->request, write, &area);
    if (area.reply) {
        answer(call, area.reply);
        return;
    }
    bool fits = write ? area.length == wanted : area.length <= wanted;
    struct esp_error error = {0};
    bool worked = !fits || write || work_on(&area, &error);
    bool whole = fits && worked && copy_chunk(call, &area, write);
    if (whole && write)
        worked = work_on(&area, &error);
    call->moved = whole && worked ? area.length : 0;
    uint64_t length = area.length;
    if (endpoint->ops->chunk_done)
        endpoint->ops->chunk_done(endpoint->self, &call->request, write, &area,
                                  worked && (write ? whole : fits));
    if (!worked)
        answer(call, message_failure(MESSAGE_CHUNK_REPLY, error.status, "%s", error.text));
    else if (fits && !whole)
        answer(call, message_failure(MESSAGE_CHUNK_REPLY, ESP_PROTOCOL, "chunk damaged on the way"));
    else
        answer(call, fits ? chunk_moved(length)
                          : message_failure(MESSAGE_CHUNK_REPLY, ESP_INTERNAL,
                                            "an area of %llu bytes was given for a chunk of %llu",
                                            (unsigned long long)length, (unsigned long long)wanted));
}

static bool is_chunk(enum message_kind kind)
{
    return kind == MESSAGE_PUT || kind == MESSAGE_GET;
}

static void hand_over(struct inproc_call *call, struct inproc_endpoint *endpoint)
{
    bool chunk = is_chunk(call->kind);
    if (chunk ? !endpoint->ops->chunk : !endpoint->ops->call) {
        answer(call, message_failure(message_reply_kind(call->kind), ESP_PROTOCOL, "%s takes no %s",
                                     endpoint->address, message_name(call->kind)));
        return;
    }
    inproc_begin(endpoint);
    if (chunk) {
        move_chunk(call, endpoint);
    } else {
        hold(call, endpoint);
        endpoint->ops->call(endpoint->self, &call->call, &call->request);
    }
    inproc_end(endpoint);
}

static void ghost_arrived(struct timer *timer, int64_t now_ns, void *context)
{
    (void)now_ns;
    struct inproc *net = context;
    struct inproc_call *call = (struct inproc_call *)((char *)timer - offsetof(struct inproc_call, travel));
    struct inproc_endpoint *endpoint = inproc_find(net, call->address);
    struct memory_wire memory;
    memory_wire_decoder(&memory, call->bytes.data, call->bytes.size, &call->request.arena);
    call->request.kind = call->kind;
    call->ghost = false;
    if (endpoint && !inproc_is_cut(net, INPROC_CLIENT, call->address) &&
        wire_message(&memory.wire, &call->request))
        hand_over(call, endpoint); /* frees it with the reply */
    else
        settle(call);
}

static void request_arrived(struct timer *timer, int64_t now_ns, void *context)
{
    (void)now_ns;
    struct inproc *net = context;
    struct inproc_call *call = (struct inproc_call *)((char *)timer - offsetof(struct inproc_call, travel));
    if (inproc_is_cut(net, INPROC_CLIENT, call->address))
        return;
    struct inproc_endpoint *endpoint = inproc_find(net, call->address);
    if (!endpoint) {
        fail_later(call, ESP_UNREACHABLE);
        return;
    }
    struct memory_wire memory;
    memory_wire_decoder(&memory, call->bytes.data, call->bytes.size, &call->request.arena);
    call->request.kind = call->kind;
    if (wire_message(&memory.wire, &call->request))
        hand_over(call, endpoint);
    else
        fail_later(call, memory.wire.error.status);
}

/* ---- the caller's side ---- */

static struct inproc_call *create(struct inproc *net, const char *address, enum message_kind kind)
{
    struct inproc_call *call = calloc(1, sizeof *call);
    if (!call || !(call->address = strdup(address))) {
        free(call);
        return NULL;
    }
    call->net = net;
    call->kind = kind;
    call->envelope = (struct envelope){.from = "", .peer = INPROC_CLIENT, .identity = ""};
    call->deadline = (struct timer){.fire = deadline_passed, .context = net};
    DL_APPEND(net->calls, call);
    memory_wire_encoder(&call->bytes, MESSAGE_BYTES);
    return call;
}

/* Sends a duplicate; without memory the fault does not happen. */
static void send_ghost(struct inproc *net, const char *address, const struct message *request)
{
    struct inproc_call *call = create(net, address, request->kind);
    if (!call)
        return;
    call->travel = (struct timer){.fire = ghost_arrived, .context = net};
    const int64_t late_ns = (int64_t)random_below(&net->random, (uint64_t)net->faults.ghost_ns + 1);
    call->ghost = wire_message(&call->bytes.wire, (struct message *)request) &&
                  timers_set(&net->timers, &call->travel, inproc_arrival_ns(net) + late_ns, NULL) == ESP_OK;
    net->counters.duplicated += call->ghost;
    settle(call);
}

static enum esp_status start(struct inproc *net, const char *address, const struct message *request,
                             int64_t timeout_ms, inproc_done *done, void *arg, struct inproc_call **result,
                             struct esp_error *error)
{
    if (!message_operation(request->kind))
        return error_set(error, ESP_INVALID, "a %s is not a request", message_name(request->kind));
    if (strlen(address) > CAP_ADDRESS || timeout_ms <= 0)
        return error_set(error, ESP_INVALID, "a call needs an address of at most %d bytes and a time-out",
                         CAP_ADDRESS);
    struct inproc_call *call = create(net, address, request->kind);
    if (!call)
        return error_no_memory(error, "a call");
    call->done = done;
    call->arg = arg;
    call->asker_waits = true;
    call->travel = (struct timer){.fire = request_arrived, .context = net};
    enum esp_status status = ESP_OK;
    if (!wire_message(&call->bytes.wire, (struct message *)request)) {
        status = call->bytes.wire.error.status;
        if (error)
            *error = call->bytes.wire.error;
    } else {
        int64_t now = net->clock.time_ns;
        status = timers_set(
            &net->timers, &call->deadline,
            timeout_ms < INT64_MAX / NS_PER_MS / 2 ? now + timeout_ms * NS_PER_MS : CLOCK_NEVER - 1, error);
        if (status == ESP_OK && !inproc_is_cut(net, INPROC_CLIENT, address))
            status = timers_set(&net->timers, &call->travel, inproc_arrival_ns(net), error);
    }
    if (status != ESP_OK) {
        call->asker_waits = false;
        settle(call);
        return status;
    }
    net->counters.calls++;
    net->counters.bytes += call->bytes.size;
    if (!is_chunk(request->kind) && inproc_draw(net, net->faults.ghost))
        send_ghost(net, address, request);
    *result = call;
    return ESP_OK;
}

enum esp_status inproc_call_async(struct transport *transport, const char *address,
                                  const struct message *request, int64_t timeout_ms, inproc_done *done,
                                  void *arg, struct esp_error *error)
{
    struct inproc_call *call;
    if (is_chunk(request->kind))
        return error_set(error, ESP_INVALID, "chunks go by transport_put() and transport_get()");
    return start((struct inproc *)transport, address, request, timeout_ms, done, arg, &call, error);
}

/* Result of a call for a waiting caller. */
struct waiter {
    bool finished;
    enum esp_status status;
    enum message_kind kind;
    struct message *reply;
};

/* The reply is freed after the callback, so the waiter's copy is decoded from its encoding. */
static void waiter_done(void *arg, enum esp_status status, const struct message *reply)
{
    struct waiter *waiter = arg;
    waiter->finished = true;
    waiter->status = status;
    if (!reply)
        return;
    *waiter->reply = *reply;
    /* The arena moves to the copy, so the original owns no memory. */
    ((struct message *)reply)->arena = (struct arena){0};
    waiter->status = ESP_OK;
}

static enum esp_status wait_for(struct inproc *net, const char *address, int64_t timeout_ms,
                                const struct waiter *waiter, struct esp_error *error)
{
    bool nested = net->running;
    net->running = true;
    while (!waiter->finished && inproc_step(net, CLOCK_NEVER - 1))
        ;
    net->running = nested;
    switch (waiter->finished ? waiter->status : ESP_INTERNAL) {
    case ESP_OK:
        return ESP_OK;
    case ESP_UNREACHABLE:
        return error_set(error, ESP_UNREACHABLE, "%s: nobody serves there", address);
    case ESP_MAYBE:
        return error_set(error, ESP_MAYBE, "%s: the reply was lost; the %s may have been executed", address,
                         message_name(waiter->kind));
    case ESP_TIMEOUT:
        return error_set(error, ESP_TIMEOUT, "%s: no answer to %s within %lld ms", address,
                         message_name(waiter->kind), (long long)timeout_ms);
    default:
        return error_set(error, waiter->status, "%s: the %s could not be carried out", address,
                         message_name(waiter->kind));
    }
}

/* Common part of call, put and get. */
static enum esp_status ask(struct transport *transport, const char *address, const struct message *request,
                           int64_t timeout_ms, const void *put_data, void *get_data, uint64_t *moved,
                           struct message *reply, struct esp_error *error)
{
    struct inproc *net = (struct inproc *)transport;
    *reply = (struct message){.kind = message_reply_kind(request->kind)};
    if (net->running)
        return error_set(error, ESP_INTERNAL, "a node waits for a %s inside an operation",
                         message_name(request->kind));
    struct waiter waiter = {.reply = reply, .kind = request->kind};
    struct inproc_call *call;
    enum esp_status status = start(net, address, request, timeout_ms, waiter_done, &waiter, &call, error);
    if (status != ESP_OK)
        return status;
    uint64_t ignored;
    call->put_data = put_data;
    call->get_data = get_data;
    status = wait_for(net, address, timeout_ms, &waiter, error);
    *(moved ? moved : &ignored) = status == ESP_OK && is_chunk(request->kind) ? reply->chunk_reply.length : 0;
    return status;
}

enum esp_status inproc_call(struct transport *transport, const char *address, const struct message *request,
                            int64_t timeout_ms, struct message *reply, struct esp_error *error)
{
    if (is_chunk(request->kind)) {
        *reply = (struct message){.kind = MESSAGE_CHUNK_REPLY};
        return error_set(error, ESP_INVALID, "chunks go by transport_put() and transport_get()");
    }
    return ask(transport, address, request, timeout_ms, NULL, NULL, NULL, reply, error);
}

static enum esp_status move(struct transport *transport, const char *address, const struct message *header,
                            enum message_kind kind, const void *put_data, void *get_data, uint64_t *moved,
                            int64_t timeout_ms, struct esp_error *error)
{
    if (header->kind != kind || header->chunk.length > CAP_CHUNK)
        return error_set(error, ESP_INVALID, "expected a %s of at most %d bytes, found a %s of %llu",
                         message_name(kind), CAP_CHUNK, message_name(header->kind),
                         (unsigned long long)header->chunk.length);
    struct message reply;
    enum esp_status status =
        ask(transport, address, header, timeout_ms, put_data, get_data, moved, &reply, error);
    if (status == ESP_OK)
        status = message_outcome(&reply, error);
    message_clear(&reply);
    return status;
}

/* Chunks arrive as a whole here, so no byte arrives earlier: the silence limit applies to the whole. */
static int64_t as_a_whole_ms(int64_t timeout_ms, int64_t silence_ms)
{
    return silence_ms > 0 && silence_ms < timeout_ms ? silence_ms : timeout_ms;
}

enum esp_status inproc_put(struct transport *transport, const char *address, const struct message *header,
                           const void *data, int64_t timeout_ms, int64_t silence_ms, struct esp_error *error)
{
    return move(transport, address, header, MESSAGE_PUT, data, NULL, NULL,
                as_a_whole_ms(timeout_ms, silence_ms), error);
}

enum esp_status inproc_get(struct transport *transport, const char *address, struct message *header,
                           void *data, uint64_t *moved, int64_t timeout_ms, int64_t silence_ms,
                           struct esp_error *error)
{
    *moved = 0;
    return move(transport, address, header, MESSAGE_GET, NULL, data, moved,
                as_a_whole_ms(timeout_ms, silence_ms), error);
}

/* ---- end of an endpoint ---- */

void inproc_calls_lost(struct inproc_endpoint *endpoint)
{
    struct inproc_call *call;
    DL_FOREACH2(endpoint->calls, call, held_next)
    if (call->asker_waits)
        fail_later(call, ESP_MAYBE);
}

void inproc_calls_close(struct inproc_endpoint *endpoint)
{
    struct inproc_call *call;
    while ((call = endpoint->calls)) {
        if (endpoint->alive) {
            inproc_begin(endpoint);
            if (endpoint->ops->abandoned)
                endpoint->ops->abandoned(endpoint->self, &call->call);
            if (call->asker_waits)
                fail_later(call, ESP_UNREACHABLE);
            inproc_end(endpoint);
        }
        let_go(call);
        settle(call);
    }
}

void inproc_calls_clear(struct inproc *net)
{
    struct inproc_call *call, *next;
    DL_FOREACH_SAFE(net->calls, call, next)
    {
        if (call->holder)
            let_go(call);
        call->asker_waits = call->ghost = false;
        settle(call);
    }
}
