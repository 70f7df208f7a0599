/* SPDX-License-Identifier: Apache-2.0
 *
 * LDAP servers that send wrong messages, or send none when they should: no client waits for them for ever. */
#include "services/directory/directory.h"
#include "services/directory/within.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define AT_A_TIME  32
#define MOST_PEERS 2048
#define TIMEOUT_MS 40 /* of each client that asks them */

/* The valid answers of a peer before it sends its own bytes; and its behaviour after them. */
enum good { NOTHING, BIND, STARTTLS };
enum then { SILENT, LEAVES, DRIPS, FLOODS, DEAF, PAGES };

struct peer {
    enum good good;
    enum then then;
    uint8_t say[64];
    size_t n;
};

static atomic_bool has_left; /* a peer that reads nothing does not notice that */

/* ---- a peer ---- */

static bool say(int fd, const void *bytes, size_t n)
{
    return n == 0 || send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* The answer "success", of that kind, with what goes behind it, to the next request. */
static bool say_success(int fd, uint8_t kind, const void *behind, size_t n_behind)
{
    uint8_t request[4096], answer[128] = {0x30};
    const uint8_t success[] = {kind, 7, 10, 1, 0, 4, 0, 4, 0};
    const ssize_t got = recv(fd, request, sizeof request, 0);
    /* The id follows the head, whose length is one byte, or has a byte with its size. */
    const size_t head = got > 1 && request[1] & 0x80 ? 2u + (request[1] & 0x7f) : 2;
    if (got < (ssize_t)head + 6 || request[head + 1] > 4)
        return false;
    const size_t id = request[head + 1] + 2u;
    answer[1] = (uint8_t)(id + sizeof success + n_behind);
    memcpy(answer + 2, request + head, id);
    memcpy(answer + 2 + id, success, sizeof success);
    if (n_behind)
        memcpy(answer + 2 + id + sizeof success, behind, n_behind);
    return say(fd, answer, answer[1] + 2u);
}

/* Pages without an entry, after each of which there is another one. */
static void say_pages(int fd)
{
    static const char control[] = "\xa0\x24\x30\x22\x04\x16"
                                  "1.2.840.113556.1.4.319"
                                  "\x04\x08\x30\x06\x02\x01\0\x04\x01x";
    while (say_success(fd, 0x65, control, sizeof control - 1))
        ;
}

/* Messages that answer nothing; where TLS is expected, records that it lets pass. */
static void flood(int fd, bool tls)
{
    static const uint8_t message[] = {0x30, 12, 2, 1, 99, 0x61, 7, 10, 1, 0, 4, 0, 4, 0},
                         record[] = {20, 3, 3, 0, 1, 1};
    while (tls ? say(fd, record, sizeof record) : say(fd, message, sizeof message))
        ;
}

static void speak(int fd, const struct peer *peer)
{
    uint8_t heard[4096];
    if ((peer->good == BIND && !say_success(fd, 0x61, NULL, 0)) ||
        (peer->good == STARTTLS && !say_success(fd, 0x78, NULL, 0)))
        return;
    if (peer->then == PAGES) {
        say_pages(fd);
        return;
    }
    while (peer->then == DEAF && !atomic_load(&has_left))
        usleep(1000);
    if (peer->then == DEAF)
        return;
    if (recv(fd, heard, sizeof heard, 0) <= 0 || !say(fd, peer->say, peer->n))
        return;
    if (peer->then == SILENT)
        while (recv(fd, heard, sizeof heard, 0) > 0)
            ;
    if (peer->then == FLOODS)
        flood(fd, peer->good == STARTTLS);
    while (peer->then == DRIPS && say(fd, "\1", 1))
        usleep(2000);
}

struct listening {
    const struct peer *peer;
    int fd;
};

static void *answer(void *self)
{
    const struct listening *listening = self;
    const int fd = accept(listening->fd, NULL, NULL);
    if (fd < 0)
        return NULL;
    speak(fd, listening->peer);
    close(fd);
    return NULL;
}

static bool listen_anywhere(struct listening *listening, char *url, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    listening->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listening->fd < 0 || bind(listening->fd, (struct sockaddr *)&address, length) != 0 ||
        listen(listening->fd, 1) != 0 ||
        getsockname(listening->fd, (struct sockaddr *)&address, &length) != 0)
        return false;
    snprintf(url, size, "ldap://127.0.0.1:%d/ou=x", ntohs(address.sin_port));
    return true;
}

/* ---- those who ask ---- */

static struct peer peers[MOST_PEERS];
static size_t n_peers;
static atomic_size_t next_peer, n_asked;

static enum esp_status ask(const struct peer *peer, int64_t timeout_ms, struct esp_error *error)
{
    struct listening listening = {peer, -1};
    struct directory_tree tree = {0};
    char url[64];
    const char *base;
    pthread_t thread;
    if (!listen_anywhere(&listening, url, sizeof url) ||
        pthread_create(&thread, NULL, answer, &listening) != 0)
        return error_set(error, ESP_SYSTEM, "no peer");
    const struct directory_options options = {
        .url = url, .timeout_ms = timeout_ms, .starttls = peer->good == STARTTLS};
    const enum esp_status status = directory_read(&options, &tree, &base, error);
    directory_tree_clear(&tree);
    shutdown(listening.fd, SHUT_RDWR); /* if it was never called */
    pthread_join(thread, NULL);
    close(listening.fd);
    return status;
}

static void *ask_some(void *arg)
{
    struct esp_error error = {0};
    (void)arg;
    for (size_t i; (i = atomic_fetch_add(&next_peer, 1)) < n_peers;)
        if (ask(&peers[i], TIMEOUT_MS, &error) != ESP_OK && error.status != ESP_SYSTEM)
            atomic_fetch_add(&n_asked, 1);
    return NULL;
}

/* Each of the peers, many at a time: all are reported with their faults. */
static void ask_all(void)
{
    pthread_t threads[AT_A_TIME];
    n_asked = next_peer = 0;
    for (int i = 0; i < AT_A_TIME; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_some, NULL), 0);
    for (int i = 0; i < AT_A_TIME; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(n_asked, n_peers);
    n_peers = 0;
}

static void add(enum good good, enum then then, const void *bytes, size_t n)
{
    struct peer *peer = &peers[n_peers++];
    assert_true(n_peers < MOST_PEERS && n <= sizeof peer->say);
    *peer = (struct peer){.good = good, .then = then, .n = n};
    if (n)
        memcpy(peer->say, bytes, n);
}

/* ---- what they say ---- */

/* The message up to each of its bytes, whatever comes then. */
static void add_parts(enum good good, const void *message, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (enum then then = SILENT; then <= DRIPS; then++)
            add(good, then, message, i);
}

static const uint8_t bound[] = {0x30, 12, 2, 1, 1, 0x61, 7, 10, 1, 0, 4, 0, 4, 0},
                     found[] = {0x30, 12, 2, 1, 2, 0x65, 7, 10, 1, 0, 4, 0, 4, 0},
                     entry[] = {0x30, 23, 2,    1, 2, 0x64, 18,  4,   4,    'o', 'u', '=', 'x',
                                0x30, 10, 0x30, 8, 4, 2,    'o', 'u', 0x31, 2,   4,   0};

static void parts_of_messages(void **state)
{
    (void)state;
    add_parts(NOTHING, bound, sizeof bound);
    add_parts(BIND, entry, sizeof entry);
    add_parts(BIND, found, sizeof found);
    ask_all();
}

static void lengths_that_somebody_made_up(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 256; i++) {
        const uint8_t first[] = {(uint8_t)i}, length[] = {0x30, (uint8_t)i},
                      much[] = {0x30, 0x84, (uint8_t)i, 0xff, 0xff, 0xff, 2};
        for (enum good good = NOTHING; good <= BIND; good++) {
            add(good, SILENT, first, sizeof first);
            add(good, SILENT, length, sizeof length);
            add(good, i % 2 ? DRIPS : SILENT, much, sizeof much);
        }
    }
    ask_all();
}

static void other_languages(void **state)
{
    (void)state;
    static const char *const languages[] = {"HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
                                            "GIOP\1\2\1\6", "220 mail.example.org ESMTP\r\n",
                                            "\x15\x03\x03\x00\x02\x02\x28"};
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        for (enum good good = NOTHING; good <= STARTTLS; good++)
            for (enum then then = SILENT; then <= FLOODS; then++)
                add(good, then, languages[i], strlen(languages[i]));
    ask_all();
}

static void handshakes_that_come_to_nothing(void **state)
{
    (void)state;
    static const uint8_t hello[] = {22, 3, 3, 0x40, 0, 2, 0, 0x3f, 0xfc, 3, 3};
    add_parts(STARTTLS, hello, sizeof hello);
    add(STARTTLS, FLOODS, NULL, 0);
    ask_all();
}

static void messages_and_pages_that_do_not_end(void **state)
{
    struct esp_error error = {0};
    (void)state;
    for (enum good good = NOTHING; good <= BIND; good++)
        add(good, FLOODS, NULL, 0);
    ask_all();
    const struct peer pages = {.good = BIND, .then = PAGES};
    assert_int_equal(ask(&pages, 10000, &error), ESP_LIMIT);
    assert_non_null(strstr(error.text, "expected the last page of entries"));
}

/* More bytes than the buffers on the way hold are written to a peer that reads nothing: this process goes
 * on. */
static void one_who_does_not_listen(void **state)
{
    const struct peer deaf = {.good = BIND, .then = DEAF};
    struct listening listening = {&deaf, -1};
    struct directory_tree tree = {0};
    struct esp_error error = {0};
    const size_t n = 32 << 20;
    char url[64], *text = malloc(n);
    pthread_t thread;
    (void)state;
    assert_non_null(text);
    memset(text, 'x', n);
    struct directory_entry *one = directory_tree_entry(&tree, "cn=x", &error);
    assert_non_null(one);
    assert_int_equal(directory_tree_add(&tree, one, "espalierText", text, n, &error), ESP_OK);
    assert_true(listen_anywhere(&listening, url, sizeof url));
    assert_int_equal(pthread_create(&thread, NULL, answer, &listening), 0);
    const struct directory_options options = {.url = url, .timeout_ms = 10 * TIMEOUT_MS};
    assert_int_equal(directory_write(&options, &tree, false, NULL, NULL, &error), ESP_TIMEOUT);
    atomic_store(&has_left, true);
    pthread_join(thread, NULL);
    close(listening.fd);
    directory_tree_clear(&tree);
    free(text);
}

/* ---- the resolver ---- */

static atomic_bool is_resolved, has_ended;

static void resolve_when_told(const char *name)
{
    while (!atomic_load(&is_resolved))
        usleep(1000);
    atomic_store(&has_ended, strcmp(name, "ldap.example.org") == 0);
}

static void a_name_that_is_not_resolved_is_not_waited_for(void **state)
{
    char name[] = "ldap.example.org";
    (void)state;
    assert_false(within_ms(TIMEOUT_MS, resolve_when_told, name));
    *name = 0; /* it has its own */
    atomic_store(&is_resolved, true);
    while (!atomic_load(&has_ended))
        usleep(1000);
    assert_true(within_ms(60000, resolve_when_told, "x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_and_pages_that_do_not_end),
        cmocka_unit_test(parts_of_messages),
        cmocka_unit_test(lengths_that_somebody_made_up),
        cmocka_unit_test(other_languages),
        cmocka_unit_test(handshakes_that_come_to_nothing),
        cmocka_unit_test(one_who_does_not_listen),
        cmocka_unit_test(a_name_that_is_not_resolved_is_not_waited_for),
    };
    alarm(120); /* one that waits for ever ends here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
