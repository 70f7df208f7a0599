/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory between processes of one user on one host: messages that go that way, and processes that are
 * refused. */
#include "tests/unit/unit.h"
#include "orb/orb.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };

/* A node with some memory, to which it may be lent more. */
struct node {
    uint8_t memory[BYTES];
    unsigned pieces, lent;
    uint8_t *window;
    uint64_t offset;
};

static struct transport *transport;
static struct endpoint *endpoint;
static struct node node;

static void on_chunk(void *self, const struct message *header, bool write, struct chunk_area *area)
{
    (void)self, (void)write;
    area->data = node.memory + header->chunk.offset;
    area->length = header->chunk.length;
    node.pieces++;
}

static struct message *on_lend(void *self, const struct message *header, int *file, uint64_t offset)
{
    (void)self;
    if (header->chunk.argument == 99)
        return NULL;
    struct message *reply = message_create(MESSAGE_CHUNK_REPLY);
    reply->chunk_reply.length = header->chunk.length;
    node.window = mmap(NULL, offset + header->chunk.length, PROT_READ, MAP_SHARED, *file, 0);
    assert_true(fcntl(*file, F_GETFD) & FD_CLOEXEC);
    node.offset = offset;
    node.lent++;
    return reply;
}

static const struct endpoint_ops node_ops = {.chunk = on_chunk, .lend = on_lend};

static void open_node(bool ports_only)
{
    struct endpoint_options options = {.name = "node", .incarnation = 1, .listen = "127.0.0.1:0"};
    memset(&node, 0, sizeof node);
    assert_int_equal(orb_open(&(struct orb_options){.ports_only = ports_only}, &transport, NULL), ESP_OK);
    assert_int_equal(transport_serve(transport, &options, &node_ops, NULL, &endpoint, NULL), ESP_OK);
}

static int set_up(void **state)
{
    (void)state;
    open_node(false);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    endpoint_close(endpoint);
    transport_destroy(transport);
    return 0;
}

static int memory_file(uint64_t bytes, int seals)
{
    int file = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, (off_t)bytes), 0);
    if (seals)
        assert_int_equal(fcntl(file, F_ADD_SEALS, seals), 0);
    return file;
}

static bool lend(int file, uint64_t offset, uint64_t bytes, uint32_t argument)
{
    struct message header = {.kind = MESSAGE_PUT, .chunk = {.length = bytes, .argument = argument}};
    bool lent = true;
    assert_int_equal(
        transport_lend(transport, endpoint_address(endpoint), &header, file, offset, 10000, &lent, NULL),
        ESP_OK);
    return lent;
}

static void a_file_is_used_where_it_is(void **state)
{
    (void)state;
    int file = memory_file(BYTES, F_SEAL_SHRINK | F_SEAL_GROW);
    char *mine = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    strcpy(mine + 100, "before");
    assert_true(lend(file, 100, BYTES - 100, 0));
    assert_int_equal(node.lent, 1);
    assert_string_equal((char *)node.window + node.offset, "before");
    strcpy(mine + 100, "behind");
    assert_string_equal((char *)node.window + node.offset, "behind");
    assert_int_equal(node.pieces, 0);
    assert_false(lend(file, 0, BYTES, 99)); /* the node does not want that one, */
    assert_true(lend(file, 0, BYTES, 1));   /* and others all the same */
    munmap(mine, BYTES);
    munmap(node.window, BYTES);
    close(file);
}

static void a_file_that_may_become_shorter_is_not_taken(void **state)
{
    (void)state;
    int loose = memory_file(BYTES, 0), growing = memory_file(BYTES, F_SEAL_SHRINK),
        firm = memory_file(BYTES, F_SEAL_SHRINK | F_SEAL_GROW), ends[2];
    char path[] = "/tmp/espalier-near-XXXXXX";
    int plain = mkstemp(path);
    assert_true(plain >= 0);
    unlink(path);
    assert_int_equal(ftruncate(plain, BYTES), 0);
    assert_int_equal(pipe(ends), 0);
    assert_false(lend(loose, 0, BYTES, 0));
    assert_false(lend(growing, 0, BYTES, 0));
    assert_false(lend(plain, 0, BYTES, 0));
    assert_false(lend(ends[0], 0, BYTES, 0));
    assert_false(lend(firm, 1, BYTES, 0));      /* beyond its end */
    assert_false(lend(firm, UINT64_MAX, 2, 0)); /* and around */
    assert_false(lend(firm, 0, UINT64_MAX, 0));
    assert_false(lend(firm, 0, 0, 0));
    assert_false(lend(1 << 20, 0, BYTES, 0)); /* no descriptor */
    assert_int_equal(node.lent, 0);
    assert_true(lend(firm, 0, BYTES, 0));
    munmap(node.window, BYTES);
    close(loose);
    close(growing);
    close(firm);
    close(plain);
    close(ends[0]);
    close(ends[1]);
}

/* Messages of a stranger: the numbers are not this process's, or lie elsewhere. */
static void nobody_is_believed_without_the_proof(void **state)
{
    (void)state;
    static uint64_t proof[2] = {1, 2};
    static uint8_t data[100] = {7};
    for (int i = 0; i < 4; i++) {
        struct message request = {.kind = MESSAGE_REACH}, reply;
        request.reach = (struct reach_request){.chunk.length = sizeof data,
                                               .way = i == 3 ? 77 : REACH_TAKE,
                                               .place = (uintptr_t)data,
                                               .proof_place = i == 1 ? 16 : (uintptr_t)proof,
                                               .proof_high = i == 2 ? 3 : 1,
                                               .proof_low = 2};
        assert_int_equal(transport_call(transport, endpoint_address(endpoint), &request, 10000, &reply, NULL),
                         ESP_OK);
        /* The first one holds: it is indeed in this process's memory. */
        assert_int_equal(reply.chunk_reply.flags, i == 0 ? 0 : CHUNK_NOT_REACHED);
        assert_int_equal(reply.chunk_reply.length, i == 0 ? sizeof data : 0);
        message_clear(&reply);
    }
    assert_int_equal(node.pieces, 1);
    assert_int_equal(node.memory[0], 7);
}

/* The second half of the memory may not be touched. */
static void tells_what_is_not_there(size_t half)
{
    const char *address = endpoint_address(endpoint);
    struct message put = {.kind = MESSAGE_PUT, .chunk = {.length = 2 * half}},
                   get = {.kind = MESSAGE_GET, .chunk = {.length = 2 * half}};
    struct esp_error error;
    uint64_t moved;
    char found[32];
    char *memory = mmap(NULL, 2 * half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(mprotect(memory + half, half, PROT_NONE), 0);
    snprintf(found, sizeof found, "found %zu;", half);
    assert_int_equal(transport_put(transport, address, &put, memory, 10000, 0, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "memory cannot be read: expected"));
    assert_non_null(strstr(error.text, found));
    assert_int_equal(transport_get(transport, address, &get, memory, &moved, 10000, 0, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "memory cannot be written: expected"));
    assert_non_null(strstr(error.text, found));
    put.chunk.length = get.chunk.length = half;
    assert_int_equal(transport_put(transport, address, &put, memory + half, 10000, 0, &error), ESP_INVALID);
    assert_int_equal(transport_get(transport, address, &get, memory + half, &moved, 10000, 0, &error),
                     ESP_INVALID);
    assert_int_equal(transport_put(transport, address, &put, memory, 10000, 0, &error), ESP_OK);
    assert_int_equal(transport_get(transport, address, &get, memory, &moved, 10000, 0, &error), ESP_OK);
    munmap(memory, 2 * half);
}

static void memory_that_is_not_there_is_told_as_such(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    tells_what_is_not_there(page);
    tells_what_is_not_there(BYTES / 4);
    tear_down(state);
    open_node(true);
    tells_what_is_not_there(page);
    tells_what_is_not_there(BYTES / 4);
}

/* Wherever the two memories lie to each other, and whatever is left behind whole pieces. */
static void every_byte_arrives_at_its_place(void **state)
{
    (void)state;
    static const size_t behind[] = {0, 1, 16, 31, 32, 2048, 4095},
                        lengths[] = {1, 65535, 65536, 200001, 524288};
    const size_t page = 4096, room = BYTES;
    const size_t place_in_page = (uintptr_t)node.memory % page;
    uint8_t *memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    for (size_t i = 0; i < BYTES; i++)
        node.memory[i] = (uint8_t)(i * i / 251 + i);
    for (size_t b = 0; b < sizeof behind / sizeof *behind; b++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            const size_t at = page + place_in_page + behind[b], n = lengths[l];
            struct message get = {.kind = MESSAGE_GET, .chunk = {.offset = page, .length = n}};
            uint64_t moved;
            memset(memory, 99, room);
            assert_int_equal(transport_get(transport, endpoint_address(endpoint), &get, memory + at, &moved,
                                           10000, 0, NULL),
                             ESP_OK);
            assert_int_equal(moved, n);
            assert_memory_equal(memory + at, node.memory + page, n);
            for (size_t i = 0; i < room; i++)
                if (i < at || i >= at + n)
                    assert_int_equal(memory[i], 99);
        }
    munmap(memory, room);
}

static void over_a_port_nothing_is_lent(void **state)
{
    tear_down(state);
    open_node(true);
    int file = memory_file(BYTES, F_SEAL_SHRINK | F_SEAL_GROW);
    assert_false(lend(file, 0, BYTES, 0));
    assert_int_equal(node.lent, 0);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_used_where_it_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_may_become_shorter_is_not_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_is_believed_without_the_proof, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_that_is_not_there_is_told_as_such, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_byte_arrives_at_its_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(over_a_port_nothing_is_lent, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
