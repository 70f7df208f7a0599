/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of the in-process transport alone: a queue, a clock and faults that the test owns. The
 * properties of both transports are in tests/inproc/conformance.c. */
#include "tests/unit/unit.h"
#include "core/inproc/inproc.h"

#include <stdio.h>
#include <stdlib.h>

/* A node that writes down what happens to it and, on request, does things. */
struct node {
    struct endpoint *endpoint;
    char name[32];
    uint64_t incarnation;
    uint64_t numbers[256]; /* of the pulses that came, in order */
    size_t n_numbers;
    unsigned undelivered, ticks, abandoned;
    int64_t due_ns, last_tick_ns;
    struct call *call; /* kept, not answered */
    bool answer;       /* greets at once */
    const char *forward;
};

static void node_post(void *self, const struct envelope *envelope, const struct message *message)
{
    struct node *node = self;
    (void)envelope;
    if (message->kind == MESSAGE_PULSE && node->n_numbers < 256)
        node->numbers[node->n_numbers++] = message->pulse.number;
    if (node->forward)
        endpoint_post(node->endpoint, node->forward, 0, message, NULL);
}

static void node_undelivered(void *self, const char *address, const struct esp_error *why)
{
    struct node *node = self;
    (void)address;
    assert_int_equal(why->status, ESP_UNREACHABLE);
    node->undelivered++;
}

static struct message *greeting(const struct node *node)
{
    struct message *reply = message_create(MESSAGE_GREET_REPLY);
    reply->greet_reply.name = arena_strdup(&reply->arena, node->name);
    reply->greet_reply.incarnation = node->incarnation;
    return reply;
}

static void node_call(void *self, struct call *call, const struct message *request)
{
    struct node *node = self;
    (void)request;
    if (node->answer)
        call_reply(call, greeting(node));
    else
        node->call = call;
}

static void node_abandoned(void *self, struct call *call)
{
    struct node *node = self;
    assert_ptr_equal(call, node->call);
    node->call = NULL;
    node->abandoned++;
}

static int64_t node_due(void *self)
{
    return ((struct node *)self)->due_ns;
}

static void node_tick(void *self)
{
    struct node *node = self;
    node->ticks++;
    node->last_tick_ns = clock_now_ns(transport_clock(node->endpoint->transport));
    node->due_ns = CLOCK_NEVER;
}

static const struct endpoint_ops node_ops = {
    .post = node_post,
    .undelivered = node_undelivered,
    .call = node_call,
    .abandoned = node_abandoned,
    .due = node_due,
    .tick = node_tick,
};

static void serve(struct transport *net, struct node *node, const char *name, uint64_t incarnation)
{
    memset(node, 0, sizeof *node);
    snprintf(node->name, sizeof node->name, "%s", name);
    node->incarnation = incarnation;
    node->due_ns = CLOCK_NEVER;
    node->answer = true;
    struct endpoint_options options = {.name = node->name, .role = ROLE_LEADER, .incarnation = incarnation};
    assert_int_equal(transport_serve(net, &options, &node_ops, node, &node->endpoint, NULL), ESP_OK);
}

static void say(struct node *from, const char *to, uint64_t incarnation, uint64_t number)
{
    struct message message = {.kind = MESSAGE_PULSE, .pulse = {number}};
    endpoint_enter(from->endpoint);
    assert_int_equal(endpoint_post(from->endpoint, to, incarnation, &message, NULL), ESP_OK);
    endpoint_leave(from->endpoint);
}

static struct transport *network(uint64_t seed)
{
    struct transport *net;
    assert_int_equal(inproc_create(seed, &net, NULL), ESP_OK);
    return net;
}

static void time_stands_still_until_it_is_run(void **state)
{
    (void)state;
    struct transport *net = network(1);
    struct node a, b;
    serve(net, &a, "a", 1);
    serve(net, &b, "b", 1);
    inproc_set_faults(net, &(struct inproc_faults){.latency_ns = 5 * NS_PER_MS});
    assert_int_equal(inproc_now_ns(net), NS_PER_S);
    say(&a, "b", 0, 7);
    inproc_run(net, NS_PER_S + 5 * NS_PER_MS - 1);
    assert_int_equal(b.n_numbers, 0);
    inproc_run(net, NS_PER_S + 5 * NS_PER_MS);
    assert_int_equal(b.n_numbers, 1);
    assert_int_equal(inproc_now_ns(net), NS_PER_S + 5 * NS_PER_MS);
    endpoint_close(a.endpoint);
    endpoint_close(b.endpoint);
    transport_destroy(net);
}

static void ticks_come_when_they_are_due(void **state)
{
    (void)state;
    struct transport *net = network(1);
    struct node a;
    serve(net, &a, "a", 1);
    endpoint_enter(a.endpoint);
    a.due_ns = 3 * NS_PER_S;
    endpoint_leave(a.endpoint);
    endpoint_enter(a.endpoint);
    a.due_ns = 2 * NS_PER_S; /* earlier after all */
    endpoint_leave(a.endpoint);
    inproc_run(net, 10 * NS_PER_S);
    assert_int_equal(a.ticks, 1);
    assert_int_equal(a.last_tick_ns, 2 * NS_PER_S);
    endpoint_enter(a.endpoint);
    a.due_ns = 12 * NS_PER_S;
    endpoint_leave(a.endpoint);
    endpoint_enter(a.endpoint);
    a.due_ns = 14 * NS_PER_S; /* later after all */
    endpoint_leave(a.endpoint);
    inproc_run(net, 13 * NS_PER_S);
    assert_int_equal(a.ticks, 1);
    inproc_run(net, 20 * NS_PER_S);
    assert_int_equal(a.last_tick_ns, 14 * NS_PER_S);
    endpoint_close(a.endpoint);
    transport_destroy(net);
}

static void a_lossy_network_loses_and_doubles(void **state)
{
    (void)state;
    struct transport *net = network(3);
    struct node a, b;
    serve(net, &a, "a", 1);
    serve(net, &b, "b", 1);
    inproc_set_faults(net, &(struct inproc_faults){.lose = 0.5});
    for (int i = 0; i < 100; i++)
        say(&a, "b", 0, 1);
    inproc_run(net, 2 * NS_PER_S);
    struct inproc_counters counters;
    inproc_counters(net, &counters);
    assert_in_range(b.n_numbers, 20, 80);
    assert_int_equal(b.n_numbers + counters.lost, 100);
    inproc_set_faults(net, &(struct inproc_faults){.duplicate = 1});
    b.n_numbers = 0;
    say(&a, "b", 0, 1);
    inproc_run(net, 3 * NS_PER_S);
    assert_int_equal(b.n_numbers, 2);
    endpoint_close(a.endpoint);
    endpoint_close(b.endpoint);
    transport_destroy(net);
}

/* Sends 50 numbers over a jittery network and returns how they arrived. */
static void jitter(uint64_t seed, uint64_t *order)
{
    struct transport *net = network(seed);
    struct node a, b;
    serve(net, &a, "a", 1);
    serve(net, &b, "b", 1);
    inproc_set_faults(net, &(struct inproc_faults){.jitter_ns = NS_PER_S});
    for (uint64_t i = 0; i < 50; i++)
        say(&a, "b", 0, i);
    inproc_run(net, 5 * NS_PER_S);
    assert_int_equal(b.n_numbers, 50);
    memcpy(order, b.numbers, 50 * sizeof *order);
    endpoint_close(a.endpoint);
    endpoint_close(b.endpoint);
    transport_destroy(net);
}

static void jitter_reorders_and_can_be_repeated(void **state)
{
    (void)state;
    uint64_t first[50], again[50], other[50], straight[50];
    jitter(1, first);
    jitter(1, again);
    jitter(2, other);
    for (uint64_t i = 0; i < 50; i++)
        straight[i] = i;
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
    assert_memory_not_equal(first, straight, sizeof first);
}

static void nothing_passes_a_partition(void **state)
{
    (void)state;
    struct transport *net = network(1);
    struct node a, b;
    serve(net, &a, "a", 1);
    serve(net, &b, "b", 1);
    inproc_set_faults(net, &(struct inproc_faults){.latency_ns = NS_PER_MS});
    inproc_partition(net, "b", "a", true);
    inproc_partition(net, "client", "b", true);
    say(&a, "b", 0, 1);
    struct message greet = {.kind = MESSAGE_GREET}, reply;
    struct esp_error error;
    assert_int_equal(transport_call(net, "b", &greet, 50, &reply, &error), ESP_TIMEOUT);
    assert_non_null(strstr(error.text, "b: no answer to greet within 50 ms"));
    message_clear(&reply);
    assert_int_equal(inproc_now_ns(net), NS_PER_S + 50 * NS_PER_MS);
    assert_int_equal(b.n_numbers, 0);
    assert_int_equal(a.undelivered, 0);
    inproc_partition(net, "a", "b", false);
    inproc_partition(net, "b", "client", false);
    say(&a, "b", 0, 2);
    assert_int_equal(transport_call(net, "b", &greet, 50, &reply, &error), ESP_OK);
    message_clear(&reply);
    assert_int_equal(b.n_numbers, 1);
    assert_int_equal(b.numbers[0], 2);
    endpoint_close(a.endpoint);
    endpoint_close(b.endpoint);
    transport_destroy(net);
}

struct outcome_of_call {
    bool came;
    enum esp_status status;
    uint64_t incarnation;
};

static void remember(void *arg, enum esp_status status, const struct message *reply)
{
    struct outcome_of_call *outcome = arg;
    outcome->came = true;
    outcome->status = status;
    if (reply)
        outcome->incarnation = reply->greet_reply.incarnation;
}

static void a_killed_node_is_gone_and_another_takes_its_address(void **state)
{
    (void)state;
    struct transport *net = network(1);
    struct node a, b, heir;
    serve(net, &a, "a", 1);
    serve(net, &b, "b", 10);
    b.answer = false;
    struct message greet = {.kind = MESSAGE_GREET};
    struct outcome_of_call before = {0}, during = {0}, after = {0};
    assert_int_equal(inproc_call_async(net, "b", &greet, 60000, remember, &before, NULL), ESP_OK);
    inproc_run(net, 2 * NS_PER_S);
    assert_non_null(b.call);
    b.due_ns = 3 * NS_PER_S;
    inproc_kill(net, "b");
    assert_int_equal(inproc_call_async(net, "b", &greet, 60000, remember, &during, NULL), ESP_OK);
    say(&a, "b", 0, 1);
    inproc_run(net, 4 * NS_PER_S);
    assert_int_equal(before.status, ESP_MAYBE);
    assert_int_equal(during.status, ESP_UNREACHABLE);
    assert_int_equal(a.undelivered, 1);
    assert_int_equal(b.ticks, 0);
    assert_int_equal(b.abandoned, 0);
    serve(net, &heir, "b", 11);
    assert_int_equal(inproc_call_async(net, "b", &greet, 60000, remember, &after, NULL), ESP_OK);
    say(&a, "b", 10, 1); /* meant for the dead one */
    say(&a, "b", 11, 2);
    inproc_run(net, 5 * NS_PER_S);
    assert_int_equal(after.status, ESP_OK);
    assert_int_equal(after.incarnation, 11);
    assert_int_equal(heir.n_numbers, 1);
    assert_int_equal(heir.numbers[0], 2);
    call_reply(b.call, greeting(&b)); /* the dead one's late answer does no harm */
    endpoint_close(b.endpoint);
    endpoint_close(a.endpoint);
    endpoint_close(heir.endpoint);
    transport_destroy(net);
}

static void a_lost_reply_is_a_maybe(void **state)
{
    (void)state;
    struct transport *net = network(1);
    struct node b;
    serve(net, &b, "b", 1);
    inproc_set_faults(net, &(struct inproc_faults){.maybe = 1});
    struct message greet = {.kind = MESSAGE_GREET}, reply;
    struct esp_error error;
    assert_int_equal(transport_call(net, "b", &greet, 1000, &reply, &error), ESP_MAYBE);
    assert_non_null(strstr(error.text, "may have been executed"));
    message_clear(&reply);
    endpoint_close(b.endpoint);
    transport_destroy(net);
}

static uint8_t block[64];

static void give_block(void *self, const struct message *header, bool write, struct chunk_area *area)
{
    (void)self, (void)write;
    *area = (struct chunk_area){.data = block, .length = header->chunk.length};
}

static unsigned n_broken;

static void count_broken(void *self, const struct message *header, bool write, struct chunk_area *area,
                         bool complete)
{
    (void)self, (void)header, (void)write, (void)area;
    n_broken += !complete;
}

static void a_damaged_chunk_is_noticed_where_it_arrives(void **state)
{
    (void)state;
    static const struct endpoint_ops ops = {.chunk = give_block, .chunk_done = count_broken};
    const struct endpoint_options options = {.name = "b", .incarnation = 2, .listen = INPROC_LISTEN "b"};
    struct transport *net;
    struct endpoint *endpoint;
    struct esp_error error;
    uint8_t data[sizeof block] = "what is sent";
    uint64_t moved;
    assert_int_equal(inproc_create(7, &net, NULL), ESP_OK);
    assert_int_equal(transport_serve(net, &options, &ops, NULL, &endpoint, NULL), ESP_OK);
    inproc_set_faults(net, &(struct inproc_faults){.damage = 1});
    struct message put = {.kind = MESSAGE_PUT, .chunk = {.length = sizeof block}};
    struct message get = {.kind = MESSAGE_GET, .chunk = {.length = sizeof block}};
    assert_int_equal(transport_put(net, "b", &put, data, 1000, 0, &error), ESP_PROTOCOL);
    assert_non_null(strstr(error.text, "damaged"));
    assert_int_equal(n_broken, 1);
    assert_int_equal(transport_get(net, "b", &get, data, &moved, 1000, 0, &error), ESP_PROTOCOL);
    assert_int_equal(moved, 0);
    assert_int_equal(n_broken, 1); /* it left in order */
    inproc_set_faults(net, &(struct inproc_faults){0});
    assert_int_equal(transport_put(net, "b", &put, data, 1000, 0, &error), ESP_OK);
    assert_memory_equal(block, data, sizeof block);
    endpoint_close(endpoint);
    transport_destroy(net);
}

static void posting_from_nowhere_is_refused(void **state)
{
    (void)state;
    struct transport *net = network(1);
    struct node a;
    serve(net, &a, "a", 1);
    struct message pulse = {.kind = MESSAGE_PULSE};
    assert_int_equal(endpoint_post(a.endpoint, "a", 0, &pulse, NULL), ESP_INTERNAL);
    endpoint_close(a.endpoint);
    transport_destroy(net);
}

/* A ring of ten thousand nodes hands a message around. */
static void ten_thousand_nodes_fit(void **state)
{
    (void)state;
    enum { N = 10000 };
    struct transport *net = network(1);
    struct node *nodes = calloc(N, sizeof *nodes);
    for (int i = 0; i < N; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%d", i);
        serve(net, &nodes[i], name, 1);
        nodes[i].due_ns = (int64_t)(2 + i % 7) * NS_PER_S;
        endpoint_enter(nodes[i].endpoint);
        endpoint_leave(nodes[i].endpoint);
    }
    for (int i = 0; i + 1 < N; i++)
        nodes[i].forward = nodes[i + 1].name;
    say(&nodes[0], "n1", 0, 42);
    inproc_run(net, 20 * NS_PER_S);
    assert_int_equal(nodes[N - 1].n_numbers, 1);
    assert_int_equal(nodes[N - 1].numbers[0], 42);
    for (int i = 0; i < N; i++) {
        assert_int_equal(nodes[i].ticks, 1);
        endpoint_close(nodes[i].endpoint);
    }
    free(nodes);
    transport_destroy(net);
}

static void leftovers_are_freed_with_the_network(void **state)
{
    (void)state;
    struct transport *net = network(1);
    struct node a, b;
    serve(net, &a, "a", 1);
    serve(net, &b, "b", 1);
    b.answer = false;
    struct message greet = {.kind = MESSAGE_GREET};
    struct outcome_of_call held = {0}, under_way = {0};
    inproc_call_async(net, "b", &greet, 60000, remember, &held, NULL);
    inproc_run(net, 2 * NS_PER_S);
    inproc_call_async(net, "b", &greet, 60000, remember, &under_way, NULL);
    say(&a, "b", 0, 1);
    inproc_partition(net, "a", "x", true);
    inproc_kill(net, "b");
    transport_destroy(net);
    assert_false(under_way.came);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_stands_still_until_it_is_run),
        cmocka_unit_test(ticks_come_when_they_are_due),
        cmocka_unit_test(a_lossy_network_loses_and_doubles),
        cmocka_unit_test(jitter_reorders_and_can_be_repeated),
        cmocka_unit_test(nothing_passes_a_partition),
        cmocka_unit_test(a_killed_node_is_gone_and_another_takes_its_address),
        cmocka_unit_test(a_lost_reply_is_a_maybe),
        cmocka_unit_test(a_damaged_chunk_is_noticed_where_it_arrives),
        cmocka_unit_test(posting_from_nowhere_is_refused),
        cmocka_unit_test(ten_thousand_nodes_fit),
        cmocka_unit_test(leftovers_are_freed_with_the_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
