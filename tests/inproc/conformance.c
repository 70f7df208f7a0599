/* SPDX-License-Identifier: Apache-2.0
 *
 * Every promise of core/transport.h, over both transports. A test sees the world through a few functions:
 * it serves nodes, lets time pass, and looks.
 */
#include "tests/unit/unit.h"
#include "core/inproc.h"
#include "tests/inproc/conformance.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- the world ---- */

static bool virtual_time; /* the in-process transport's */
static struct transport *net;

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2 * 1000 * 1000}, NULL);
}

/* ---- a node that writes down what happens to it ---- */

enum manner { ANSWER_AT_ONCE, ANSWER_LATER, ANSWER_NEVER, ANSWER_NOTHING, ANSWER_WRONG, ANSWER_HUGE };

struct node {
    struct endpoint *endpoint;
    char name[32];
    char address[64];
    uint64_t incarnation;
    enum manner manner;
    uint64_t numbers[4096]; /* of pulses */
    size_t n_numbers;
    unsigned undelivered, abandoned, chunks_done, chunks_broken, helped;
    enum esp_status undelivered_status;
    char undelivered_address[64];
    char from[64];
    struct call *kept;
    int64_t due_ns;
    uint8_t *memory;
    size_t memory_bytes;
    const char *echo; /* pulses are sent on to there */
    bool wants_help;
    atomic_bool inside;
    atomic_uint overlaps;
};

static void come_in(struct node *node)
{
    if (atomic_exchange(&node->inside, true))
        atomic_fetch_add(&node->overlaps, 1);
}

static void go_out(struct node *node)
{
    atomic_store(&node->inside, false);
}

static void node_post(void *self, const struct envelope *envelope, const struct message *message)
{
    struct node *node = self;
    come_in(node);
    snprintf(node->from, sizeof node->from, "%s", envelope->from);
    if (message->kind == MESSAGE_PULSE && node->n_numbers < 4096)
        node->numbers[node->n_numbers++] = message->pulse.number;
    if (node->echo)
        endpoint_post(node->endpoint, node->echo, 0, message, NULL);
    go_out(node);
}

static void node_undelivered(void *self, const char *address, enum esp_status status)
{
    struct node *node = self;
    come_in(node);
    node->undelivered++;
    node->undelivered_status = status;
    snprintf(node->undelivered_address, sizeof node->undelivered_address, "%s", address);
    go_out(node);
}

static struct message *greeting(const struct node *node, const struct message *request)
{
    struct message *reply = message_create(MESSAGE_GREET_REPLY);
    reply->greet_reply.name = arena_strdup(&reply->arena, node->name);
    reply->greet_reply.incarnation = node->incarnation;
    reply->greet_reply.features = request->greet.features;
    return reply;
}

static struct message *huge(void)
{
    struct message *reply = message_create(MESSAGE_GREET_REPLY);
    static struct extension extensions[3];
    static uint8_t block[CAP_INLINE];
    for (int i = 0; i < 3; i++)
        extensions[i] = (struct extension){.tag = 1, .value = block, .length = sizeof block};
    reply->greet_reply.extensions = (struct extensions){extensions, 3};
    return reply;
}

static bool help_once(void *arg, int64_t until_ns)
{
    struct node *node = arg;
    (void)until_ns;
    endpoint_enter(node->endpoint);
    if (node->kept) {
        struct call *call = node->kept;
        struct message request = {.kind = MESSAGE_GREET};
        node->kept = NULL;
        node->helped++;
        call_reply(call, greeting(node, &request));
    }
    endpoint_leave(node->endpoint);
    return true;
}

static void node_call(void *self, struct call *call, const struct message *request)
{
    struct node *node = self;
    come_in(node);
    assert_non_null(call_envelope(call)->peer);
    assert_non_null(call_envelope(call)->identity);
    call_set_data(call, node);
    assert_ptr_equal(call_data(call), node);
    switch (node->manner) {
    case ANSWER_AT_ONCE:
        call_reply(call, greeting(node, request));
        break;
    case ANSWER_LATER:
        node->due_ns = clock_now_ns(transport_clock(net)) + 20 * NS_PER_MS;
        node->kept = call;
        break;
    case ANSWER_NEVER:
        node->kept = call;
        if (node->wants_help)
            call_set_help(call, help_once, node);
        break;
    case ANSWER_NOTHING:
        call_reply(call, NULL);
        break;
    case ANSWER_WRONG:
        call_reply(call, message_create(MESSAGE_TREE_REPLY));
        break;
    case ANSWER_HUGE:
        call_reply(call, huge());
        break;
    }
    go_out(node);
}

static void node_abandoned(void *self, struct call *call)
{
    struct node *node = self;
    come_in(node);
    assert_ptr_equal(call, node->kept);
    node->kept = NULL;
    node->abandoned++;
    go_out(node);
}

static void node_chunk(void *self, const struct message *header, bool write, struct chunk_area *area)
{
    struct node *node = self;
    const struct chunk *chunk = &header->chunk;
    come_in(node);
    uint64_t end = chunk->offset + chunk->length;
    if (chunk->offset > node->memory_bytes || (write && end > node->memory_bytes)) {
        area->reply = message_failure(MESSAGE_CHUNK_REPLY, ESP_LIMIT, "beyond the end");
    } else {
        area->data = node->memory + chunk->offset;
        area->length = end > node->memory_bytes ? node->memory_bytes - chunk->offset : chunk->length;
        area->hold = node;
    }
    go_out(node);
}

static void node_chunk_done(void *self, const struct message *header, bool write, struct chunk_area *area,
                            bool complete)
{
    struct node *node = self;
    (void)header, (void)write;
    come_in(node);
    assert_ptr_equal(area->hold, node);
    if (complete)
        node->chunks_done++;
    else
        node->chunks_broken++;
    go_out(node);
}

static int64_t node_due(void *self)
{
    return ((struct node *)self)->due_ns;
}

static void node_tick(void *self)
{
    struct node *node = self;
    struct message request = {.kind = MESSAGE_GREET};
    come_in(node);
    node->due_ns = CLOCK_NEVER;
    if (node->kept) {
        struct call *call = node->kept;
        node->kept = NULL;
        call_reply(call, greeting(node, &request));
    }
    go_out(node);
}

static const struct endpoint_ops node_ops = {
    .post = node_post,
    .undelivered = node_undelivered,
    .call = node_call,
    .abandoned = node_abandoned,
    .chunk = node_chunk,
    .chunk_done = node_chunk_done,
    .due = node_due,
    .tick = node_tick,
};

static struct node *serve_at(const char *name, uint64_t incarnation, const char *listen)
{
    struct node *node = calloc(1, sizeof *node);
    snprintf(node->name, sizeof node->name, "%s", name);
    node->incarnation = incarnation;
    node->due_ns = CLOCK_NEVER;
    struct endpoint_options options = {
        .name = node->name, .role = ROLE_LEADER, .incarnation = incarnation, .listen = listen};
    struct esp_error error = {0};
    enum esp_status status = transport_serve(net, &options, &node_ops, node, &node->endpoint, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, ESP_OK);
    snprintf(node->address, sizeof node->address, "%s", endpoint_address(node->endpoint));
    return node;
}

static struct node *serve(const char *name, uint64_t incarnation)
{
    return serve_at(name, incarnation, "127.0.0.1:0");
}

static void leave(struct node *node)
{
    endpoint_close(node->endpoint);
    assert_int_equal(atomic_load(&node->overlaps), 0);
    free(node->memory);
    free(node);
}

/* Lets time pass until the node's number is `wanted` (or for a long time). */
static void await_number(struct node *node, const unsigned *number, unsigned wanted)
{
    for (int i = 0; i < 10000; i++) {
        endpoint_enter(node->endpoint);
        bool there = *number >= wanted;
        endpoint_leave(node->endpoint);
        if (there)
            break;
        if (virtual_time)
            inproc_run(net, inproc_now_ns(net) + 10 * NS_PER_MS);
        else
            nap();
    }
    endpoint_enter(node->endpoint);
    assert_int_equal(*number, wanted);
    endpoint_leave(node->endpoint);
}

static void await_pulses(struct node *node, size_t wanted)
{
    for (int i = 0; i < 10000; i++) {
        endpoint_enter(node->endpoint);
        size_t n = node->n_numbers;
        endpoint_leave(node->endpoint);
        if (n >= wanted)
            break;
        if (virtual_time)
            inproc_run(net, inproc_now_ns(net) + 10 * NS_PER_MS);
        else
            nap();
    }
    endpoint_enter(node->endpoint);
    assert_int_equal(node->n_numbers, wanted);
    endpoint_leave(node->endpoint);
}

static void say(struct node *from, const char *to, uint64_t incarnation, uint64_t number)
{
    struct message message = {.kind = MESSAGE_PULSE, .pulse = {number}};
    endpoint_enter(from->endpoint);
    assert_int_equal(endpoint_post(from->endpoint, to, incarnation, &message, NULL), ESP_OK);
    endpoint_leave(from->endpoint);
}

static const struct message greet = {.kind = MESSAGE_GREET, .greet = {.features = 99}};

/* ---- calls ---- */

static void a_call_is_answered(void **state)
{
    (void)state;
    struct node *a = serve("a", 17);
    struct message reply;
    struct esp_error error;
    assert_int_equal(transport_call(net, a->address, &greet, 5000, &reply, &error), ESP_OK);
    assert_int_equal(reply.kind, MESSAGE_GREET_REPLY);
    assert_string_equal(reply.greet_reply.name, "a");
    assert_int_equal(reply.greet_reply.incarnation, 17);
    assert_int_equal(reply.greet_reply.features, 99);
    message_clear(&reply);
    leave(a);
}

static void an_answer_may_come_later(void **state)
{
    (void)state;
    struct node *a = serve("a", 17);
    a->manner = ANSWER_LATER;
    struct message reply;
    assert_int_equal(transport_call(net, a->address, &greet, 5000, &reply, NULL), ESP_OK);
    assert_int_equal(reply.greet_reply.incarnation, 17);
    message_clear(&reply);
    leave(a);
}

static void a_call_ends_with_its_deadline(void **state)
{
    (void)state;
    struct node *a = serve("a", 17);
    a->manner = ANSWER_NEVER;
    struct message reply;
    struct esp_error error;
    assert_int_equal(transport_call(net, a->address, &greet, 100, &reply, &error), ESP_TIMEOUT);
    assert_non_null(strstr(error.text, a->address));
    message_clear(&reply);
    leave(a);
}

static void a_node_hears_when_a_call_is_given_up(void **state)
{
    (void)state;
    struct node *a = serve("a", 17);
    a->manner = ANSWER_NEVER;
    struct message reply, request = {.kind = MESSAGE_AWAIT, .await = {.patience_ms = 1}};
    assert_int_equal(transport_call(net, a->address, &request, 100, &reply, NULL), ESP_TIMEOUT);
    message_clear(&reply);
    await_number(a, &a->abandoned, 1);
    leave(a);
}

static void a_failure_arrives_as_a_status_and_a_text(void **state)
{
    (void)state;
    struct node *a = serve("a", 17);
    struct message reply;
    struct esp_error error;
    a->manner = ANSWER_NOTHING;
    assert_int_equal(transport_call(net, a->address, &greet, 5000, &reply, &error), ESP_NO_MEMORY);
    message_clear(&reply);
    a->manner = ANSWER_WRONG;
    assert_int_equal(transport_call(net, a->address, &greet, 5000, &reply, &error), ESP_INTERNAL);
    assert_non_null(strstr(error.text, "was answered with"));
    message_clear(&reply);
    a->manner = ANSWER_HUGE;
    assert_int_equal(transport_call(net, a->address, &greet, 5000, &reply, &error), ESP_LIMIT);
    message_clear(&reply);
    leave(a);
}

static void a_request_that_is_too_large_is_not_sent(void **state)
{
    (void)state;
    struct node *a = serve("a", 17);
    uint8_t *block = calloc(1, CAP_INLINE);
    struct extension extensions[3];
    for (int i = 0; i < 3; i++)
        extensions[i] = (struct extension){.tag = 1, .value = block, .length = CAP_INLINE};
    struct message request = {.kind = MESSAGE_GREET, .greet = {.extensions = {extensions, 3}}}, reply;
    struct esp_error error;
    assert_int_equal(transport_call(net, a->address, &request, 5000, &reply, &error), ESP_LIMIT);
    assert_non_null(strstr(error.text, "cap"));
    message_clear(&reply);
    request.greet.extensions.n = 1; /* large, but not too large */
    assert_int_equal(transport_call(net, a->address, &request, 5000, &reply, &error), ESP_OK);
    message_clear(&reply);
    free(block);
    leave(a);
}

static void nobody_there_is_unreachable(void **state)
{
    (void)state;
    struct node *a = serve("a", 17);
    char address[64];
    snprintf(address, sizeof address, "%s", a->address);
    leave(a);
    struct message reply;
    struct esp_error error;
    assert_int_equal(transport_call(net, address, &greet, 2000, &reply, &error), ESP_UNREACHABLE);
    assert_non_null(strstr(error.text, address));
    message_clear(&reply);
}

static void a_node_without_requests_says_so(void **state)
{
    (void)state;
    static const struct endpoint_ops deaf_ops = {0};
    struct endpoint *deaf;
    struct endpoint_options options = {.name = "deaf", .listen = "127.0.0.1:0"};
    assert_int_equal(transport_serve(net, &options, &deaf_ops, NULL, &deaf, NULL), ESP_OK);
    char address[64];
    snprintf(address, sizeof address, "%s", endpoint_address(deaf));
    struct message reply, header = {.kind = MESSAGE_PUT, .chunk = {.length = 1}};
    struct esp_error error;
    assert_int_equal(transport_call(net, address, &greet, 2000, &reply, &error), ESP_PROTOCOL);
    assert_non_null(strstr(error.text, "deaf takes no greet"));
    message_clear(&reply);
    assert_int_equal(transport_put(net, address, &header, "x", 2000, &error), ESP_PROTOCOL);
    endpoint_close(deaf);
}

static void nonsense_is_refused_before_it_is_sent(void **state)
{
    (void)state;
    struct node *a = serve("a", 17);
    struct message reply, wrong = {.kind = MESSAGE_PULSE};
    assert_int_equal(transport_call(net, a->address, &wrong, 100, &reply, NULL), ESP_INVALID);
    message_clear(&reply);
    assert_int_equal(transport_call(net, a->address, &greet, 0, &reply, NULL), ESP_INVALID);
    message_clear(&reply);
    endpoint_enter(a->endpoint);
    assert_int_equal(endpoint_post(a->endpoint, a->address, 0, &greet, NULL), ESP_INVALID);
    endpoint_leave(a->endpoint);
    leave(a);
}

/* ---- posts ---- */

static void posts_arrive_in_order(void **state)
{
    (void)state;
    struct node *a = serve("a", 1), *b = serve("b", 2);
    for (uint64_t i = 0; i < 500; i++)
        say(a, b->address, 0, i);
    struct message message = {.kind = MESSAGE_PULSE};
    endpoint_enter(a->endpoint);
    for (uint64_t i = 500; i < 2000; i++) {
        message.pulse.number = i;
        assert_int_equal(endpoint_post(a->endpoint, b->address, 2, &message, NULL), ESP_OK);
    }
    endpoint_leave(a->endpoint);
    await_pulses(b, 2000);
    endpoint_enter(b->endpoint);
    for (uint64_t i = 0; i < 2000; i++)
        assert_int_equal(b->numbers[i], i);
    assert_string_equal(b->from, virtual_time ? b->from : "a");
    endpoint_leave(b->endpoint);
    leave(a);
    leave(b);
}

static void posts_from_operations_go_on(void **state)
{
    (void)state;
    struct node *a = serve("a", 1), *b = serve("b", 2), *c = serve("c", 3);
    b->echo = c->address;
    c->echo = NULL;
    for (uint64_t i = 0; i < 50; i++)
        say(a, b->address, 0, i);
    await_pulses(c, 50);
    endpoint_enter(c->endpoint);
    for (uint64_t i = 0; i < 50; i++)
        assert_int_equal(c->numbers[i], i);
    endpoint_leave(c->endpoint);
    leave(a);
    leave(b);
    leave(c);
}

static void a_node_may_write_to_itself(void **state)
{
    (void)state;
    struct node *a = serve("a", 1);
    say(a, a->address, 1, 7);
    await_pulses(a, 1);
    leave(a);
}

static void posts_to_an_earlier_incarnation_are_dropped(void **state)
{
    (void)state;
    struct node *a = serve("a", 1), *b = serve("b", 2);
    say(a, b->address, 1, 1); /* stale */
    for (int i = 0; i < 30; i++) {
        if (virtual_time)
            inproc_run(net, inproc_now_ns(net) + NS_PER_MS);
        else
            nap();
    }
    say(a, b->address, 2, 2);
    await_pulses(b, 1);
    endpoint_enter(b->endpoint);
    assert_int_equal(b->numbers[0], 2);
    endpoint_leave(b->endpoint);
    leave(a);
    leave(b);
}

static void a_post_that_is_too_large_harms_no_other(void **state)
{
    (void)state;
    struct node *a = serve("a", 1), *b = serve("b", 2);
    uint8_t *block = calloc(1, CAP_INLINE);
    struct extension extensions[3];
    for (int i = 0; i < 3; i++)
        extensions[i] = (struct extension){.tag = 1, .value = block, .length = CAP_INLINE};
    struct message large = {.kind = MESSAGE_HELLO, .hello = {.extensions = {extensions, 3}}};
    struct message pulse = {.kind = MESSAGE_PULSE, .pulse = {1}};
    endpoint_enter(a->endpoint);
    assert_int_equal(endpoint_post(a->endpoint, b->address, 0, &pulse, NULL), ESP_OK);
    assert_int_equal(endpoint_post(a->endpoint, b->address, 0, &large, NULL), ESP_LIMIT);
    pulse.pulse.number = 2;
    large.hello.extensions.n = 1;
    for (int i = 0; i < 3; i++) /* more than one post holds */
        assert_int_equal(endpoint_post(a->endpoint, b->address, 0, &large, NULL), ESP_OK);
    assert_int_equal(endpoint_post(a->endpoint, b->address, 0, &pulse, NULL), ESP_OK);
    endpoint_leave(a->endpoint);
    await_pulses(b, 2);
    endpoint_enter(b->endpoint);
    assert_int_equal(b->numbers[0], 1);
    assert_int_equal(b->numbers[1], 2);
    endpoint_leave(b->endpoint);
    free(block);
    leave(a);
    leave(b);
}

static void what_cannot_be_delivered_is_told_once_per_batch(void **state)
{
    (void)state;
    struct node *a = serve("a", 1), *b = serve("b", 2);
    char address[64];
    snprintf(address, sizeof address, "%s", b->address);
    leave(b);
    struct message pulse = {.kind = MESSAGE_PULSE};
    endpoint_enter(a->endpoint);
    for (int i = 0; i < 10; i++)
        assert_int_equal(endpoint_post(a->endpoint, address, 0, &pulse, NULL), ESP_OK);
    endpoint_leave(a->endpoint);
    await_number(a, &a->undelivered, 1);
    endpoint_enter(a->endpoint);
    assert_int_equal(a->undelivered_status, ESP_UNREACHABLE);
    assert_string_equal(a->undelivered_address, address);
    endpoint_leave(a->endpoint);
    say(a, address, 0, 1);
    await_number(a, &a->undelivered, 2);
    leave(a);
}

static void a_successor_takes_over_the_address(void **state)
{
    (void)state;
    struct node *a = serve("a", 1), *b = serve("b", 10);
    char address[64];
    snprintf(address, sizeof address, "%s", b->address);
    say(a, address, 10, 1);
    await_pulses(b, 1);
    struct message reply;
    assert_int_equal(transport_call(net, address, &greet, 5000, &reply, NULL), ESP_OK);
    message_clear(&reply);
    leave(b);
    b = serve_at("b", 11, address);
    assert_string_equal(b->address, address);
    struct esp_error error = {0};
    /* The first call after a restart may meet the broken connection. */
    enum esp_status status = transport_call(net, address, &greet, 5000, &reply, &error);
    if (status != ESP_OK) {
        message_clear(&reply);
        status = transport_call(net, address, &greet, 5000, &reply, &error);
    }
    assert_int_equal(status, ESP_OK);
    assert_int_equal(reply.greet_reply.incarnation, 11);
    message_clear(&reply);
    leave(a);
    leave(b);
}

/* ---- chunks ---- */

static void chunks_go_straight_to_their_place(void **state)
{
    (void)state;
    enum { BYTES = 3 << 20, OFFSET = 12345 };
    struct node *a = serve("a", 1);
    a->memory_bytes = BYTES + OFFSET + 77;
    a->memory = calloc(1, a->memory_bytes);
    uint8_t *data = malloc(BYTES), *back = calloc(1, BYTES + 1000);
    for (int i = 0; i < BYTES; i++)
        data[i] = (uint8_t)(i * 7 + i / 251);
    struct esp_error error;
    for (uint64_t at = 0, piece; at < BYTES; at += piece) {
        piece = at + 1000003 < BYTES ? 1000003 : BYTES - at;
        struct message header = {.kind = MESSAGE_PUT, .chunk = {.offset = OFFSET + at, .length = piece}};
        assert_int_equal(transport_put(net, a->address, &header, data + at, 5000, &error), ESP_OK);
    }
    assert_memory_equal(a->memory + OFFSET, data, BYTES);
    assert_int_equal(a->memory[OFFSET - 1], 0);
    assert_int_equal(a->memory[OFFSET + BYTES], 0);
    struct message get = {.kind = MESSAGE_GET, .chunk = {.offset = OFFSET, .length = BYTES + 1000}};
    uint64_t moved;
    assert_int_equal(transport_get(net, a->address, &get, back, &moved, 5000, &error), ESP_OK);
    assert_int_equal(moved, BYTES + 77); /* the end came first */
    assert_memory_equal(back, data, BYTES);
    endpoint_enter(a->endpoint);
    assert_int_equal(a->chunks_broken, 0);
    endpoint_leave(a->endpoint);
    await_number(a, &a->chunks_done, 5);
    free(data);
    free(back);
    leave(a);
}

static void checksums_are_verified(void **state)
{
    (void)state;
    struct node *a = serve("a", 1);
    a->memory_bytes = 100;
    a->memory = calloc(1, a->memory_bytes);
    struct message header = {.kind = MESSAGE_PUT,
                             .chunk = {.length = 9, .flags = CHUNK_HAS_CRC, .crc32c = 0xe3069283}};
    struct esp_error error;
    assert_int_equal(transport_put(net, a->address, &header, "123456789", 5000, &error), ESP_OK);
    assert_int_equal(transport_put(net, a->address, &header, "123456780", 5000, &error), ESP_PROTOCOL);
    assert_non_null(strstr(error.text, "damaged"));
    await_number(a, &a->chunks_broken, 1);
    leave(a);
}

static void a_chunk_may_be_refused(void **state)
{
    (void)state;
    struct node *a = serve("a", 1);
    a->memory_bytes = 100;
    a->memory = calloc(1, a->memory_bytes);
    uint8_t data[200] = {1};
    uint64_t moved = 9;
    struct esp_error error;
    struct message put = {.kind = MESSAGE_PUT, .chunk = {.offset = 50, .length = 51}};
    assert_int_equal(transport_put(net, a->address, &put, data, 5000, &error), ESP_LIMIT);
    assert_non_null(strstr(error.text, "beyond the end"));
    struct message get = {.kind = MESSAGE_GET, .chunk = {.offset = 101, .length = 1}};
    assert_int_equal(transport_get(net, a->address, &get, data, &moved, 5000, &error), ESP_LIMIT);
    assert_int_equal(moved, 0);
    put.chunk.offset = 0;
    put.chunk.length = (uint64_t)CAP_CHUNK + 1;
    assert_int_equal(transport_put(net, a->address, &put, data, 5000, &error), ESP_INVALID);
    put.chunk.length = 0; /* nothing is something */
    assert_int_equal(transport_put(net, a->address, &put, data, 5000, &error), ESP_OK);
    leave(a);
}

/* ---- threads: over the ORB only ---- */

static void *call_often(void *arg)
{
    struct node *node = arg;
    for (uint64_t i = 1; i <= 300; i++) {
        struct message request = {.kind = MESSAGE_GREET, .greet = {.features = i}}, reply;
        if (transport_call(net, node->address, &request, 20000, &reply, NULL) != ESP_OK ||
            reply.greet_reply.features != i)
            return NULL;
        message_clear(&reply);
    }
    return node;
}

static void many_threads_call_and_operations_never_overlap(void **state)
{
    (void)state;
    struct node *a = serve("a", 1), *b = serve("b", 2);
    a->echo = b->address;
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, a), 0);
    for (uint64_t i = 0; i < 1000; i++)
        say(b, a->address, 0, i);
    for (int i = 0; i < 8; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, a);
    }
    await_pulses(b, 1000);
    endpoint_enter(b->endpoint);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(b->numbers[i], i);
    endpoint_leave(b->endpoint);
    leave(b);
    leave(a);
}

static void a_waiting_thread_helps(void **state)
{
    (void)state;
    struct node *a = serve("a", 17);
    a->manner = ANSWER_NEVER;
    a->wants_help = true;
    struct message reply;
    assert_int_equal(transport_call(net, a->address, &greet, 5000, &reply, NULL), ESP_OK);
    message_clear(&reply);
    assert_int_equal(a->helped, 1);
    leave(a);
}

struct waiting_call {
    char address[64];
    enum esp_status status;
};

static void *call_and_wait(void *arg)
{
    struct waiting_call *waiting = arg;
    struct message reply;
    waiting->status = transport_call(net, waiting->address, &greet, 20000, &reply, NULL);
    message_clear(&reply);
    return NULL;
}

static void a_closing_node_answers_those_who_wait(void **state)
{
    (void)state;
    struct node *a = serve("a", 17);
    a->manner = ANSWER_NEVER;
    struct waiting_call waiting;
    memcpy(waiting.address, a->address, sizeof waiting.address);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, call_and_wait, &waiting), 0);
    for (bool there = false; !there; nap()) {
        endpoint_enter(a->endpoint);
        there = a->kept;
        endpoint_leave(a->endpoint);
    }
    leave(a);
    pthread_join(thread, NULL);
    assert_int_equal(waiting.status, ESP_UNREACHABLE);
}

static int open_inproc(void **state)
{
    (void)state;
    virtual_time = true;
    return inproc_create(1, &net, NULL) == ESP_OK ? 0 : -1;
}

static int open_orb(void **state)
{
    (void)state;
    struct esp_error error;
    virtual_time = false;
    if (conformance_open(&net, &error) == ESP_OK)
        return 0;
    print_error("%s\n", error.text);
    return -1;
}

static int close_transport(void **state)
{
    (void)state;
    transport_destroy(net);
    net = NULL;
    return 0;
}

#define BOTH                                                                                                 \
    cmocka_unit_test(a_call_is_answered), cmocka_unit_test(an_answer_may_come_later),                        \
        cmocka_unit_test(a_call_ends_with_its_deadline),                                                     \
        cmocka_unit_test(a_node_hears_when_a_call_is_given_up),                                              \
        cmocka_unit_test(a_failure_arrives_as_a_status_and_a_text),                                          \
        cmocka_unit_test(a_request_that_is_too_large_is_not_sent),                                           \
        cmocka_unit_test(nobody_there_is_unreachable), cmocka_unit_test(a_node_without_requests_says_so),    \
        cmocka_unit_test(nonsense_is_refused_before_it_is_sent), cmocka_unit_test(posts_arrive_in_order),    \
        cmocka_unit_test(posts_from_operations_go_on), cmocka_unit_test(a_node_may_write_to_itself),         \
        cmocka_unit_test(posts_to_an_earlier_incarnation_are_dropped),                                       \
        cmocka_unit_test(a_post_that_is_too_large_harms_no_other),                                           \
        cmocka_unit_test(what_cannot_be_delivered_is_told_once_per_batch),                                   \
        cmocka_unit_test(a_successor_takes_over_the_address),                                                \
        cmocka_unit_test(chunks_go_straight_to_their_place), cmocka_unit_test(a_chunk_may_be_refused)

int main(void)
{
    const struct CMUnitTest in_process[] = {BOTH};
    const struct CMUnitTest over_the_orb[] = {
        BOTH,
        cmocka_unit_test(checksums_are_verified), /* memory does not err */
        cmocka_unit_test(many_threads_call_and_operations_never_overlap),
        cmocka_unit_test(a_waiting_thread_helps),
        cmocka_unit_test(a_closing_node_answers_those_who_wait),
    };
    if (conformance_open)
        return cmocka_run_group_tests(over_the_orb, open_orb, close_transport);
    return cmocka_run_group_tests(in_process, open_inproc, close_transport);
}
