/* SPDX-License-Identifier: Apache-2.0
 *
 * Every promise of core/transport.h, over both transports. A test sees the world through a few functions:
 * it serves nodes, lets time pass, and looks.
 */
#include "tests/unit/unit.h"
#include "core/inproc/inproc.h"
#include "tests/inproc/conformance.h"
#include "tests/inproc/recorder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
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

/* Connections that stand have their deadlines from elsewhere than those that are being made. */
static void a_deadline_holds_on_a_connection_in_use_and_harms_no_later_call(void **state)
{
    (void)state;
    struct node *a = serve("a", 17);
    struct message reply;
    struct esp_error error;
    for (int i = 0; i < 7; i++) {
        bool never = i == 3;
        a->manner = never ? ANSWER_NEVER : ANSWER_AT_ONCE;
        enum esp_status status = transport_call(net, a->address, &greet, never ? 100 : 5000, &reply, &error);
        assert_int_equal(status, never ? ESP_TIMEOUT : ESP_OK);
        message_clear(&reply);
    }
    assert_non_null(strstr(error.text, a->address));
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
    assert_int_equal(transport_put(net, address, &header, "x", 2000, 0, &error), ESP_PROTOCOL);
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

static void who_dies_has_hung_up(void **state)
{
    (void)state;
    struct node *b = serve("b", 2);
    struct mortal mortal;
    mortal_begin(&mortal, "a", 17, b->address);
    await_pulses(b, 1);
    say(b, mortal.address, 17, 7);
    await_pulses(b, 2); /* back: it has arrived */
    b->asks = mortal.address;
    endpoint_enter(b->endpoint);
    assert_int_equal(b->hung_up, 0);
    endpoint_leave(b->endpoint);
    mortal_kill(&mortal);
    await_number(b, &b->hung_up, 1);
    assert_string_equal(b->gone, "a");
    assert_int_equal(b->gone_incarnation, 17);
    await_number(b, &b->undelivered, 1); /* what it asked then */
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
        assert_int_equal(transport_put(net, a->address, &header, data + at, 5000, 0, &error), ESP_OK);
    }
    assert_memory_equal(a->memory + OFFSET, data, BYTES);
    assert_int_equal(a->memory[OFFSET - 1], 0);
    assert_int_equal(a->memory[OFFSET + BYTES], 0);
    struct message get = {.kind = MESSAGE_GET, .chunk = {.offset = OFFSET, .length = BYTES + 1000}};
    uint64_t moved;
    assert_int_equal(transport_get(net, a->address, &get, back, &moved, 5000, 0, &error), ESP_OK);
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
    assert_int_equal(transport_put(net, a->address, &header, "123456789", 5000, 0, &error), ESP_OK);
    assert_int_equal(transport_put(net, a->address, &header, "123456780", 5000, 0, &error), ESP_PROTOCOL);
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
    assert_int_equal(transport_put(net, a->address, &put, data, 5000, 0, &error), ESP_LIMIT);
    assert_non_null(strstr(error.text, "beyond the end"));
    struct message get = {.kind = MESSAGE_GET, .chunk = {.offset = 101, .length = 1}};
    assert_int_equal(transport_get(net, a->address, &get, data, &moved, 5000, 0, &error), ESP_LIMIT);
    assert_int_equal(moved, 0);
    put.chunk.offset = 0;
    put.chunk.length = (uint64_t)CAP_CHUNK + 1;
    assert_int_equal(transport_put(net, a->address, &put, data, 5000, 0, &error), ESP_INVALID);
    put.chunk.length = 0; /* nothing is something */
    assert_int_equal(transport_put(net, a->address, &put, data, 5000, 0, &error), ESP_OK);
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
        cmocka_unit_test(a_deadline_holds_on_a_connection_in_use_and_harms_no_later_call),                   \
        cmocka_unit_test(a_node_hears_when_a_call_is_given_up),                                              \
        cmocka_unit_test(a_failure_arrives_as_a_status_and_a_text),                                          \
        cmocka_unit_test(a_request_that_is_too_large_is_not_sent),                                           \
        cmocka_unit_test(nobody_there_is_unreachable), cmocka_unit_test(a_node_without_requests_says_so),    \
        cmocka_unit_test(nonsense_is_refused_before_it_is_sent), cmocka_unit_test(posts_arrive_in_order),    \
        cmocka_unit_test(posts_from_operations_go_on), cmocka_unit_test(a_node_may_write_to_itself),         \
        cmocka_unit_test(posts_to_an_earlier_incarnation_are_dropped),                                       \
        cmocka_unit_test(a_post_that_is_too_large_harms_no_other),                                           \
        cmocka_unit_test(what_cannot_be_delivered_is_told_once_per_batch),                                   \
        cmocka_unit_test(a_successor_takes_over_the_address), cmocka_unit_test(who_dies_has_hung_up),        \
        cmocka_unit_test(chunks_go_straight_to_their_place), cmocka_unit_test(a_chunk_may_be_refused),       \
        cmocka_unit_test(checksums_are_verified)

int main(int argc, char **argv)
{
    if (conformance_open)
        mortal_live(argc, argv, conformance_open);
    const struct CMUnitTest in_process[] = {BOTH};
    const struct CMUnitTest over_the_orb[] = {
        BOTH,
        cmocka_unit_test(many_threads_call_and_operations_never_overlap),
        cmocka_unit_test(a_waiting_thread_helps),
        cmocka_unit_test(a_closing_node_answers_those_who_wait),
    };
    if (conformance_open)
        return cmocka_run_group_tests(over_the_orb, open_orb, close_transport);
    return cmocka_run_group_tests(in_process, open_inproc, close_transport);
}
