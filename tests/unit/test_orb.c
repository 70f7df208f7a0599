/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of the transport over the network alone: being opened again and again, good manners as a
 * guest, TLS, and nonsense. The properties of both transports: tests/inproc/conformance.c. */
#include "tests/unit/unit.h"
#include "orb/orb.h"
#include "util/clock.h"
#include "util/crc32c.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char identity[64]; /* of the last asker */
static char came_from[128];

static void node_call(void *self, struct call *call, const struct message *request)
{
    (void)self, (void)request;
    snprintf(identity, sizeof identity, "%s", call_envelope(call)->identity);
    snprintf(came_from, sizeof came_from, "%s", call_envelope(call)->peer);
    call_reply(call, message_create(MESSAGE_GREET_REPLY));
}

static const struct endpoint_ops node_ops = {.call = node_call};

static struct transport *open_with(const struct orb_options *options)
{
    struct transport *transport;
    struct esp_error error = {0};
    enum esp_status status = orb_open(options, &transport, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, ESP_OK);
    return transport;
}

static struct endpoint *serve(struct transport *transport)
{
    struct endpoint *endpoint;
    struct endpoint_options options = {.name = "node", .incarnation = 1, .listen = "127.0.0.1:0"};
    struct esp_error error = {0};
    enum esp_status status = transport_serve(transport, &options, &node_ops, NULL, &endpoint, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, ESP_OK);
    return endpoint;
}

static enum esp_status greet(struct transport *transport, const char *address, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_GREET}, reply;
    enum esp_status status = transport_call(transport, address, &request, 10000, &reply, error);
    message_clear(&reply);
    return status;
}

static void it_opens_again_and_again(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct transport *transport = open_with(&(struct orb_options){0}), *second;
        assert_int_equal(orb_open(&(struct orb_options){0}, &second, NULL), ESP_INVALID);
        struct endpoint *endpoint = serve(transport);
        assert_int_equal(greet(transport, endpoint_address(endpoint), NULL), ESP_OK);
        endpoint_close(endpoint);
        transport_destroy(transport);
    }
}

/* Where orb/local.h puts the socket of an address. */
static void local_path(const char *address, struct sockaddr_un *at)
{
    struct stat namespace_of_net;
    char folder[64] = "/run/espalier";
    if (geteuid() != 0)
        snprintf(folder, sizeof folder, "/tmp/espalier-%u", (unsigned)geteuid());
    assert_int_equal(stat("/proc/self/ns/net", &namespace_of_net), 0);
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(at->sun_path, sizeof at->sun_path, "%s/%llu-127.0.0.1-%s", folder,
             (unsigned long long)namespace_of_net.st_ino, strchr(address, ':') + 1);
}

static void assert_came_by(struct transport *transport, struct endpoint *endpoint, const char *how)
{
    assert_int_equal(greet(transport, endpoint_address(endpoint), NULL), ESP_OK);
    came_from[strlen(how)] = 0;
    assert_string_equal(came_from, how);
}

static void calls_on_one_host_need_no_port(void **state)
{
    (void)state;
    struct sockaddr_un at;
    struct transport *transport = open_with(&(struct orb_options){0});
    struct endpoint *endpoint = serve(transport);
    local_path(endpoint_address(endpoint), &at);
    assert_came_by(transport, endpoint, "giop:unix:");
    endpoint_close(endpoint);
    assert_int_equal(access(at.sun_path, F_OK), -1);
    transport_destroy(transport);
    transport = open_with(&(struct orb_options){.ports_only = true});
    endpoint = serve(transport);
    assert_came_by(transport, endpoint, "giop:tcp:");
    endpoint_close(endpoint);
    transport_destroy(transport);
}

/* The files that a killed daemon has left behind. */
static void a_socket_without_a_listener_is_passed_over(void **state)
{
    (void)state;
    struct sockaddr_un at;
    struct transport *transport = open_with(&(struct orb_options){0});
    struct endpoint *endpoint = serve(transport);
    local_path(endpoint_address(endpoint), &at);
    assert_int_equal(unlink(at.sun_path), 0);
    int nobody = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(nobody, (struct sockaddr *)&at, sizeof at), 0);
    assert_came_by(transport, endpoint, "giop:tcp:");
    close(nobody);
    endpoint_close(endpoint);
    transport_destroy(transport);
}

static void bind_to(int socket_fd, const char *neighbour, const char *name, struct sockaddr_un *at)
{
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    const char *slash = strrchr(neighbour, '/');
    snprintf(at->sun_path, sizeof at->sun_path, "%.*s/%s", (int)(slash - neighbour), neighbour, name);
    unlink(at->sun_path);
    assert_int_equal(bind(socket_fd, (struct sockaddr *)at, sizeof *at), 0);
}

static void who_begins_to_listen_removes_what_killed_daemons_left(void **state)
{
    (void)state;
    struct sockaddr_un at, dead, live, other;
    struct transport *transport = open_with(&(struct orb_options){0});
    struct endpoint *endpoint = serve(transport);
    local_path(endpoint_address(endpoint), &at);
    int sockets[3];
    for (int i = 0; i < 3; i++)
        sockets[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bind_to(sockets[0], at.sun_path, "1-127.0.0.1-1", &dead);
    bind_to(sockets[1], at.sun_path, "1-127.0.0.1-2", &live);
    bind_to(sockets[2], at.sun_path, "of-another-program", &other);
    assert_int_equal(listen(sockets[1], 1), 0);
    close(sockets[0]);
    close(sockets[2]);
    struct endpoint *second = serve(transport);
    assert_int_equal(access(dead.sun_path, F_OK), -1);
    assert_int_equal(access(live.sun_path, F_OK), 0);
    assert_int_equal(access(other.sun_path, F_OK), 0);
    assert_came_by(transport, endpoint, "giop:unix:"); /* the first one's is still there */
    close(sockets[1]);
    unlink(live.sun_path);
    unlink(other.sun_path);
    endpoint_close(second);
    endpoint_close(endpoint);
    transport_destroy(transport);
}

static void a_socket_of_somebody_else_is_not_trusted(void **state)
{
    (void)state;
    struct sockaddr_un at;
    if (geteuid() != 0)
        skip(); /* only root can give files away */
    struct transport *transport = open_with(&(struct orb_options){0});
    struct endpoint *endpoint = serve(transport);
    local_path(endpoint_address(endpoint), &at);
    assert_int_equal(chown(at.sun_path, 65534, 65534), 0);
    assert_came_by(transport, endpoint, "giop:tcp:");
    endpoint_close(endpoint);
    transport_destroy(transport);
}

static void a_guest_leaves_signals_alone_and_survives_broken_pipes(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_DFL);
    struct transport *transport = open_with(&(struct orb_options){.client_only = true});
    struct sigaction now;
    sigaction(SIGPIPE, NULL, &now);
    assert_ptr_equal(now.sa_handler, SIG_DFL);
    struct endpoint *endpoint;
    struct endpoint_options options = {.name = "node", .listen = "127.0.0.1:0"};
    assert_int_equal(transport_serve(transport, &options, &node_ops, NULL, &endpoint, NULL), ESP_INVALID);
    /* A peer that hangs up as soon as something comes: the bytes that follow meet a broken connection. */
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 5), 0);
    getsockname(listener, (struct sockaddr *)&at, &length);
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            close(accept(listener, NULL, NULL));
    }
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%u", ntohs(at.sin_port));
    static uint8_t data[CAP_CHUNK];
    struct message put = {.kind = MESSAGE_PUT, .chunk = {.length = sizeof data}};
    for (int i = 0; i < 5; i++)
        assert_int_not_equal(transport_put(transport, address, &put, data, 5000, 0, NULL), ESP_OK);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(listener);
    transport_destroy(transport);
    sigset_t pending;
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGPIPE));
}

static void a_guest_says_goodbye_to_a_server_that_is_gone(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_DFL);
    int told[2];
    char address[64];
    assert_int_equal(pipe(told), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct endpoint *endpoint = serve(open_with(&(struct orb_options){0}));
        snprintf(address, sizeof address, "%s", endpoint_address(endpoint));
        if (write(told[1], address, sizeof address) != sizeof address)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(told[0], address, sizeof address), sizeof address);
    struct transport *transport = open_with(&(struct orb_options){.client_only = true});
    assert_int_equal(greet(transport, address, NULL), ESP_OK);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    transport_destroy(transport);
    close(told[0]);
    close(told[1]);
}

/* ---- cutting ---- */

struct long_call {
    struct transport *transport;
    const char *address;
    enum esp_status status;
};

static atomic_bool arrived;

static void never_answers(void *self, struct call *call, const struct message *request)
{
    (void)self, (void)call, (void)request;
    atomic_store(&arrived, true);
}

static void *call_for_an_hour(void *arg)
{
    struct long_call *call = arg;
    struct message request = {.kind = MESSAGE_GREET}, reply;
    call->status = transport_call(call->transport, call->address, &request, 3600000, &reply, NULL);
    message_clear(&reply);
    return NULL;
}

/* On the first connection to an address, and on one that stands. */
static void interrupting_ends_calls_under_way(void **state)
{
    (void)state;
    static const struct endpoint_ops mute = {.call = never_answers};
    struct transport *transport = open_with(&(struct orb_options){0});
    struct endpoint *good = serve(transport), *endpoint;
    struct endpoint_options options = {.name = "mute", .incarnation = 1, .listen = "127.0.0.1:0"};
    assert_int_equal(transport_serve(transport, &options, &mute, NULL, &endpoint, NULL), ESP_OK);
    for (int i = 0; i < 2; i++) {
        struct long_call call = {transport, endpoint_address(endpoint), ESP_OK};
        pthread_t thread;
        atomic_store(&arrived, false);
        assert_int_equal(pthread_create(&thread, NULL, call_for_an_hour, &call), 0);
        while (!atomic_load(&arrived))
            usleep(1000);
        transport_interrupt(transport);
        pthread_join(thread, NULL);
        assert_true(call.status == ESP_TIMEOUT || call.status == ESP_MAYBE);
        assert_int_equal(greet(transport, endpoint_address(good), NULL), ESP_OK);
    }
    endpoint_close(endpoint);
    endpoint_close(good);
    transport_destroy(transport);
}

static atomic_bool speaks;

static enum esp_status speak_later(struct chunk_area *area, struct esp_error *error)
{
    (void)area, (void)error;
    while (!atomic_load(&speaks))
        usleep(1000);
    return ESP_OK;
}

static void give_late(void *self, const struct message *header, bool write, struct chunk_area *area)
{
    static char memory[4096];
    (void)self, (void)header, (void)write;
    *area = (struct chunk_area){.data = memory, .length = sizeof memory, .work = speak_later};
}

static atomic_uint done;

static void count_chunks(void *self, const struct message *header, bool write, struct chunk_area *area,
                         bool complete)
{
    (void)self, (void)header, (void)write, (void)area, (void)complete;
    atomic_fetch_add(&done, 1);
}

static uint8_t told[100000];
static bool is_told;
static uint32_t told_crc;
static struct chunk_area seen;

static void give_told(void *self, const struct message *header, bool write, struct chunk_area *area)
{
    (void)self;
    *area = (struct chunk_area){
        .data = told, .length = header->chunk.length, .summed = !write && is_told, .crc32c = told_crc};
}

static void keep_area(void *self, const struct message *header, bool write, struct chunk_area *area,
                      bool complete)
{
    (void)self, (void)header, (void)write, (void)complete;
    seen = *area;
    atomic_fetch_add(&done, 1);
}

static enum esp_status get_told(struct transport *transport, const char *address, uint32_t flags,
                                struct chunk *chunk, struct esp_error *error)
{
    static uint8_t back[sizeof told];
    struct message get = {.kind = MESSAGE_GET, .chunk = {.length = sizeof told, .flags = flags}};
    uint64_t moved;
    atomic_store(&done, 0);
    const enum esp_status status = transport_get(transport, address, &get, back, &moved, 60000, 0, error);
    while (atomic_load(&done) == 0)
        usleep(1000);
    *chunk = get.chunk;
    return status;
}

static void sums_that_a_node_knows_are_not_made_again(void **state)
{
    (void)state;
    static const struct endpoint_ops ops = {.chunk = give_told, .chunk_done = keep_area};
    struct transport *transport = open_with(&(struct orb_options){.ports_only = true});
    struct endpoint_options options = {.name = "told", .incarnation = 1, .listen = "127.0.0.1:0"};
    struct endpoint *endpoint;
    struct esp_error error;
    struct chunk chunk;
    for (size_t i = 0; i < sizeof told; i++)
        told[i] = (uint8_t)(i * 7 + i / 253);
    const uint32_t right = crc32c(0, told, sizeof told);
    assert_int_equal(transport_serve(transport, &options, &ops, NULL, &endpoint, NULL), ESP_OK);
    const char *address = endpoint_address(endpoint);

    is_told = false;
    assert_int_equal(get_told(transport, address, 0, &chunk, &error), ESP_OK);
    assert_false((chunk.flags & CHUNK_HAS_CRC) || seen.summed); /* nobody asked */
    assert_int_equal(get_told(transport, address, CHUNK_HAS_CRC, &chunk, &error), ESP_OK);
    assert_true((chunk.flags & CHUNK_HAS_CRC) && seen.summed);
    assert_int_equal(chunk.crc32c, right);
    assert_int_equal(seen.crc32c, right);

    is_told = true;
    told_crc = right;
    assert_int_equal(get_told(transport, address, CHUNK_HAS_CRC, &chunk, &error), ESP_OK);
    assert_int_equal(chunk.crc32c, right);
    told[sizeof told / 2] ^= 1; /* in its memory, since it was summed */
    assert_int_equal(get_told(transport, address, CHUNK_HAS_CRC, &chunk, &error), ESP_PROTOCOL);
    assert_non_null(strstr(error.text, "chunk damaged"));
    assert_false(chunk.flags & CHUNK_HAS_CRC);
    told[sizeof told / 2] ^= 1;

    const struct message put = {.kind = MESSAGE_PUT,
                                .chunk = {.length = sizeof told, .flags = CHUNK_HAS_CRC, .crc32c = right}};
    static uint8_t copy[sizeof told];
    memcpy(copy, told, sizeof told);
    atomic_store(&done, 0);
    assert_int_equal(transport_put(transport, address, &put, copy, 60000, 0, &error), ESP_OK);
    assert_int_equal(atomic_load(&done), 1);
    assert_true(seen.summed);
    assert_int_equal(seen.crc32c, right);
    endpoint_close(endpoint);
    transport_destroy(transport);
}

/* By both ways: into this process's memory, and over a connection. */
static void a_chunk_of_who_is_silent_is_given_up(void **state)
{
    (void)state;
    static const struct endpoint_ops late = {.chunk = give_late, .chunk_done = count_chunks};
    for (int far = 0; far < 2; far++) {
        struct transport *transport = open_with(&(struct orb_options){.ports_only = far});
        struct endpoint_options options = {.name = "late", .incarnation = 1, .listen = "127.0.0.1:0"};
        struct endpoint *endpoint;
        struct message get = {.kind = MESSAGE_GET, .chunk = {.length = 4096}};
        char back[4096];
        uint64_t moved;
        atomic_store(&speaks, false);
        assert_int_equal(transport_serve(transport, &options, &late, NULL, &endpoint, NULL), ESP_OK);
        const char *address = endpoint_address(endpoint);
        assert_int_equal(transport_get(transport, address, &get, back, &moved, 3600000, 100, NULL),
                         ESP_TIMEOUT);
        assert_int_equal(moved, 0);
        memset(back, 1, sizeof back);
        atomic_store(&done, 0);
        atomic_store(&speaks, true);
        while (atomic_load(&done) == 0)
            usleep(1000);
        for (size_t i = 0; i < sizeof back; i++)
            assert_int_equal(back[i], 1); /* it is not written to any more */
        assert_int_equal(transport_get(transport, address, &get, back, &moved, 60000, 60000, NULL), ESP_OK);
        assert_int_equal(moved, sizeof back);

        const struct message put = {.kind = MESSAGE_PUT, .chunk = {.length = 4096}};
        atomic_store(&speaks, false);
        atomic_store(&done, 0);
        assert_int_equal(transport_put(transport, address, &put, back, 3600000, 100, NULL), ESP_TIMEOUT);
        atomic_store(&speaks, true);
        while (atomic_load(&done) == 0)
            usleep(1000);
        assert_int_equal(transport_put(transport, address, &put, back, 60000, 60000, NULL), ESP_OK);
        endpoint_close(endpoint);
        transport_destroy(transport);
    }
}

/* The kernel accepts connections for a stopped process. Each call after the first needs a new one, because
 * that of the call before was given up. */
static void what_is_left_for_connecting_does_not_prolong_a_call(void **state)
{
    (void)state;
    const struct orb_options options = {.connect_timeout_ms = 600000};
    struct transport *transport = open_with(&options);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    const int mute = socket(AF_INET, SOCK_STREAM, 0);
    char address[32];
    assert_int_equal(bind(mute, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(mute, 8), 0);
    assert_int_equal(getsockname(mute, (struct sockaddr *)&at, &length), 0);
    snprintf(address, sizeof address, "127.0.0.1:%u", ntohs(at.sin_port));
    for (int i = 0; i < 3; i++) {
        struct message request = {.kind = MESSAGE_GREET}, reply;
        const int64_t begun_ns = clock_now_ns(&clock_system);
        assert_int_equal(transport_call(transport, address, &request, 200, &reply, NULL), ESP_TIMEOUT);
        assert_true(clock_now_ns(&clock_system) - begun_ns < 300 * NS_PER_S);
        message_clear(&reply);
    }
    close(mute);
    transport_destroy(transport);
}

static void beyond_loopback_it_wants_certificates(void **state)
{
    (void)state;
    struct transport *transport = open_with(&(struct orb_options){0});
    struct endpoint *endpoint;
    struct endpoint_options options = {.name = "node", .listen = "0.0.0.0:0"};
    struct esp_error error;
    assert_int_equal(transport_serve(transport, &options, &node_ops, NULL, &endpoint, &error), ESP_SECURITY);
    assert_non_null(strstr(error.text, "insecure = yes"));
    options.listen = "nonsense";
    assert_int_equal(transport_serve(transport, &options, &node_ops, NULL, &endpoint, &error), ESP_INVALID);
    transport_destroy(transport);
    transport = open_with(&(struct orb_options){.insecure = true});
    options.listen = "0.0.0.0:0";
    assert_int_equal(transport_serve(transport, &options, &node_ops, NULL, &endpoint, &error), ESP_OK);
    endpoint_close(endpoint);
    transport_destroy(transport);
}

static void a_port_in_use_is_told(void **state)
{
    (void)state;
    struct transport *transport = open_with(&(struct orb_options){0});
    struct endpoint *first = serve(transport), *second;
    struct endpoint_options options = {.name = "late", .listen = endpoint_address(first)};
    struct esp_error error;
    assert_int_equal(transport_serve(transport, &options, &node_ops, NULL, &second, &error), ESP_SYSTEM);
    assert_non_null(strstr(error.text, "in use"));
    assert_int_equal(greet(transport, endpoint_address(first), NULL), ESP_OK);
    endpoint_close(first);
    transport_destroy(transport);
}

/* ---- strangers ---- */

static int dial(const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    to.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
    int s = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(s, (struct sockaddr *)&to, sizeof to), 0);
    return s;
}

static bool hangs_up(int s, int patience_ms)
{
    struct pollfd poll_for = {s, POLLIN | POLLRDHUP, 0};
    char byte;
    return poll(&poll_for, 1, patience_ms) == 1 && recv(s, &byte, 1, MSG_DONTWAIT) <= 0;
}

static void nonsense_does_not_disturb(void **state)
{
    (void)state;
    struct transport *transport = open_with(&(struct orb_options){0});
    struct endpoint *endpoint = serve(transport);
    const char *address = endpoint_address(endpoint);
    static const struct {
        const char *bytes;
        size_t size;
    } nonsense[] = {
        {"GET / HTTP/1.0\r\n\r\n", 18},
        {"GIOP\1\2\1\0\377\377\377\377", 12},                  /* four gigabytes to come */
        {"GIOP\7\7\1\0\4\0\0\0abcd", 16},                      /* a version that is none */
        {"GIOP\1\2\1\0\14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24}, /* an empty request */
        {"GIOP\1\2", 6},                                       /* and no more */
        {"", 0},
    };
    enum { N = sizeof nonsense / sizeof *nonsense };
    int sockets[N];
    for (int i = 0; i < N; i++) {
        sockets[i] = dial(address);
        assert_int_equal(send(sockets[i], nonsense[i].bytes, nonsense[i].size, MSG_NOSIGNAL),
                         nonsense[i].size);
        assert_int_equal(greet(transport, address, NULL), ESP_OK);
    }
    assert_true(hangs_up(sockets[0], 10000));
    assert_true(hangs_up(sockets[2], 10000));
    for (int i = 0; i < N; i++)
        close(sockets[i]);
    unsigned seed = 1;
    for (int i = 0; i < 200; i++) {
        unsigned char bytes[256] = "GIOP\1\2\1";
        for (size_t j = 8; j < sizeof bytes; j++)
            bytes[j] = (unsigned char)((seed = seed * 1103515245 + 12345) >> 16);
        bytes[9] = bytes[10] = bytes[11] = 0;
        int s = dial(address);
        send(s, bytes, sizeof bytes, MSG_NOSIGNAL);
        close(s);
    }
    assert_int_equal(greet(transport, address, NULL), ESP_OK);
    endpoint_close(endpoint);
    transport_destroy(transport);
}

/* ---- TLS ---- */

static char folder[] = "/tmp/espalier-tls-XXXXXX";

static int run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int run(const char *format, ...)
{
    char command[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return system(command);
}

/* CA `ca` and a certificate with the name `name` by it. */
static void make_certificate(const char *ca, const char *name)
{
    assert_int_equal(run("cd %s && { test -f %s.pem || openssl req -x509 -newkey ec -pkeyopt "
                         "ec_paramgen_curve:P-256 -nodes -keyout %s.key -out %s.pem -days 2 -subj /CN=%s; } "
                         "2>>log && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "
                         "%s.key -out %s.csr -subj /CN=%s 2>>log && openssl x509 -req -in %s.csr -CA %s.pem "
                         "-CAkey %s.key -CAcreateserial -out %s.pem -days 2 2>>log",
                         folder, ca, ca, ca, ca, name, name, name, name, ca, ca, name),
                     0);
}

static char paths[3][256];

static struct orb_options tls_options(const char *ca, const char *name)
{
    snprintf(paths[0], sizeof paths[0], "%s/%s.pem", folder, ca);
    snprintf(paths[1], sizeof paths[1], "%s/%s.pem", folder, name);
    snprintf(paths[2], sizeof paths[2], "%s/%s.key", folder, name);
    return (struct orb_options){.tls_ca = paths[0], .tls_certificate = paths[1], .tls_key = paths[2]};
}

/* Another process asks: "self ask ADDRESS [CA NAME]". Its exit code is the status. */
static const char *self_path;

static int ask_as(int argc, char **argv)
{
    struct orb_options options = {.client_only = true};
    if (argc > 4) {
        strcpy(folder, argv[5]);
        options = tls_options(argv[3], argv[4]);
        options.client_only = true;
    }
    struct transport *transport;
    struct esp_error error;
    enum esp_status status = orb_open(&options, &transport, &error);
    if (status == ESP_OK) {
        status = greet(transport, argv[2], &error);
        transport_destroy(transport);
    }
    return (int)status;
}

static void only_certificates_of_our_ca_are_taken(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    make_certificate("ca", "server");
    make_certificate("ca", "alice");
    make_certificate("otherca", "mallory");
    struct orb_options options = tls_options("ca", "server");
    struct transport *transport = open_with(&options);
    struct endpoint *endpoint = serve(transport);
    const char *address = endpoint_address(endpoint);
    assert_int_equal(run("%s ask %s ca alice %s", self_path, address, folder), 0);
    assert_string_equal(identity, "alice");
    identity[0] = 0;
    assert_int_not_equal(run("%s ask %s", self_path, address), 0);
    assert_int_not_equal(run("%s ask %s otherca mallory %s", self_path, address, folder), 0);
    assert_int_not_equal(run("%s ask %s ca mallory %s", self_path, address, folder), 0);
    assert_string_equal(identity, "");
    endpoint_close(endpoint);
    transport_destroy(transport);
    options.tls_key = NULL;
    assert_int_equal(orb_open(&options, &transport, NULL), ESP_CONFIG);
    options.tls_key = "/nowhere/key.pem";
    struct esp_error error;
    assert_int_equal(orb_open(&options, &transport, &error), ESP_CONFIG);
    assert_non_null(strstr(error.text, "/nowhere/key.pem"));
    run("rm -rf %s", folder);
}

/* In one process, one after the other, however often. */
static void lives_with_tls_and_without_alternate(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/espalier-tls-XXXXXX");
    assert_non_null(mkdtemp(folder));
    make_certificate("ca", "server");
    make_certificate("ca", "alice");
    for (int i = 0; i < 4; i++) {
        struct orb_options options = {0};
        if (i % 2 == 0)
            options = tls_options("ca", "server");
        struct transport *transport = open_with(&options);
        struct endpoint *endpoint = serve(transport);
        const char *address = endpoint_address(endpoint);
        const bool with = run("%s ask %s ca alice %s", self_path, address, folder) == 0;
        const bool without = run("%s ask %s", self_path, address) == 0;
        assert_true(with == (i % 2 == 0) && without == (i % 2 == 1));
        endpoint_close(endpoint);
        transport_destroy(transport);
    }
    run("rm -rf %s", folder);
}

/* Reads one request for a description and answers with the beginning of a reply of 70,000 bytes. */
static void *answer_in_part(void *listener)
{
    struct {
        uint8_t magic[8];
        uint32_t size, id, status, contexts;
        uint32_t outcome[4], digest[2], length;
        char text[20000];
    } head = {.magic = {'G', 'I', 'O', 'P', 1, 2, 1, 0}, .outcome = {0, 1, 0, 0}, .length = 60000};
    char rest[4096];
    int fd = accept(*(int *)listener, NULL, NULL);
    if (recv(fd, &head, 16, MSG_WAITALL) == 16) {
        recv(fd, rest, sizeof rest, 0);
        head.magic[7] = 1; /* a reply, with the request's number */
        head.size = 70000;
        send(fd, &head, sizeof head, MSG_NOSIGNAL);
    }
    close(fd);
    return NULL;
}

/* The server died while it answered: that is a lost connection, and no message that breaks the contract. */
static void a_reply_that_is_cut_off_is_a_lost_connection(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    char address[64];
    snprintf(address, sizeof address, "127.0.0.1:%u", ntohs(at.sin_port));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, answer_in_part, &listener), 0);

    struct transport *transport = open_with(&(struct orb_options){0});
    struct message request = {.kind = MESSAGE_DESCRIBE}, reply;
    struct esp_error error = {0};
    enum esp_status status = transport_call(transport, address, &request, 10000, &reply, &error);
    assert_int_equal(status, ESP_MAYBE); /* and not ESP_PROTOCOL */
    assert_null(strstr(error.text, "message ends"));
    pthread_join(thread, NULL);
    close(listener);
    transport_destroy(transport);
}

static void variables_of_the_orb_are_known(void **state)
{
    (void)state;
    assert_true(orb_reads_variable("ORBInitRef=NameService=nonsense"));
    assert_false(orb_reads_variable("ORBIT=low"));
    assert_false(orb_reads_variable("OMP_STACKSIZE=16M"));
}

int main(int argc, char **argv)
{
    self_path = argv[0];
    if (argc > 2)
        return ask_as(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_opens_again_and_again),
        cmocka_unit_test(calls_on_one_host_need_no_port),
        cmocka_unit_test(a_socket_without_a_listener_is_passed_over),
        cmocka_unit_test(who_begins_to_listen_removes_what_killed_daemons_left),
        cmocka_unit_test(a_socket_of_somebody_else_is_not_trusted),
        cmocka_unit_test(interrupting_ends_calls_under_way),
        cmocka_unit_test(a_chunk_of_who_is_silent_is_given_up),
        cmocka_unit_test(sums_that_a_node_knows_are_not_made_again),
        cmocka_unit_test(what_is_left_for_connecting_does_not_prolong_a_call),
        cmocka_unit_test(a_reply_that_is_cut_off_is_a_lost_connection),
        cmocka_unit_test(beyond_loopback_it_wants_certificates),
        cmocka_unit_test(a_port_in_use_is_told),
        cmocka_unit_test(nonsense_does_not_disturb),
        cmocka_unit_test(a_guest_leaves_signals_alone_and_survives_broken_pipes),
        cmocka_unit_test(a_guest_says_goodbye_to_a_server_that_is_gone),
        cmocka_unit_test(only_certificates_of_our_ca_are_taken),
        cmocka_unit_test(lives_with_tls_and_without_alternate),
        cmocka_unit_test(variables_of_the_orb_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
