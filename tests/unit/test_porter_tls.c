/* SPDX-License-Identifier: Apache-2.0
 *
 * Porters over encrypted connections: a peer without the key gets nothing, a listener learns nothing, and
 * changes are noticed. */
#include "tests/unit/porter_rig.h"

#include "core/redistribution/pieces.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void every_element_comes_to_its_place(void **state)
{
    (void)state;
    static const struct {
        int64_t m, n, block, other;
        uint32_t here, there;
    } cases[] = {{10, 8, 3, 2, 4, 6}, {64, 64, 8, 8, 4, 4}, {700, 300, 1, 50, 4, 6}, {1, 1, 4, 1, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        carries(pieces_grid(cases[i].m, cases[i].n, 2, 2, cases[i].block, cases[i].block),
                pieces_grid(cases[i].m, cases[i].n, 3, 2, cases[i].other, cases[i].other), cases[i].here,
                cases[i].there, i % 2 ? "127.0.0.1" : "127.0.0.2", true);
}

/* ---- peers without the key ---- */

static struct side source, target;
static struct porter_order order;

static void prepare(bool sealed)
{
    struct block_cyclic_matrix from = pieces_grid(100, 100, 2, 2, 8, 8),
                               to = pieces_grid(100, 100, 3, 1, 5, 5);
    open_side(&source, "from", 4, 10000);
    open_side(&target, "to", 3, 10000);
    order = order_of(&from, &to, source.bytes);
    order.sealed = sealed;
    memset(order.secret, 0x77, sizeof order.secret);
    fill(&from, source.pieces, false);
    lend(&source, &order);
}

static int prepare_sealed(void **state)
{
    (void)state;
    prepare(true);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    close_side(&source);
    close_side(&target);
    return 0;
}

static enum esp_status fetch_all(struct told *told, struct esp_error *error)
{
    *told = (struct told){0};
    *error = (struct esp_error){.text = ""};
    return fetch(&target, &order, told, error);
}

static void another_key_is_refused(void **state)
{
    (void)state;
    struct told told;
    struct esp_error error;
    order.secret[31] ^= 1;
    assert_int_equal(fetch_all(&told, &error), ESP_SECURITY);
    assert_int_equal(told.bytes, 0);
    order.secret[31] ^= 1;
    assert_int_equal(fetch_all(&told, &error), ESP_OK);
}

static void a_ticket_without_a_loan_is_refused(void **state)
{
    (void)state;
    struct told told;
    struct esp_error error;
    order.ticket++;
    assert_int_not_equal(fetch_all(&told, &error), ESP_OK);
    assert_int_equal(told.bytes, 0);
}

/* A loan that is to be encrypted is not there for those who ask in the clear. */
static void who_asks_in_the_clear_gets_nothing(void **state)
{
    (void)state;
    struct told told;
    struct esp_error error;
    order.sealed = 0;
    assert_int_equal(fetch_all(&told, &error), ESP_NOT_FOUND);
    assert_int_equal(told.bytes, 0);
}

static void who_lends_in_the_clear_is_not_believed(void **state)
{
    (void)state;
    struct told told;
    struct esp_error error;
    prepare(false);
    order.sealed = 1;
    assert_int_not_equal(fetch_all(&told, &error), ESP_OK);
    assert_int_equal(told.bytes, 0);
}

/* ---- who sits between ---- */

enum { HEARD = 1 << 20 };

/* Hands on what passes between a porter and one other, and keeps what it hears from that one. */
static struct relay {
    int listener;
    uint16_t to;
    long damage_at; /* the byte from the source to change; -1: none */
    _Atomic long heard;
    char bytes[HEARD];
    pthread_t thread;
} relay;

static bool hand_on(int from, int to, bool listen)
{
    char some[4096];
    const ssize_t n = recv(from, some, sizeof some, 0);
    for (ssize_t i = 0; listen && i < n; i++) {
        const long at = atomic_fetch_add(&relay.heard, 1);
        if (at < HEARD)
            relay.bytes[at] = some[i];
        some[i] = (char)(at == relay.damage_at ? some[i] ^ 1 : some[i]);
    }
    return n > 0 && send(to, some, (size_t)n, MSG_NOSIGNAL) == n;
}

static void *pass_on(void *arg)
{
    int here;
    (void)arg;
    while ((here = accept(relay.listener, NULL, NULL)) >= 0) {
        const struct sockaddr_in name = {
            .sin_family = AF_INET, .sin_port = htons(relay.to), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int there = socket(AF_INET, SOCK_STREAM, 0);
        bool open = connect(there, (const struct sockaddr *)&name, sizeof name) == 0;
        while (open) {
            struct pollfd fds[] = {{.fd = here, .events = POLLIN}, {.fd = there, .events = POLLIN}};
            open = poll(fds, 2, 10000) > 0;
            if (open && fds[0].revents)
                open = hand_on(here, there, false);
            if (open && fds[1].revents)
                open = hand_on(there, here, true);
        }
        close(there);
        close(here);
    }
    return NULL;
}

/* One porter lends to one that fetches, through the relay. */
static enum esp_status fetch_through_relay(bool sealed, long damage_at, struct esp_error *error)
{
    struct block_cyclic_matrix whole = pieces_grid(60, 60, 1, 1, 60, 60);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof name;
    struct told told = {0};
    open_side(&source, "from", 1, 3600);
    open_side(&target, "to", 1, 3600);
    order = order_of(&whole, &whole, source.bytes);
    order.sealed = sealed;
    memset(order.secret, 0x33, sizeof order.secret);
    fill(&whole, source.pieces, false);
    lend(&source, &order);
    relay = (struct relay){
        .listener = socket(AF_INET, SOCK_STREAM, 0), .to = order.ports[0], .damage_at = damage_at};
    assert_int_equal(bind(relay.listener, (struct sockaddr *)&name, size), 0);
    assert_int_equal(listen(relay.listener, 4), 0);
    assert_int_equal(getsockname(relay.listener, (struct sockaddr *)&name, &size), 0);
    assert_int_equal(pthread_create(&relay.thread, NULL, pass_on, NULL), 0);
    order.ports[0] = ntohs(name.sin_port);
    *error = (struct esp_error){.text = ""};
    const enum esp_status status = fetch(&target, &order, &told, error);
    if (status == ESP_OK)
        fill(&whole, target.pieces, true);
    shutdown(relay.listener, SHUT_RDWR);
    pthread_join(relay.thread, NULL);
    close(relay.listener);
    return status;
}

/* Elements 100 to 103 as they lie. */
static bool elements_were_heard(void)
{
    const long heard = atomic_load(&relay.heard);
    bool found = false;
    for (long i = 0; i + 32 <= heard && i + 32 <= HEARD; i++)
        found |= memcmp(relay.bytes + i, source.pieces + 100, 32) == 0;
    return found;
}

static void who_listens_learns_nothing(void **state)
{
    struct esp_error error;
    assert_int_equal(fetch_through_relay(false, -1, &error), ESP_OK);
    assert_true(elements_were_heard()); /* the test itself can hear */
    clean_up(state);
    assert_int_equal(fetch_through_relay(true, -1, &error), ESP_OK);
    assert_true(atomic_load(&relay.heard) > 3600 * 8);
    assert_false(elements_were_heard());
}

static void a_changed_byte_is_noticed(void **state)
{
    struct esp_error error;
    for (long at = 400; at < 20000; at += 9700) {
        assert_int_equal(fetch_through_relay(true, at, &error), ESP_SECURITY);
        assert_non_null(strstr(error.text, "the encrypted connection"));
        if (at + 9700 < 20000)
            clean_up(state);
    }
}

int main(void)
{
#define AGAINST(name) cmocka_unit_test_setup_teardown(name, prepare_sealed, clean_up)
#define ALONE(name)   cmocka_unit_test_setup_teardown(name, NULL, clean_up)
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_comes_to_its_place),
        AGAINST(another_key_is_refused),
        AGAINST(a_ticket_without_a_loan_is_refused),
        AGAINST(who_asks_in_the_clear_gets_nothing),
        ALONE(who_lends_in_the_clear_is_not_believed),
        ALONE(who_listens_learns_nothing),
        ALONE(a_changed_byte_is_noticed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
