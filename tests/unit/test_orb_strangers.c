/* SPDX-License-Identifier: Apache-2.0
 *
 * Strangers at a port of the ORB: who holds connections and says nothing, who says half of something, who
 * does not listen, and who speaks an old GIOP or in the other byte order.
 */
#include "tests/unit/giop.h"
#include "tests/unit/unit.h"
#include "orb/orb.h"
#include "util/crc32c.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 20000 /* only a test that fails takes so long */
#define FEATURES    UINT64_C(0x1122334455667788)
#define BULK        (4 << 20)

/* ---- a node that keeps requests until the test lets it answer ---- */

static struct transport *transport;
static struct endpoint *endpoint;
static const char *address;
static bool keeps;
static struct call *kept[16];
static unsigned n_kept;
static uint64_t heard_features;
static char heard_chunk[GIOP_MOST];
static uint8_t bulk[BULK];
static atomic_int chunks_whole, chunks_broken;

static void answer(struct call *call)
{
    struct message *reply = message_create(MESSAGE_GREET_REPLY);
    reply->greet_reply.name = "node";
    reply->greet_reply.features = FEATURES;
    call_reply(call, reply);
}

static void on_call(void *self, struct call *call, const struct message *request)
{
    (void)self;
    if (request->kind == MESSAGE_GREET)
        heard_features = request->greet.features;
    if (keeps)
        kept[n_kept++] = call;
    else
        answer(call);
}

static void on_chunk(void *self, const struct message *header, bool write, struct chunk_area *area)
{
    (void)self;
    const size_t place = header->chunk.argument * (sizeof heard_chunk / 2);
    area->data = write ? (void *)(heard_chunk + place) : bulk;
    area->length = header->chunk.length;
    assert_true(area->length <= (write ? sizeof heard_chunk - place : sizeof bulk));
}

static void on_chunk_done(void *self, const struct message *header, bool write, struct chunk_area *area,
                          bool complete)
{
    (void)self, (void)header, (void)write, (void)area;
    atomic_fetch_add(complete ? &chunks_whole : &chunks_broken, 1);
}

static atomic_int parted; /* the sessions' numbers, added up */

static void on_parted(void *self, const struct session_id *session)
{
    (void)self;
    atomic_fetch_add(&parted, (int)session->sequence);
}

static const struct endpoint_ops ops = {
    .call = on_call, .chunk = on_chunk, .chunk_done = on_chunk_done, .parted = on_parted};

static void open_node(const struct orb_options *options)
{
    /* Other tests run beside this one, and connect to ports of 127.0.0.1 that were theirs. */
    struct endpoint_options at = {.name = "node", .incarnation = 1, .listen = "127.83.77.1:0"};
    struct esp_error error = {0};
    orb_open(options, &transport, &error);
    assert_string_equal(error.text, "");
    transport_serve(transport, &at, &ops, NULL, &endpoint, &error);
    assert_string_equal(error.text, "");
    address = endpoint_address(endpoint);
    keeps = false;
    n_kept = 0;
}

static void close_node(void)
{
    endpoint_close(endpoint);
    transport_destroy(transport);
    endpoint = NULL;
    transport = NULL;
}

/* Of a test that failed half way: a process has one transport. */
static int close_what_is_left(void **state)
{
    (void)state;
    if (endpoint)
        close_node();
    return 0;
}

static enum esp_status greet(void)
{
    struct message request = {.kind = MESSAGE_GREET}, reply;
    enum esp_status status = transport_call(transport, address, &request, PATIENCE_MS, &reply, NULL);
    message_clear(&reply);
    return status;
}

static void put_greet(struct giop *giop, uint8_t minor, bool big)
{
    giop_request(giop, minor, big, "greet");
    giop_put(giop, 0, 4);
    giop_put(giop, FEATURES, 8);
    giop_put(giop, 0, 4); /* extensions */
    giop_finish(giop);
}

/* A peer that has sent something valid and then falls silent. */
static int dial_and_greet(void)
{
    static struct giop giop;
    int fd = giop_dial(address);
    put_greet(&giop, 2, false);
    assert_true(fd >= 0 && giop_send(fd, &giop));
    if (!keeps)
        assert_int_equal(giop_reply(fd, &giop, PATIENCE_MS), 0);
    return fd;
}

static void dial_many(int *fds, int n)
{
    for (int i = 0; i < n; i++)
        assert_true((fds[i] = giop_dial(address)) >= 0);
}

static void close_many(const int *fds, int n)
{
    for (int i = 0; i < n; i++)
        close(fds[i]);
}

/* ---- places ---- */

static void who_says_nothing_gives_way(void **state)
{
    (void)state;
    const struct orb_options limits[] = {{.connections = 4}, {.connections_per_peer = 4}};
    for (int i = 0; i < 2; i++) {
        open_node(&limits[i]);
        int spoken = dial_and_greet(), silent[3];
        dial_many(silent, 3);
        assert_int_equal(greet(), ESP_OK);
        assert_true(giop_hangs_up(silent[0], PATIENCE_MS));
        assert_false(giop_hangs_up(spoken, 0));
        assert_false(giop_hangs_up(silent[2], 0));
        close(spoken);
        close_many(silent, 3);
        close_node();
    }
}

static void of_those_who_spoke_the_one_silent_for_longest_gives_way(void **state)
{
    (void)state;
    open_node(&(struct orb_options){.connections = 3});
    int fds[3];
    struct giop giop;
    for (int i = 0; i < 3; i++) {
        fds[i] = dial_and_greet();
        usleep(20000); /* the kernel counts silence in milliseconds */
    }
    put_greet(&giop, 2, false);
    assert_true(giop_send(fds[0], &giop));
    assert_int_equal(giop_reply(fds[0], &giop, PATIENCE_MS), 0);
    assert_int_equal(greet(), ESP_OK);
    assert_true(giop_hangs_up(fds[1], PATIENCE_MS));
    assert_false(giop_hangs_up(fds[0], 0));
    assert_false(giop_hangs_up(fds[2], 0));
    close_many(fds, 3);
    close_node();
}

static void wait_kept(unsigned n)
{
    for (int i = 0; i < PATIENCE_MS; i++) {
        endpoint_enter(endpoint);
        bool there = n_kept == n;
        endpoint_leave(endpoint);
        if (there)
            return;
        usleep(1000);
    }
    fail_msg("%u requests came, expected %u", n_kept, n);
}

static void who_is_being_served_keeps_his_place(void **state)
{
    (void)state;
    open_node(&(struct orb_options){.connections = 3});
    keeps = true;
    int fds[3], late;
    for (int i = 0; i < 3; i++)
        fds[i] = dial_and_greet();
    wait_kept(3);
    late = giop_dial(address);
    assert_true(giop_hangs_up(late, PATIENCE_MS));
    endpoint_enter(endpoint);
    for (unsigned i = 0; i < 3; i++)
        answer(kept[i]);
    endpoint_leave(endpoint);
    static struct giop reply;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(giop_reply(fds[i], &reply, PATIENCE_MS), 0);
        close(fds[i]);
    }
    close(late);
    close_node();
}

static atomic_bool flooding;

/* One bad process: as many connections as it gets, with nothing, half of something, or nonsense on them. */
static void *flood(void *unused)
{
    static struct giop giop;
    int fds[64] = {0};
    (void)unused;
    put_greet(&giop, 2, false);
    for (unsigned i = 0; atomic_load(&flooding); i++) {
        int *fd = &fds[i % 64];
        if (*fd > 0)
            close(*fd);
        *fd = giop_dial(address);
        if (*fd >= 0 && i % 3 > 0)
            send(*fd, i % 3 == 1 ? giop.bytes : (const uint8_t *)"GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL);
        usleep(500);
    }
    for (int i = 0; i < 64; i++)
        if (fds[i] > 0)
            close(fds[i]);
    return NULL;
}

static void a_flood_does_not_lock_others_out(void **state)
{
    (void)state;
    open_node(&(struct orb_options){.connections = 32});
    atomic_store(&flooding, true);
    pthread_t thread;
    pthread_create(&thread, NULL, flood, NULL);
    for (int i = 0; i < 50; i++) {
        /* A connection may be taken from its owner once; a peer that asks again gets another. */
        enum esp_status status = greet();
        for (int tries = 0; status != ESP_OK && tries < 10; tries++)
            status = greet();
        assert_int_equal(status, ESP_OK);
        int fd = dial_and_greet();
        close(fd);
    }
    atomic_store(&flooding, false);
    pthread_join(thread, NULL);
    close_node();
}

/* ---- times ---- */

static void a_first_message_has_limited_time(void **state)
{
    (void)state;
    open_node(&(struct orb_options){.first_message_ms = 200});
    static struct giop giop;
    put_greet(&giop, 2, false);
    int nothing = giop_dial(address), half = giop_dial(address), drip = giop_dial(address),
        good = dial_and_greet();
    assert_int_equal(send(half, giop.bytes, giop.n - 1, MSG_NOSIGNAL), giop.n - 1);
    bool gone = false;
    for (size_t i = 0; !gone && i < giop.n - 1; i++) {
        gone = send(drip, giop.bytes + i, 1, MSG_NOSIGNAL) != 1 || giop_hangs_up(drip, 20);
    }
    assert_true(gone || giop_hangs_up(drip, PATIENCE_MS));
    assert_true(giop_hangs_up(nothing, PATIENCE_MS));
    assert_true(giop_hangs_up(half, PATIENCE_MS));
    assert_false(giop_hangs_up(good, 500));
    int fds[] = {nothing, half, drip, good};
    close_many(fds, 4);
    close_node();
}

static void a_message_that_stops_half_way_is_given_up(void **state)
{
    (void)state;
    open_node(&(struct orb_options){.stalled_ms = 300});
    static struct giop giop;
    giop_request(&giop, 2, false, "put");
    for (int i = 0; i < 4; i++)
        giop_put(&giop, 1, 8); /* session */
    giop_put(&giop, 0, 4);
    giop_put(&giop, 0, 8);
    giop_put(&giop, 40000, 8);
    giop_put(&giop, 0, 4);
    giop_put(&giop, 0, 4);
    giop_put(&giop, 40000, 4);
    size_t there = giop.n;
    giop.n += 40000;
    giop_finish(&giop);
    int fd = giop_dial(address);
    assert_int_equal(send(fd, giop.bytes, there + 20000, MSG_NOSIGNAL), there + 20000);
    assert_true(giop_hangs_up(fd, PATIENCE_MS));
    assert_int_equal(greet(), ESP_OK);
    close(fd);
    close_node();
}

static void put_get(struct giop *giop, uint8_t minor, bool big, uint64_t length)
{
    giop_request(giop, minor, big, "get");
    for (int i = 0; i < 4; i++)
        giop_put(giop, 1, 8); /* session */
    giop_put(giop, 0, 4);
    giop_put(giop, 0, 8);
    giop_put(giop, length, 8);
    giop_put(giop, 0, 4);
    giop_put(giop, 0, 4);
    giop_finish(giop);
}

static void a_reply_that_nobody_takes_is_given_up(void **state)
{
    (void)state;
    open_node(&(struct orb_options){.stalled_ms = 300});
    static struct giop giop;
    put_get(&giop, 2, false, BULK);
    int fd = giop_dial(address), few = 4096;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &few, sizeof few);
    atomic_store(&chunks_whole, 0);
    atomic_store(&chunks_broken, 0);
    for (int i = 0; i < 4; i++)
        assert_true(giop_send(fd, &giop));
    for (int i = 0; atomic_load(&chunks_broken) == 0 && i < PATIENCE_MS; i++)
        usleep(1000);
    assert_int_equal(atomic_load(&chunks_broken), 1);
    assert_int_equal(greet(), ESP_OK);
    close(fd);
    close_node();
}

/* ---- dialects ---- */

static void it_understands_every_version_and_byte_order(void **state)
{
    (void)state;
    open_node(&(struct orb_options){0});
    for (uint8_t minor = 0; minor <= 2; minor++)
        for (int big = 0; big <= 1; big++) {
            static struct giop giop;
            int fd = giop_dial(address);
            put_greet(&giop, minor, big);
            heard_features = 0;
            assert_true(giop_send(fd, &giop));
            assert_int_equal(giop_reply(fd, &giop, PATIENCE_MS), 0);
            assert_true(heard_features == FEATURES);
            assert_int_equal(giop_get(&giop, 4), ESP_OK);
            assert_string_equal(giop_get_text(&giop), "");
            giop_get(&giop, 4); /* minor */
            assert_true(giop_get(&giop, 8) == FEATURES);
            assert_string_equal(giop_get_text(&giop), "node");
            close(fd);
        }
    close_node();
}

static void send_piece(int fd, uint64_t sequence)
{
    static struct giop giop;
    giop_request(&giop, 2, false, "put");
    const uint64_t session[] = {1, 1, sequence, 1};
    for (int i = 0; i < 4; i++)
        giop_put(&giop, session[i], 8);
    giop_put(&giop, 0, 4);
    giop_put(&giop, 0, 8);
    giop_put(&giop, 5, 8);
    giop_put(&giop, 0, 4);
    giop_put(&giop, 0, 4);
    giop_put_bytes(&giop, "piece", 5);
    giop_finish(&giop);
    assert_true(giop_send(fd, &giop));
    assert_int_equal(giop_reply(fd, &giop, PATIENCE_MS), 0);
}

static bool parts(int sum, int ms)
{
    for (; ms > 0 && atomic_load(&parted) != sum; ms -= 20)
        usleep(20000);
    return atomic_load(&parted) == sum;
}

static void who_closes_between_two_pieces_is_noticed(void **state)
{
    (void)state;
    open_node(&(struct orb_options){0});
    atomic_store(&parted, 0);
    int first = giop_dial(address), second = giop_dial(address);
    send_piece(first, 1);
    send_piece(first, 2);
    send_piece(first, 2);
    send_piece(second, 100);
    assert_false(parts(3, 1500)); /* they only pause */
    close(first);
    assert_true(parts(3, 2500));
    first = giop_dial(address); /* perhaps at the same place in memory */
    send_piece(first, 1000);
    close(second);
    assert_true(parts(103, 2500));
    close(first);
    close_node(); /* no answer is sent any more */
}

static void chunks_come_and_go_in_every_version_and_byte_order(void **state)
{
    (void)state;
    open_node(&(struct orb_options){0});
    memcpy(bulk, "results!", 8);
    for (uint8_t minor = 0; minor <= 2; minor++)
        for (int big = 0; big <= 1; big++) {
            static struct giop giop;
            int fd = giop_dial(address);
            memset(heard_chunk, 0, sizeof heard_chunk);
            giop_request(&giop, minor, big, "put");
            for (int i = 0; i < 4; i++)
                giop_put(&giop, 1, 8);
            giop_put(&giop, 0, 4);
            giop_put(&giop, 0, 8);
            giop_put(&giop, 9, 8);
            giop_put(&giop, 0, 4);
            giop_put(&giop, 0, 4);
            giop_put_bytes(&giop, "arguments", 9);
            giop_finish(&giop);
            assert_true(giop_send(fd, &giop));
            assert_int_equal(giop_reply(fd, &giop, PATIENCE_MS), 0);
            assert_int_equal(giop_get(&giop, 4), ESP_OK);
            assert_string_equal(heard_chunk, "arguments");
            put_get(&giop, minor, big, 8);
            assert_true(giop_send(fd, &giop));
            assert_int_equal(giop_reply(fd, &giop, PATIENCE_MS), 0);
            assert_int_equal(giop_get(&giop, 4), ESP_OK);
            assert_string_equal(giop_get_text(&giop), "");
            assert_int_equal(giop_get(&giop, 8), 8); /* length */
            giop_get(&giop, 4);
            giop_get(&giop, 4);
            assert_int_equal(giop_get(&giop, 4), 8);
            assert_memory_equal(giop.bytes + giop.at, "results!", 8);
            close(fd);
        }
    close_node();
}

/* A request to put these bytes, for an argument, with their sum and the difference to it. */
static void put_summed(struct giop *giop, uint8_t argument, const void *data, uint32_t n, uint32_t wrong)
{
    giop_request(giop, 2, false, "put");
    for (int i = 0; i < 4; i++)
        giop_put(giop, 1, 8); /* session */
    giop_put(giop, argument, 4);
    giop_put(giop, 0, 8);
    giop_put(giop, n, 8);
    giop_put(giop, CHUNK_HAS_CRC, 4);
    giop_put(giop, crc32c(0, data, n) + wrong, 4);
    giop_put_bytes(giop, data, n);
    giop_finish(giop);
}

static const size_t cuts[] = {136, 8, 16, 8192, 8, 4096, 1024, 16384, 8, 24};
#define N_CUTS (sizeof cuts / sizeof *cuts)

/* Between the fragments of a request nothing, or those of another one. */
static void chunks_come_in_fragments(void **state)
{
    (void)state;
    enum { BYTES = 30005 };
    static uint8_t data[2][BYTES];
    static struct giop giop[2];
    open_node(&(struct orb_options){0});
    for (size_t i = 0; i < sizeof data; i++)
        data[i / BYTES][i % BYTES] = (uint8_t)(i * i / 7);
    for (int n = 1; n <= 2; n++)
        for (size_t first = 0; first < N_CUTS; first++) {
            int fd = giop_dial(address);
            size_t at[2] = {0, 0};
            atomic_store(&chunks_whole, 0);
            memset(heard_chunk, 0, sizeof heard_chunk);
            for (int i = 0; i < n; i++)
                put_summed(&giop[i], (uint8_t)i, data[i], BYTES, 0);
            giop[1].bytes[12]++; /* another request's number */
            for (size_t cut = 0; at[0] < giop[0].n || (n == 2 && at[1] < giop[1].n); cut++)
                for (int i = 0; i < n; i++)
                    if (at[i] < giop[i].n)
                        at[i] = giop_send_fragment(fd, &giop[i], at[i],
                                                   cuts[cut == 0 ? 0 : (first + cut) % N_CUTS]);
            for (int i = 0; atomic_load(&chunks_whole) < n && i < PATIENCE_MS; i++)
                usleep(1000);
            assert_int_equal(atomic_load(&chunks_whole), n);
            for (int i = 0; i < n; i++)
                assert_memory_equal(heard_chunk + (size_t)i * (sizeof heard_chunk / 2), data[i], BYTES);
            close(fd);
        }
    close_node();
}

static void a_chunk_that_was_damaged_is_refused(void **state)
{
    (void)state;
    static uint8_t data[30000];
    static struct giop giop;
    open_node(&(struct orb_options){0});
    int fd = giop_dial(address);
    atomic_store(&chunks_broken, 0);
    for (uint32_t wrong = 0; wrong <= 1; wrong++) {
        put_summed(&giop, 0, data, sizeof data, wrong);
        for (size_t at = 0; at < giop.n;)
            at = giop_send_fragment(fd, &giop, at, 8000);
        assert_int_equal(giop_reply(fd, &giop, PATIENCE_MS), 0);
        assert_int_equal(giop_get(&giop, 4), wrong ? ESP_PROTOCOL : ESP_OK);
    }
    assert_int_equal(atomic_load(&chunks_broken), 1);
    close(fd);
    close_node();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(who_says_nothing_gives_way, close_what_is_left),
        cmocka_unit_test_teardown(of_those_who_spoke_the_one_silent_for_longest_gives_way,
                                  close_what_is_left),
        cmocka_unit_test_teardown(who_is_being_served_keeps_his_place, close_what_is_left),
        cmocka_unit_test_teardown(a_flood_does_not_lock_others_out, close_what_is_left),
        cmocka_unit_test_teardown(a_first_message_has_limited_time, close_what_is_left),
        cmocka_unit_test_teardown(a_message_that_stops_half_way_is_given_up, close_what_is_left),
        cmocka_unit_test_teardown(a_reply_that_nobody_takes_is_given_up, close_what_is_left),
        cmocka_unit_test_teardown(it_understands_every_version_and_byte_order, close_what_is_left),
        cmocka_unit_test_teardown(who_closes_between_two_pieces_is_noticed, close_what_is_left),
        cmocka_unit_test_teardown(chunks_come_and_go_in_every_version_and_byte_order, close_what_is_left),
        cmocka_unit_test_teardown(chunks_come_in_fragments, close_what_is_left),
        cmocka_unit_test_teardown(a_chunk_that_was_damaged_is_refused, close_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
