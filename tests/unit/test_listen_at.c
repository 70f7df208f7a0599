/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "util/listen_at.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void add(struct listen_at *at, const char *address)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    struct sockaddr_storage *item = &at->items[at->n++];
    memset(item, 0, sizeof *item);
    if (inet_pton(AF_INET, address, &four.sin_addr) == 1) {
        memcpy(item, &four, sizeof four);
    } else {
        assert_int_equal(inet_pton(AF_INET6, address, &six.sin6_addr), 1);
        memcpy(item, &six, sizeof six);
    }
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&bound, &size), 0);
    return ntohs(bound.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&bound)->sin6_port
                                             : ((const struct sockaddr_in *)&bound)->sin_port);
}

static void all_addresses_are_served_at_one_port(void **state)
{
    struct listen_at at = {.n = 0};
    struct listen_sockets sockets;
    (void)state;
    add(&at, "127.0.0.1");
    add(&at, "127.0.0.2");
    assert_true(listen_at_open_all(&at, 1, &sockets));
    assert_int_equal(sockets.n, 2);
    assert_int_equal(port_of(sockets.fds[0]), port_of(sockets.fds[1]));
    listen_sockets_close(&sockets);
    assert_int_equal(sockets.n, 0);
}

static void an_address_of_another_machine_is_left_out(void **state)
{
    struct listen_at at = {.n = 0};
    struct listen_sockets sockets;
    (void)state;
    add(&at, "192.0.2.1");
    assert_false(listen_at_is_here(&at));
    assert_false(listen_at_open_all(&at, 1, &sockets));
    assert_int_equal(errno, EADDRNOTAVAIL);
    assert_int_equal(sockets.n, 0);
    add(&at, "127.0.0.1");
    assert_true(listen_at_is_here(&at));
    assert_true(listen_at_open_all(&at, 1, &sockets));
    assert_int_equal(sockets.n, 1);
    listen_sockets_close(&sockets);
}

/* A program that others reach at some of its addresses only would look as if it served at all. */
static void a_port_that_is_in_use_at_one_address_fails_at_all(void **state)
{
    struct listen_at one = {.n = 0}, both = {.n = 0};
    struct listen_sockets held, sockets;
    (void)state;
    add(&one, "127.0.0.2");
    assert_true(listen_at_open_all(&one, 1, &held));
    add(&both, "127.0.0.1");
    add(&both, "127.0.0.2");
    for (uint32_t i = 0; i < both.n; i++)
        ((struct sockaddr_in *)&both.items[i])->sin_port = htons(port_of(held.fds[0]));
    assert_false(listen_at_open_all(&both, 1, &sockets));
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(sockets.n, 0);
    listen_sockets_close(&held);
}

static void one_socket_is_for_all_addresses(void **state)
{
    struct listen_at at;
    struct listen_sockets sockets;
    struct esp_error error;
    (void)state;
    assert_int_equal(listen_at_find("*", 0, &at, &error), ESP_OK);
    assert_true(listen_at_is_here(&at));
    assert_true(listen_at_open_all(&at, 1, &sockets));
    assert_int_equal(sockets.n, 1);
    listen_sockets_close(&sockets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_addresses_are_served_at_one_port),
        cmocka_unit_test(an_address_of_another_machine_is_left_out),
        cmocka_unit_test(a_port_that_is_in_use_at_one_address_fails_at_all),
        cmocka_unit_test(one_socket_is_for_all_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
