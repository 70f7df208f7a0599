/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks on other hosts that fetch their own pieces, as their daemon orders it, and lend what they keep
 * over encrypted connections: the pieces that arrive, and the processes whose orders are obeyed. */
#include "tests/unit/porter_rig.h"

#include "core/redistribution/pieces.h"
#include "sed/porter/porter_far.h"
#include "sed/ranks/rank_secret.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RANKS  4
#define TICKET 4711
#define LONG   10000 /* ms, that nobody needs */

static const char secret[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
static const char another[] = "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
static const struct datum_key name = {33, 44};

/* ---- what all ranks of the test keep, a piece each ---- */

struct piece {
    char *data;
    bool whole;
};

static struct piece kept[RANKS];
static _Atomic int holders, made;

static const char *hold(struct datum_key of, const struct block_cyclic_matrix *layout, int64_t piece,
                        uint32_t element_bytes, uint64_t bytes, void **held)
{
    (void)layout, (void)element_bytes, (void)bytes;
    if (!datum_key_equal(of, name) || !kept[piece].whole)
        return NULL;
    atomic_fetch_add(&holders, 1);
    *held = &kept[piece];
    return kept[piece].data;
}

static void let(void *held)
{
    (void)held;
    atomic_fetch_sub(&holders, 1);
}

static char *make(struct datum_key of, const struct block_cyclic_matrix *layout, int64_t piece,
                  uint32_t element_bytes, uint64_t bytes, void **held)
{
    assert_true(datum_key_equal(of, name));
    assert_int_equal(bytes, pieces_count(layout, piece) * element_bytes);
    free(kept[piece].data);
    kept[piece].data = calloc(1, bytes);
    atomic_fetch_add(&holders, 1);
    atomic_fetch_add(&made, 1);
    *held = &kept[piece];
    return kept[piece].data;
}

static void filled(void *held)
{
    ((struct piece *)held)->whole = true;
}

static bool find_key(uint64_t ticket, unsigned char key[PORTER_SECRET_BYTES])
{
    return rank_porter_key(secret, ticket, key, NULL) == ESP_OK;
}

static const struct porter_keeper keeper = {
    .hold = hold, .let = let, .make = make, .filled = filled, .key = find_key, .sealed = true};

/* ---- a server that lends, and the ranks of another ---- */

static struct side source;
static struct porter_order order;
static struct porter_lenders ranks;
static struct porter *porters[RANKS];

static void prepare_with(bool sealed)
{
    const struct block_cyclic_matrix from = pieces_grid(100, 100, 3, 1, 8, 8),
                                     to = pieces_grid(100, 100, 2, 2, 7, 5);
    struct esp_error error;
    open_side(&source, "from", 3, 10000);
    order = order_of(&from, &to, source.bytes);
    order.sealed = sealed;
    memset(order.secret, 0x77, sizeof order.secret);
    fill(&from, source.pieces, false);
    lend(&source, &order);
    ranks = (struct porter_lenders){.name = name, .ranks = RANKS, .n = RANKS};
    assert_int_equal(rank_porter_key(secret, PORTER_ORDERS, ranks.secret, &error), ESP_OK);
    for (uint32_t i = 0; i < RANKS; i++) {
        if (porter_create_keeping(&keeper, "127.0.0.1", &porters[i], &error) != ESP_OK)
            fail_msg("%s", error.text);
        ranks.all[i] = (struct porter_lender){.rank = i, .port = porter_port(porters[i])};
        snprintf(ranks.all[i].host, PORTER_LENDER_HOST, "127.0.0.1");
    }
    holders = made = 0;
}

static int prepare(void **state)
{
    (void)state;
    prepare_with(false);
    return 0;
}

static int prepare_sealed(void **state)
{
    (void)state;
    prepare_with(true);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RANKS; i++) {
        porter_destroy(porters[i]);
        free(kept[i].data);
        kept[i] = (struct piece){0};
    }
    close_side(&source);
    return atomic_load(&holders); /* nobody holds anything any more */
}

static uint32_t fetched(void)
{
    return porter_far_end(porter_far_begin(&ranks, &order), LONG);
}

static void all_is_right(void)
{
    double *pieces = malloc(source.bytes);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_true(kept[i].whole);
        memcpy(pieces + pieces_before(&order.to, i), kept[i].data,
               pieces_count(&order.to, i) * sizeof(double));
    }
    fill(&order.to, pieces, true);
    free(pieces);
}

static void each_rank_fetches_its_piece(void **state)
{
    (void)state;
    assert_int_equal(fetched(), RANKS);
    all_is_right();
}

static void what_is_there_is_not_fetched_again(void **state)
{
    (void)state;
    assert_int_equal(fetched(), RANKS);
    assert_int_equal(fetched(), RANKS);
    assert_int_equal(made, RANKS);
}

static void ranks_without_a_place_on_the_grid_fetch_nothing(void **state)
{
    (void)state;
    order.to = pieces_grid(100, 100, 1, 2, 7, 5);
    assert_int_equal(fetched(), 2);
    order.to = pieces_grid(100, 100, 5, 1, 7, 5);
    assert_null(porter_far_begin(&ranks, &order)); /* no call runs on so many */
    assert_int_equal(made, 2);
}

static void what_is_not_lent_is_not_kept(void **state)
{
    (void)state;
    order.ticket++;
    assert_int_equal(fetched(), 0);
    for (uint32_t i = 0; i < RANKS; i++)
        assert_false(kept[i].whole);
}

static void who_is_gone_is_not_waited_for(void **state)
{
    (void)state;
    porter_destroy(porters[2]);
    porters[2] = NULL;
    assert_int_equal(fetched(), RANKS - 1);
}

/* ---- orders of other processes than the daemon ---- */

static void another_secret_is_not_obeyed(void **state)
{
    (void)state;
    assert_int_equal(rank_porter_key(another, PORTER_ORDERS, ranks.secret, NULL), ESP_OK);
    assert_int_equal(fetched(), 0);
    assert_int_equal(made, 0);
}

/* The answer to an order over such a connection; ESP_UNREACHABLE: none. */
static enum esp_status answered(uint64_t ticket, const unsigned char *key, const struct porter_order *said)
{
    const struct porter_end end = {.stop = -1, .order = -1, .stall_ms = LONG};
    struct porter_line line;
    struct porter_answer answer = {.status = ESP_OK};
    assert_int_equal(porter_connect("127.0.0.1", ranks.all[0].port, LONG, &end, &line.socket, NULL), ESP_OK);
    line.tls = NULL;
    enum esp_status status =
        key ? porter_tls_connect(line.socket, ticket, key, &end, &line.tls, NULL) : ESP_OK;
    if (status == ESP_OK)
        status = porter_line_say(&line, said, sizeof *said, &end, NULL);
    if (status == ESP_OK)
        status = porter_line_hear(&line, &answer, sizeof answer, &end, NULL);
    porter_tls_close(line.tls);
    close(line.socket);
    return status == ESP_OK ? (enum esp_status)answer.status : ESP_UNREACHABLE;
}

static struct porter_order sound_order(void)
{
    struct porter_order sound = order;
    sound.kind = PORTER_KEEP;
    sound.name = name;
    sound.places = RANKS;
    return sound;
}

static void the_key_of_a_loan_is_none_for_orders(void **state)
{
    (void)state;
    const struct porter_order sound = sound_order();
    unsigned char key[PORTER_SECRET_BYTES];
    assert_int_equal(rank_porter_key(secret, TICKET, key, NULL), ESP_OK);
    assert_int_equal(answered(TICKET, key, &sound), ESP_UNREACHABLE);
    assert_int_equal(answered(PORTER_ORDERS, key, &sound), ESP_UNREACHABLE);
    assert_int_equal(made, 0);
    assert_int_equal(answered(PORTER_ORDERS, ranks.secret, &sound), ESP_OK); /* the order itself is right */
}

static void orders_in_the_clear_are_none(void **state)
{
    (void)state;
    const struct porter_order sound = sound_order();
    assert_int_equal(answered(PORTER_ORDERS, NULL, &sound), ESP_UNREACHABLE);
    assert_int_equal(made, 0);
}

static void malformed_orders_are_refused(void **state)
{
    (void)state;
    struct porter_order bad[] = {sound_order(), sound_order(), sound_order(), sound_order(), sound_order(),
                                 sound_order(), sound_order(), sound_order(), sound_order()};
    bad[0].kind = PORTER_FETCH;
    bad[1].kind = PORTER_LEND;
    bad[2].version++;
    bad[3].place = RANKS;
    bad[4].places = 2;
    bad[5].bytes--;
    bad[6].to.rows.block = 0;
    bad[7].n_ports = PORTERS_MOST + 1;
    memset(bad[8].host, 'a', sizeof bad[8].host);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(answered(PORTER_ORDERS, ranks.secret, &bad[i]), ESP_PROTOCOL);
    assert_int_equal(made, 0);
}

/* ---- who sits between ---- */

static struct recorder {
    int listener;
    uint16_t to;
    size_t n;
    char said[1 << 16];
    pthread_t thread;
} recorder;

static int connect_to(uint16_t port)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static bool hand_on(int from, int to, bool keeps)
{
    char some[4096];
    const ssize_t n = recv(from, some, sizeof some, 0);
    if (n > 0 && keeps && recorder.n + (size_t)n <= sizeof recorder.said) {
        memcpy(recorder.said + recorder.n, some, (size_t)n);
        recorder.n += (size_t)n;
    }
    return n > 0 && send(to, some, (size_t)n, MSG_NOSIGNAL) == n;
}

static void *record(void *arg)
{
    const int here = accept(recorder.listener, NULL, NULL), there = connect_to(recorder.to);
    bool open = true;
    while (open) {
        struct pollfd fds[] = {{.fd = here, .events = POLLIN}, {.fd = there, .events = POLLIN}};
        open = poll(fds, 2, LONG) > 0;
        if (open && fds[0].revents)
            open = hand_on(here, there, true);
        if (open && fds[1].revents)
            open = hand_on(there, here, false);
    }
    close(here);
    close(there);
    return arg;
}

static void an_order_that_is_said_again_is_none(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    char byte[512];
    recorder = (struct recorder){.listener = socket(AF_INET, SOCK_STREAM, 0), .to = ranks.all[0].port};
    assert_int_equal(bind(recorder.listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(recorder.listener, 1), 0);
    assert_int_equal(getsockname(recorder.listener, (struct sockaddr *)&at, &size), 0);
    assert_int_equal(pthread_create(&recorder.thread, NULL, record, NULL), 0);
    ranks.n = 1;
    ranks.all[0].port = ntohs(at.sin_port);
    assert_int_equal(fetched(), 1);
    pthread_join(recorder.thread, NULL);
    close(recorder.listener);
    assert_true(recorder.n > sizeof(struct porter_order)); /* all of it was heard */

    kept[0].whole = false; /* it would be fetched again */
    const int fd = connect_to(recorder.to);
    assert_int_equal(send(fd, recorder.said, recorder.n, MSG_NOSIGNAL), recorder.n);
    shutdown(fd, SHUT_WR);
    while (recv(fd, byte, sizeof byte, 0) > 0) /* until it is closed */
        ;
    close(fd);
    assert_int_equal(made, 1);
}

/* ---- orders that do not end by themselves ---- */

/* A source that lets everybody in, and says nothing. */
static int be_silent(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(listener, 16), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    order.n_ports = 1;
    order.ports[0] = ntohs(at.sin_port);
    return listener;
}

static void await(_Atomic int *what, int expected)
{
    for (int i = 0; i < LONG && atomic_load(what) != expected; i++)
        usleep(1000);
    assert_int_equal(atomic_load(what), expected);
}

static void one_order_at_a_time_which_the_daemon_withdraws(void **state)
{
    (void)state;
    const uint32_t n_ports = order.n_ports;
    const uint16_t port = order.ports[0];
    const int listener = be_silent();
    struct porter_far *far = porter_far_begin(&ranks, &order);
    await(&holders, RANKS);
    const struct porter_order another_one = sound_order();
    assert_int_equal(answered(PORTER_ORDERS, ranks.secret, &another_one), ESP_BUSY);
    assert_int_equal(porter_far_end(far, 0), 0);
    await(&holders, 0);
    close(listener);
    order.n_ports = n_ports;
    order.ports[0] = port;
    uint32_t have = 0; /* a porter is free a moment after it has let go */
    for (int i = 0; i < LONG && have < RANKS; i++)
        have = fetched();
    assert_int_equal(have, RANKS);
    all_is_right();
}

/* ---- encrypted ---- */

/* The ranks lend to the porters of a third server, with the key of that loan; the daemon there has nothing.
 */
static enum esp_status lend_on(const unsigned char *key, uint64_t ticket, bool sealed)
{
    struct side target;
    struct told told = {0};
    const struct block_cyclic_matrix to = pieces_grid(100, 100, 1, 1, 100, 100);
    open_side(&target, "to", 1, 10000);
    struct porter_order on = order_of(&order.to, &to, source.bytes);
    on.ticket = ticket;
    on.sealed = sealed;
    on.lenders = ranks;
    if (key)
        memcpy(on.lenders.secret, key, PORTER_SECRET_BYTES);
    on.n_ports = 1;
    on.ports[0] = 1;
    const enum esp_status status = fetch(&target, &on, &told, NULL);
    if (status == ESP_OK)
        fill(&to, target.pieces, true);
    close_side(&target);
    return status;
}

static void ranks_fetch_from_those_that_encrypt(void **state)
{
    (void)state;
    assert_int_equal(fetched(), RANKS);
    all_is_right();
}

static void ranks_lend_to_those_who_have_the_key_of_the_loan(void **state)
{
    (void)state;
    unsigned char key[PORTER_SECRET_BYTES];
    assert_int_equal(fetched(), RANKS);
    assert_int_equal(rank_porter_key(secret, TICKET, key, NULL), ESP_OK);
    assert_int_equal(lend_on(key, TICKET, true), ESP_OK);
    assert_int_not_equal(lend_on(key, TICKET + 2, true), ESP_OK); /* of another loan */
    assert_int_not_equal(lend_on(NULL, TICKET, true), ESP_OK);    /* the key of orders */
    assert_int_not_equal(lend_on(NULL, TICKET, false), ESP_OK);   /* in the clear */
}

static void keys_hang_on_the_secret_and_the_ticket(void **state)
{
    (void)state;
    unsigned char keys[4][PORTER_SECRET_BYTES], again[PORTER_SECRET_BYTES];
    assert_int_equal(rank_porter_key(secret, PORTER_ORDERS, keys[0], NULL), ESP_OK);
    assert_int_equal(rank_porter_key(secret, 1, keys[1], NULL), ESP_OK);
    assert_int_equal(rank_porter_key(secret, 3, keys[2], NULL), ESP_OK);
    assert_int_equal(rank_porter_key(another, 3, keys[3], NULL), ESP_OK);
    assert_int_equal(rank_porter_key(secret, 3, again, NULL), ESP_OK);
    assert_memory_equal(again, keys[2], sizeof again);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(keys[i], keys[j], sizeof again);
    assert_int_equal(rank_porter_key("", 3, again, NULL), ESP_SECURITY); /* no job, no key */
}

int main(void)
{
#define OPEN(what)   cmocka_unit_test_setup_teardown(what, prepare, clean_up)
#define SEALED(what) cmocka_unit_test_setup_teardown(what, prepare_sealed, clean_up)
    static const struct CMUnitTest tests[] = {
        OPEN(each_rank_fetches_its_piece),
        OPEN(what_is_there_is_not_fetched_again),
        OPEN(ranks_without_a_place_on_the_grid_fetch_nothing),
        OPEN(what_is_not_lent_is_not_kept),
        OPEN(who_is_gone_is_not_waited_for),
        OPEN(another_secret_is_not_obeyed),
        OPEN(the_key_of_a_loan_is_none_for_orders),
        OPEN(orders_in_the_clear_are_none),
        OPEN(malformed_orders_are_refused),
        OPEN(an_order_that_is_said_again_is_none),
        OPEN(one_order_at_a_time_which_the_daemon_withdraws),
        SEALED(ranks_fetch_from_those_that_encrypt),
        SEALED(ranks_lend_to_those_who_have_the_key_of_the_loan),
        cmocka_unit_test(keys_hang_on_the_secret_and_the_ticket),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
