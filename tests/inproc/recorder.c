/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/inproc/recorder.h"
#include "core/inproc/inproc.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

bool virtual_time;
struct transport *net;

void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2 * 1000 * 1000}, NULL);
}

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

static void node_undelivered(void *self, const char *address, const struct esp_error *why)
{
    struct node *node = self;
    come_in(node);
    node->undelivered++;
    node->undelivered_status = why->status;
    snprintf(node->undelivered_address, sizeof node->undelivered_address, "%s", address);
    go_out(node);
}

static void node_hung_up(void *self, const struct envelope *from)
{
    struct node *node = self;
    const struct message pulse = {.kind = MESSAGE_PULSE};
    come_in(node);
    node->hung_up++;
    node->gone_incarnation = from->from_incarnation;
    snprintf(node->gone, sizeof node->gone, "%s", from->from);
    if (node->asks)
        endpoint_post(node->endpoint, node->asks, 0, &pulse, NULL);
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
    .hung_up = node_hung_up,
    .call = node_call,
    .abandoned = node_abandoned,
    .chunk = node_chunk,
    .chunk_done = node_chunk_done,
    .due = node_due,
    .tick = node_tick,
};

struct node *serve_at(const char *name, uint64_t incarnation, const char *listen)
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

struct node *serve(const char *name, uint64_t incarnation)
{
    return serve_at(name, incarnation, "127.0.0.1:0");
}

void leave(struct node *node)
{
    endpoint_close(node->endpoint);
    assert_int_equal(atomic_load(&node->overlaps), 0);
    free(node->memory);
    free(node);
}

void await_number(struct node *node, const unsigned *number, unsigned wanted)
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

void await_pulses(struct node *node, size_t wanted)
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

void say(struct node *from, const char *to, uint64_t incarnation, uint64_t number)
{
    struct message message = {.kind = MESSAGE_PULSE, .pulse = {number}};
    endpoint_enter(from->endpoint);
    assert_int_equal(endpoint_post(from->endpoint, to, incarnation, &message, NULL), ESP_OK);
    endpoint_leave(from->endpoint);
}

/* ---- who dies ---- */

#define MORTAL "--mortal"

static void spawn_mortal(struct mortal *mortal, const char *name, uint64_t incarnation, const char *to)
{
    char number[32];
    int ends[2];
    snprintf(number, sizeof number, "%llu", (unsigned long long)incarnation);
    assert_int_equal(pipe(ends), 0);
    mortal->process = fork();
    if (mortal->process == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        execl("/proc/self/exe", "mortal", MORTAL, name, number, to, (char *)NULL);
        _exit(127);
    }
    assert_true(mortal->process > 0);
    close(ends[1]);
    FILE *said = fdopen(ends[0], "r");
    assert_non_null(said);
    assert_non_null(fgets(mortal->address, sizeof mortal->address, said));
    mortal->address[strcspn(mortal->address, "\n")] = 0;
    fclose(said);
}

void mortal_begin(struct mortal *mortal, const char *name, uint64_t incarnation, const char *to)
{
    *mortal = (struct mortal){0};
    if (!virtual_time) {
        spawn_mortal(mortal, name, incarnation, to);
        return;
    }
    mortal->node = serve(name, incarnation);
    snprintf(mortal->address, sizeof mortal->address, "%s", mortal->node->address);
    mortal->node->echo = to;
    say(mortal->node, to, 0, 1);
}

void mortal_kill(struct mortal *mortal)
{
    if (virtual_time) {
        inproc_kill(net, mortal->address);
        leave(mortal->node);
    } else {
        kill(mortal->process, SIGKILL);
        waitpid(mortal->process, NULL, 0);
    }
}

void mortal_live(int argc, char **argv, enum esp_status (*open)(struct transport **, struct esp_error *))
{
    struct esp_error error;
    if (argc != 5 || strcmp(argv[1], MORTAL) != 0)
        return;
    if (open(&net, &error) != ESP_OK)
        exit(1);
    struct node *node = serve(argv[2], strtoull(argv[3], NULL, 10));
    node->echo = argv[4];
    say(node, argv[4], 0, 1);
    printf("%s\n", node->address);
    fflush(stdout);
    sleep(60); /* it is killed long before */
    exit(1);
}
